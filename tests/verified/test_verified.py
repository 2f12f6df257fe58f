"""Verified answers are given first, only to who may read them and all their sources, while the
sources stand as they were."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from ragstone import build
from ragstone.core.clock import state_time
from ragstone.core.errors import InputError, UnknownDocument, UnknownVerified
from ragstone.core.events import Done
from ragstone.core.filters import path_filter
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.local import Ragstone
from ragstone.plugins.verified.contract import VERIFIED, SourcePlace, VerifiedAnswer
from ragstone.plugins.verified.give_verified import BY
from ragstone.service import IngestRequest
from ragstone.settings import Settings, StatisticsSettings

EDITOR = Principal(user="eva", groups=("hr", "ops"))
GUEST = Principal(user="guest")
TEXTS = {
    "open.md": "# Visits\n\nThe lighthouse of Ost opens at nine in the morning.\n",
    "hr.md": "# Pay\n\nThe keeper of the lighthouse is paid on the first of each month.\n",
    "ops.md": "# Lamps\n\nThe lamp of the lighthouse is changed every twelve weeks.\n",
    "ada.md": "# Notes\n\nAda keeps the spare key of the lighthouse in the blue drawer.\n",
}
READERS = {"open.md": "*", "hr.md": "group:hr", "ops.md": "group:ops", "ada.md": "user:ada"}
QUESTION = "How often is the lamp changed?"
ANSWER = "Every twelve weeks, by the keeper on duty. [1]"


@asynccontextmanager
async def open_house(folder: Path) -> AsyncIterator[Ragstone]:
    """A service with a document for each of `READERS`."""
    kept = StatisticsSettings(questions=True)
    async with build.open(Settings(ragstone_data=folder / "data", statistics=kept)) as service:
        for name, text in TEXTS.items():
            await ingest(service, folder, name, text)
        yield service


async def ingest(service: Ragstone, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    request = IngestRequest((str(folder / name),), allowed=(READERS[name],))
    assert [item async for item in service.ingest(request)][-1].failed == ()


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with open_house(tmp_path) as service:
        yield service


async def verify(
    service: Ragstone, *paths: str, wordings: Sequence[str] = (QUESTION,), **given: Any
) -> VerifiedAnswer:
    """Verify `ANSWER` on these documents, as somebody who may read them."""
    places = [SourcePlace(f"/{path}") for path in paths]
    who = Principal(user="ada", groups=("hr", "ops"))
    return await VERIFIED.of(service).put(who, "default", ANSWER, wordings, places, **given)


async def ask(service: Ragstone, question: str, who: Principal = GUEST, **given: Any) -> Turn:
    events = [item async for item in service.ask(Ask(question, principal=who, **given))]
    assert isinstance(events[-1], Done)
    return events[-1].turn


def is_given(turn: Turn) -> bool:
    """Whether the answer is the verified one; nothing of it stands in any other."""
    given = turn.answer is not None and turn.answer.verified is not None
    assert given == ("keeper on duty" in repr(turn.answer))
    return given


async def test_a_verified_answer_is_given_first_with_its_sources_and_who_verified_it(
    house: Ragstone,
) -> None:
    await ask(house, QUESTION, EDITOR)  # In the cache now.
    until = state_time() + 86_400
    await verify(house, "ops.md", owner="Ada L.", expires_at=until)

    turn = await ask(house, "Could you tell me how often is the lamp changed?", EDITOR)

    assert is_given(turn)
    assert turn.answer is not None
    assert turn.answer.verified is not None
    assert (turn.answer.text, turn.answer.model) == (ANSWER, BY)
    assert (turn.answer.verified.by, turn.answer.verified.until) == ("Ada L.", until)
    assert [item.path for item in turn.answer.citations] == ["/ops.md"]
    assert "twelve weeks" in turn.passages[0].text
    assert [marker.number for marker in turn.answer.markers] == [1]
    assert turn.usage.calls == 0


@pytest.mark.parametrize(
    "question",
    [
        "How often is the lamp not changed?",
        "How often is the bell changed?",
        "Why is the lamp changed?",
        "How often was the lamp changed in 1871?",
        "How often is the lamp changed by the keeper?",
        "Wie oft wird die Lampe gewechselt?",
    ],
)
async def test_another_question_never_gets_it(house: Ragstone, question: str) -> None:
    await verify(house, "ops.md")

    assert not is_given(await ask(house, question, EDITOR))


async def test_it_answers_every_wording_in_any_language(house: Ragstone) -> None:
    german = "Wie oft wird die Lampe gewechselt?"
    await verify(house, "ops.md", wordings=[QUESTION, german, "lamp change interval"])

    for question in (QUESTION, german, "lamp change interval?"):
        assert is_given(await ask(house, question, EDITOR))


async def test_who_may_not_read_one_source_learns_nothing_of_it(house: Ragstone) -> None:
    await verify(house, "open.md", "ops.md", "hr.md")
    for groups in ((), ("hr",), ("ops",)):
        who = Principal(user="bob", groups=groups)

        turn = await ask(house, QUESTION, who)

        assert not is_given(turn)
        [traced] = [item for item in turn.trace if item.stage == "give_verified"]
        other = await ask(house, "How old is the oldest bell?", who)
        [same] = [item for item in other.trace if item.stage == "give_verified"]
        assert (traced.decision, traced.reason) == (same.decision, same.reason)
    assert is_given(await ask(house, QUESTION, Principal(user="bob", groups=("hr", "ops"))))


async def test_readers_of_a_source_that_change_count_at_once(house: Ragstone) -> None:
    await verify(house, "ops.md")
    assert not is_given(await ask(house, QUESTION, GUEST))
    [document] = await house.documents(EDITOR, "default", named=["/ops.md"])

    await house.readers.give(EDITOR, "default", ("user:guest",), paths=[document.id])

    assert is_given(await ask(house, QUESTION, GUEST))
    assert not is_given(await ask(house, QUESTION, EDITOR))


async def test_its_own_readers_narrow_it_down_and_never_widen_it(house: Ragstone) -> None:
    await verify(house, "open.md", readers=["group:hr"])
    assert not is_given(await ask(house, QUESTION, GUEST))
    assert is_given(await ask(house, QUESTION, Principal(user="x", groups=("hr",))))

    await verify(house, "ops.md", wordings=["Who changes the lamp?"], readers=["user:guest"])
    assert not is_given(await ask(house, "Who changes the lamp?", GUEST))


async def test_it_is_withheld_and_flagged_while_a_source_has_changed(
    house: Ragstone, tmp_path: Path
) -> None:
    await verify(house, "ops.md")
    await ingest(house, tmp_path, "ops.md", "# Lamps\n\nThe lamp is changed every two weeks.\n")

    turn = await ask(house, QUESTION, EDITOR)

    assert not is_given(turn)
    assert ("withheld", "a source has changed") in [(t.decision, t.reason) for t in turn.trace]
    [listed] = await VERIFIED.of(house).list_all(EDITOR, "default")
    assert listed.state == "changed"

    await verify(house, "ops.md", id=listed.id)
    assert is_given(await ask(house, QUESTION, EDITOR))


async def test_it_is_withheld_and_flagged_when_a_source_is_gone(house: Ragstone) -> None:
    await verify(house, "open.md", "ops.md")
    await house.delete(EDITOR, "default", ["/ops.md"])

    assert not is_given(await ask(house, QUESTION, EDITOR))
    [listed] = await VERIFIED.of(house).list_all(EDITOR, "default")
    assert listed.state == "gone"


async def test_it_ends_when_it_expires(house: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    await verify(house, "ops.md", expires_at=state_time() + 3600)
    assert is_given(await ask(house, QUESTION, EDITOR))
    later = time.time() + 3601

    monkeypatch.setattr("ragstone.plugins.verified.give_verified.state_time", lambda: later)
    monkeypatch.setattr("ragstone.plugins.verified.service.state_time", lambda: later)

    assert not is_given(await ask(house, QUESTION, EDITOR))
    [listed] = await VERIFIED.of(house).list_all(EDITOR, "default")
    assert listed.state == "expired"


async def test_a_filter_of_the_request_holds_for_its_sources_too(house: Ragstone) -> None:
    await verify(house, "ops.md")

    assert is_given(await ask(house, QUESTION, EDITOR, where=path_filter("/ops.md")))
    assert not is_given(await ask(house, QUESTION, EDITOR, where=path_filter("/open.md")))


async def test_a_forbidden_topic_stays_forbidden(house: Ragstone) -> None:
    from ragstone.guard.topic_file import topic

    await house.put_topics("default", [topic("default", "lamp", (), (), "en", "")])
    await verify(house, "ops.md")

    assert not is_given(await ask(house, QUESTION, EDITOR))


async def test_removed_with_its_collection_and_by_its_id(house: Ragstone) -> None:
    first = await verify(house, "ops.md")
    await VERIFIED.of(house).remove(EDITOR, "default", first.id)
    assert not is_given(await ask(house, QUESTION, EDITOR))
    with pytest.raises(UnknownVerified):
        await VERIFIED.of(house).remove(EDITOR, "default", first.id)

    await verify(house, "ops.md")
    store = house._adapters.added["verified"]
    known = await house._adapters.catalog.collection("default", "default")
    assert known is not None
    await house._adapters.catalog.drop_collection("default", known.id)
    assert await store.list_all("default", known.id) == []


async def test_what_cannot_be_verified_is_refused_in_a_sentence(house: Ragstone) -> None:
    service, place = VERIFIED.of(house), [SourcePlace("/open.md")]
    with pytest.raises(InputError, match=r"cites \[3\], but has 1 sources"):
        await service.put(GUEST, "default", "So. [3]", ["Why?"], place)
    with pytest.raises(InputError, match="expired already"):
        await service.put(GUEST, "default", "So.", ["Why?"], place, expires_at=5.0)
    with pytest.raises(InputError, match="write an answer and a question"):
        await service.put(GUEST, "default", "So.", ["  "], place)
    with pytest.raises(UnknownDocument):  # It is there, but not for a guest.
        await service.put(GUEST, "default", "So.", ["Why?"], [SourcePlace("/hr.md")])
    with pytest.raises(UnknownVerified):
        await service.put(GUEST, "default", "So.", ["Why?"], place, id="none")


async def test_an_erased_owner_and_reader_is_forgotten_and_the_answer_stays(
    house: Ragstone,
) -> None:
    await verify(house, "open.md", owner="bob", readers=["user:bob", "group:hr"])
    await verify(house, "open.md", owner="bob", readers=["user:bob"])

    await house.conversations.forget(Principal(user="bob"))

    [left] = await VERIFIED.of(house).list_all(EDITOR, "default")
    assert (left.owner, left.readers) == ("", ("group:hr",))


async def test_questions_that_found_no_answer_are_grouped_until_they_have_one(
    house: Ragstone,
) -> None:
    for question in (
        "What does a ticket to the museum cost?",
        "How much is a ticket for the museum?",
        "Who wrote the anthem of Peru?",
    ):
        turn = await ask(house, question)
        assert turn.answer is not None
        assert turn.answer.refused
    await house._answers.aclose()
    await house.feedback.give(
        GUEST, "a1", "down", question=QUESTION, answer="Never.", comment="Wrong"
    )
    await house.feedback.give(GUEST, "a2", "up", question="Is it high?", answer="Yes.")

    groups = await VERIFIED.of(house).review(EDITOR, "default")

    asked = [sorted(item.question for item in group.questions) for group in groups]
    assert asked[0] == [
        "How much is a ticket for the museum?",
        "What does a ticket to the museum cost?",
    ]
    assert sorted(asked[1:]) == [[QUESTION], ["Who wrote the anthem of Peru?"]]
    [disliked] = [g.questions[0] for g in groups if g.questions[0].reason == "disliked"]
    assert (disliked.answer, disliked.comment) == ("Never.", "Wrong")

    await verify(house, "ops.md")
    groups = await VERIFIED.of(house).review(EDITOR, "default")
    assert QUESTION not in [group.question for group in groups]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ragstone]:
    async with open_house(tmp_path_factory.mktemp("shared")) as service:
        yield service


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@given(
    sources=st.lists(st.sampled_from(tuple(TEXTS)), min_size=1, unique=True),
    readers=st.lists(st.sampled_from(("*", "group:hr", "group:ops", "user:bob")), unique=True),
    user=st.sampled_from(("ada", "bob", "")),
    groups=st.lists(st.sampled_from(("hr", "ops")), unique=True),
)
async def test_whatever_the_rights_only_who_may_read_all_is_given_it(
    shared: Ragstone, sources: list[str], readers: list[str], user: str, groups: list[str]
) -> None:
    who = Principal(user=user, groups=tuple(groups))
    made = await verify(shared, *sources, readers=readers)

    turn = await ask(shared, QUESTION, who, keeps=False)

    mine = set(who.names)
    may_read = all(READERS[item] in mine for item in sources)
    assert is_given(turn) == (may_read and (not readers or not mine.isdisjoint(readers)))
    await VERIFIED.of(shared).remove(EDITOR, "default", made.id)
