"""What a user, a group or a tenant may use of chat models in a month holds at every door."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.clock import state_time
from ragstone.core.errors import InputError, QuotaExceeded, RagstoneError, UnknownQuota
from ragstone.core.events import Done, Failed, Note, Token
from ragstone.core.turn import Ask, Hit, Passage, Principal, Turn
from ragstone.plugins.quotas.contract import QUOTAS
from ragstone.plugins.quotas.count_quota import measure_use
from ragstone.plugins.quotas.records import MonthUse, Quota, format_month, month_end
from ragstone.plugins.quotas.service import SqlQuotas, find_store
from ragstone.service import IngestRequest, wire
from ragstone.settings import Settings
from tests.chunks import chunk
from tests.credentials import a_key, bearer
from tests.service.test_every_question import (
    ANSWERED,
    QUESTION,
    ROUTES,
    World,
    called,
    client,
    opened,
    until,
)

pytestmark = pytest.mark.slow

EVA = Principal(user="eva", groups=("press", "ops"))
OTTO = Principal(user="otto", groups=("press",))


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as made:
        yield made


def store(world: World) -> SqlQuotas:
    found = find_store(world.service._adapters)
    assert found is not None
    return found


async def ask(world: World, who: Principal, question: str = QUESTION) -> Turn:
    """Ask, and wait until it is counted. Raises what the question failed with."""
    events = [item async for item in world.service.ask(Ask(question, principal=who, cache=False))]
    await world.service._answers.aclose()
    end = events[-1]
    if isinstance(end, Failed):
        raise end.error
    assert isinstance(end, Done)
    return end.turn


async def use_of(world: World, subject: str) -> Quota:
    listed = await QUOTAS.of(world.service).list_all("default")
    return next(item for item in listed if item.subject == subject)


async def test_a_question_counts_for_its_user_its_groups_and_the_tenant(world: World) -> None:
    subjects = ("user:eva", "user:otto", "group:press", "group:ops", "tenant", "user:*")
    for subject in subjects:
        await QUOTAS.of(world.service).put("default", subject, tokens=100_000)

    await ask(world, EVA)
    await ask(world, OTTO)
    await ask(world, Principal(user="ida"))

    used = {subject: (await use_of(world, subject)).used_tokens for subject in subjects}
    assert used == {
        "user:eva": ANSWERED,
        "user:otto": ANSWERED,
        "group:press": 2 * ANSWERED,
        "group:ops": ANSWERED,
        "tenant": 3 * ANSWERED,
        "user:*": ANSWERED,
    }
    mine = {item.subject for item in await QUOTAS.of(world.service).mine(Principal(user="ida"))}
    assert mine == {"user:ida", "tenant"}


@pytest.mark.parametrize("subject", ["user:eva", "group:ops", "tenant", "user:*"])
async def test_a_used_up_quota_refuses_and_says_when_it_ends(world: World, subject: str) -> None:
    await QUOTAS.of(world.service).put("default", subject, tokens=ANSWERED)
    await ask(world, EVA)

    with pytest.raises(QuotaExceeded) as refused:
        await ask(world, EVA, "And who built it?")

    shown = "user:eva" if subject == "user:*" else subject
    ends = datetime.fromtimestamp(month_end(state_time()), UTC).strftime("%Y-%m-%d")
    assert refused.value.message.startswith(f"110 of 110 tokens of {shown} are used this month.")
    assert ends in refused.value.message
    assert (refused.value.status, refused.value.retry) == (429, False)
    assert (await use_of(world, subject)).used_tokens == ANSWERED
    if subject != "tenant":
        await ask(world, Principal(user="ida"))


async def test_a_quota_of_its_own_counts_for_a_user_instead_of_everybodys(world: World) -> None:
    await QUOTAS.of(world.service).put("default", "user:*", tokens=0)
    await QUOTAS.of(world.service).put("default", "user:eva", tokens=100_000)

    await ask(world, EVA)

    with pytest.raises(QuotaExceeded):
        await ask(world, OTTO)


async def test_from_four_fifths_on_who_asks_is_warned(world: World) -> None:
    await QUOTAS.of(world.service).put("default", "user:eva", tokens=1_000)
    await store(world).add(EVA, MonthUse(799))
    assert "notes" not in wire.format_answer(await ask(world, EVA))

    events = [item async for item in world.service.ask(Ask(QUESTION, principal=EVA, cache=False))]

    [note] = [item.text for item in events if isinstance(item, Note)]
    assert note.startswith("909 of 1,000 tokens of user:eva are used this month; it ends on ")
    assert isinstance(events[-1], Done)
    turn = events[-1].turn
    assert wire.format_answer(turn)["notes"] == [note]
    [traced] = [item for item in turn.trace if item.stage == "check_quota"]
    assert (traced.decision, traced.reason) == ("91% used", note)


async def test_money_is_limited_as_tokens_are(world: World) -> None:
    await QUOTAS.of(world.service).put("default", "group:press", cost=5.0)
    await store(world).add(EVA, MonthUse(10, 4.99))
    await ask(world, OTTO)
    await store(world).add(EVA, MonthUse(10, 0.02))

    with pytest.raises(QuotaExceeded, match=r"\$5\.01 of \$5\.00 of group:press are used"):
        await ask(world, OTTO)


async def test_a_new_month_begins_with_nothing_used(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await QUOTAS.of(world.service).put("default", "user:eva", tokens=100)
    await store(world).add(EVA, MonthUse(100))
    with pytest.raises(QuotaExceeded):
        await ask(world, EVA)
    later = month_end(state_time()) + 1

    monkeypatch.setattr("ragstone.plugins.quotas.service.state_time", lambda: later)

    assert (await use_of(world, "user:eva")).used_tokens == 0
    await ask(world, EVA)


def test_months_are_calendar_months_of_utc() -> None:
    last = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()

    assert (format_month(last), format_month(last + 1)) == ("2026-12", "2027-01")
    assert month_end(last) == last + 1
    assert month_end(last + 1) == datetime(2027, 2, 1, tzinfo=UTC).timestamp()


async def test_fifty_at_once_use_no_more_than_those_under_way_when_it_was_used_up(
    world: World,
) -> None:
    await QUOTAS.of(world.service).put("default", "user:eva", tokens=10 * ANSWERED)

    async def one(number: int) -> int:
        try:
            await ask(world, EVA, f"{QUESTION} {number}")
        except QuotaExceeded:
            return 0
        return 1

    answered = sum(await asyncio.gather(*map(one, range(50))))

    used = (await use_of(world, "user:eva")).used_tokens
    assert used == answered * ANSWERED
    assert answered >= 10
    with pytest.raises(QuotaExceeded):
        await ask(world, EVA)
    assert (await use_of(world, "user:eva")).used_tokens == used


async def test_every_dialect_refuses_with_the_status_of_a_limit(world: World) -> None:
    await QUOTAS.of(world.service).put("default", "user:otto", tokens=0)
    headers = bearer(await a_key(world.service, user="otto"))
    async with client(world) as http, world.app.router.lifespan_context(world.app):
        for name, (path, body) in ROUTES.items():
            refused = await http.post(path, json=body, headers=headers)

            assert refused.status_code == 429, (name, refused.text)
            assert "0 of 0 tokens of user:otto are used this month" in refused.text, name
        for tool, arguments in (("ask", {"question": QUESTION}), ("search", {"query": QUESTION})):
            found = await called(http, tool, arguments, headers)
            assert found["isError"]
            assert "tokens of user:otto" in str(found["content"])
    job = await world.service.jobs.ask(Ask(QUESTION, principal=OTTO))
    ended = [view async for view in world.service.jobs.watch(OTTO, job.id)][-1]
    assert (ended.state, ended.code) == ("failed", "quota_exceeded")


async def test_without_a_chat_model_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ost.txt").write_text("The lighthouse of Ost was built in 1871.")
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as service:
        async for _ in service.ingest(IngestRequest((str(tmp_path / "ost.txt"),))):
            pass
        await QUOTAS.of(service).put("default", "user:eva", tokens=0, cost=0.0)

        events = [item async for item in service.ask(Ask(QUESTION, principal=EVA))]

        assert isinstance(events[-1], Done)
        assert "1871" in str(events[-1].turn.answer)


async def test_who_leaves_in_the_middle_of_a_reply_has_used_it(world: World) -> None:
    await QUOTAS.of(world.service).put("default", "user:eva", tokens=100_000)
    async with aclosing(world.service.ask(Ask(QUESTION, principal=EVA, cache=False))) as events:
        async for event in events:
            if isinstance(event, Token):
                break

    async def counted() -> bool:
        return (await use_of(world, "user:eva")).used_tokens > 0

    assert await until(counted)


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (GeneratedAnswer("Half an", finish="cancelled"), 7 + 2 * 3),
        (GeneratedAnswer("", finish="cancelled"), 7),
        (GeneratedAnswer("Half an", finish="stop"), 7),
    ],
)
def test_what_a_cancelled_reply_took_is_counted_by_its_words(
    answer: GeneratedAnswer, tokens: int
) -> None:
    class Counting:
        completer = "some"

        def count(self, text: str) -> int:
            return 3

    passage = Passage(1, "The lighthouse.", Hit(chunk(1), 1.0))
    turn = Turn(Ask("?"), passages=(passage,), answer=answer, usage=Usage(5, 2, 1, 0.25))
    adapters: Any = Counting()

    assert measure_use(turn, adapters) == MonthUse(tokens, 0.25)


async def test_what_is_no_quota_is_refused_in_a_sentence(world: World) -> None:
    quotas = QUOTAS.of(world.service)
    with pytest.raises(InputError, match="tokens or money"):
        await quotas.put("default", "user:eva")
    for wrong in ("eva", "user:", "tenant:x", "role:admin", "group:\n"):
        with pytest.raises(InputError, match="Not a valid subject"):
            await quotas.put("default", wrong, tokens=1)
    with pytest.raises(UnknownQuota):
        await quotas.remove("default", "user:eva")
    await quotas.put("default", "user:eva", tokens=1)
    await quotas.remove("default", "user:eva")
    assert await quotas.list_all("default") == []


async def test_tenants_and_users_that_are_erased_leave_nothing_of_each_other(
    world: World,
) -> None:
    quotas = QUOTAS.of(world.service)
    await quotas.put("other", "user:eva", tokens=5)
    await quotas.put("default", "user:eva", tokens=1_000)
    await quotas.put("default", "group:press", tokens=1_000)
    await store(world).add(EVA, MonthUse(10))
    assert [item.used_tokens for item in await quotas.list_all("other")] == [0]

    await world.service.conversations.forget(Principal(user="eva"))

    assert [item.subject for item in await quotas.list_all("default")] == ["group:press"]
    assert (await use_of(world, "group:press")).used_tokens == 10
    assert [item.subject for item in await quotas.list_all("other")] == ["user:eva"]


def test_the_refusal_comes_back_from_the_wire_as_itself() -> None:
    error = wire.load_error(wire.dump_error(QuotaExceeded("Used up.", 60.0)))

    assert isinstance(error, QuotaExceeded)
    assert isinstance(error, RagstoneError)
    assert error.message == "Used up."
