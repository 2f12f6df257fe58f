"""A shared conversation shows each reader what they may read now, and nothing else."""

from collections.abc import AsyncIterator
from itertools import permutations
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from ragstone.access.asking import ASKING
from ragstone.core.caller import Caller
from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import Unauthorized, UnknownRoom, UnknownShare
from ragstone.core.events import Done
from ragstone.core.filters import Filter, path_filter
from ragstone.core.turn import Ask, Principal
from ragstone.local import Ragstone
from ragstone.plugins.sharing.contract import SHARES, SharedConversation
from ragstone.service import wire
from tests.verified.test_verified import TEXTS, open_house

pytestmark = pytest.mark.slow

ADA = Principal(user="ada", groups=("hr", "ops"))
BOB = Principal(user="bob")
QUESTIONS = {
    "open.md": "When does the lighthouse of Ost open?",
    "hr.md": "When is the keeper paid?",
    "ops.md": "How often is the lamp changed?",
    "ada.md": "Where is the spare key of the lighthouse?",
}
SECRETS = {
    "open.md": "nine in the morning",
    "hr.md": "first of each month",
    "ops.md": "twelve weeks",
    "ada.md": "blue drawer",
}
"""What stands in one document alone."""


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with open_house(tmp_path) as service:
        yield service


async def talk(service: Ragstone, room: str, *names: str, who: Principal = ADA) -> None:
    """Ask about documents one after another, in one room."""
    for name in names:
        await ask(service, room, QUESTIONS[name], who, path_filter(f"/{name}"))


async def ask(
    service: Ragstone,
    room: str,
    question: str,
    who: Principal = ADA,
    where: Filter | None = None,
) -> str:
    asked = Ask(question, principal=who, room=room, cache=False, where=where)
    events = [item async for item in service.ask(asked)]
    assert isinstance(events[-1], Done)
    await service.conversations.rooms(who)  # Waits until it is kept.
    answer = events[-1].turn.answer
    return answer.text if answer else ""


async def share(service: Ragstone, room: str, who: Principal = ADA) -> str:
    return (await SHARES.of(service).put(who, room)).id


async def read(service: Ragstone, id: str, who: Principal) -> SharedConversation:
    return await SHARES.of(service).read(who, id)


def told(shown: SharedConversation) -> set[str]:
    """The documents of which anything is seen."""
    seen = str(wire.dump(shown))
    by_name = {name for name in TEXTS if f"/{name}" in seen}
    return by_name | {name for name, secret in SECRETS.items() if secret in seen}


async def test_who_may_read_all_documents_sees_the_conversation_as_it_is(house: Ragstone) -> None:
    await talk(house, "a", "open.md", "hr.md")

    shown = await read(house, await share(house, "a"), Principal(user="eva", groups=("hr",)))

    assert (shown.user, shown.withheld, len(shown.turns)) == ("ada", 0, 2)
    assert shown.title == QUESTIONS["open.md"]
    assert shown.turns[1].notes.answer.citations[0].path == "/hr.md"
    assert shown.turns[1].notes.verdicts
    assert not shown.turns[1].notes.trace


async def test_what_somebody_may_not_read_is_withheld_with_all_behind_it(house: Ragstone) -> None:
    await talk(house, "a", "open.md", "ada.md", "open.md")

    shown = await read(house, await share(house, "a"), BOB)

    assert told(shown) == {"open.md"}
    assert (len(shown.turns), shown.withheld, shown.title) == (1, 2, "")
    assert "spare key" not in str(wire.dump(shown))


async def test_a_change_of_rights_counts_at_once(house: Ragstone) -> None:
    await talk(house, "a", "open.md")
    id = await share(house, "a")
    assert told(await read(house, id, BOB)) == {"open.md"}

    await house.readers.give(Principal(), "default", ["group:ops"], paths=["/open.md"])

    assert not told(await read(house, id, BOB))
    await house.readers.give(Principal(), "default", ["user:bob"], paths=["/open.md"])
    assert told(await read(house, id, BOB)) == {"open.md"}


async def test_nobody_sees_what_came_from_a_document_that_is_gone(house: Ragstone) -> None:
    await talk(house, "a", "open.md")
    id = await share(house, "a")

    await house.delete(Principal(), "default", ["/open.md"])

    assert not told(await read(house, id, BOB))


@pytest.mark.parametrize("question", ["Which files", "How many files"])
async def test_lists_and_counts_of_documents_are_for_who_may_read_them_all(
    house: Ragstone, question: str
) -> None:
    assert "4" in await ask(house, "a", f"{question} mention the lighthouse?")

    assert (await read(house, await share(house, "a"), BOB)).withheld == 1


async def test_an_administrator_sees_no_more_than_their_documents(house: Ragstone) -> None:
    await talk(house, "a", "ada.md")
    id = await share(house, "a")
    token = ASKING.set(Caller(BOB, "admin", key="k"))
    try:
        shown = await read(house, id, BOB)
    finally:
        ASKING.reset(token)

    assert not told(shown)


async def test_later_questions_are_not_shared_until_it_is_shared_again(house: Ragstone) -> None:
    await talk(house, "a", "open.md")
    id = await share(house, "a")
    await talk(house, "a", "open.md")
    assert len((await read(house, id, BOB)).turns) == 1

    assert await share(house, "a") == id
    assert len((await read(house, id, BOB)).turns) == 2


async def test_sharing_ends_with_the_share_and_with_the_conversation(house: Ragstone) -> None:
    await talk(house, "a", "open.md")
    await talk(house, "b", "open.md")
    first, second = await share(house, "a"), await share(house, "b")
    with pytest.raises(UnknownShare):
        await SHARES.of(house).remove(BOB, first)

    await SHARES.of(house).remove(ADA, first)
    await house.conversations.delete(ConversationKey("default", "ada", "b"))

    for id in (first, second, "x"):
        with pytest.raises(UnknownShare, match="Ask who sent it"):
            await read(house, id, BOB)


async def test_only_ones_own_conversation_is_shared_and_only_with_people_known_here(
    house: Ragstone,
) -> None:
    await talk(house, "a", "open.md")
    id = await share(house, "a")
    with pytest.raises(UnknownRoom):
        await share(house, "a", BOB)
    with pytest.raises(UnknownShare):
        await read(house, id, Principal(tenant="other", user="bob"))

    token = ASKING.set(Caller(Principal(user=""), "reader"))
    try:
        with pytest.raises(Unauthorized):
            await read(house, id, Principal(user=""))
    finally:
        ASKING.reset(token)


async def test_forgetting_a_user_ends_what_they_shared(house: Ragstone) -> None:
    await talk(house, "a", "open.md")
    id = await share(house, "a")

    await house.conversations.forget(ADA)

    assert await SHARES.of(house).list_all(ADA) == []
    with pytest.raises(UnknownShare):
        await read(house, id, BOB)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Ragstone, dict[tuple[str, ...], str]]]:
    """A house, and the shares of conversations over every two of three documents."""
    async with open_house(tmp_path_factory.mktemp("shared")) as service:
        shares = {}
        for names in permutations(("open.md", "hr.md", "ops.md"), 2):
            room = "-".join(names)
            await talk(service, room, *names)
            shares[names] = await share(service, room)
        yield service, shares


NAMES = ("*", "group:hr", "group:ops", "user:bob", "user:ada")


@pytest.mark.asyncio(loop_scope="module")
@given(
    readers=st.fixed_dictionaries(
        {
            name: st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)
            for name in ("open.md", "hr.md", "ops.md")
        }
    ),
    user=st.sampled_from(("eva", "bob", "ada")),
    groups=st.lists(st.sampled_from(("hr", "ops")), unique=True),
)
async def test_whatever_the_rights_are_by_now_nothing_of_a_closed_document_is_seen(
    shared: tuple[Ragstone, dict[tuple[str, ...], str]],
    readers: dict[str, list[str]],
    user: str,
    groups: list[str],
) -> None:
    service, shares = shared
    who = Principal(user=user, groups=tuple(groups))
    for name, names in readers.items():
        await service.readers.give(Principal(), "default", names, paths=[f"/{name}"])

    seen = {names: await read(service, id, who) for names, id in shares.items()}

    mine = {name for name, names in readers.items() if not set(who.names).isdisjoint(names)}
    for names, shown in seen.items():
        assert told(shown) <= mine
        assert len(shown.turns) + shown.withheld == len(names)
