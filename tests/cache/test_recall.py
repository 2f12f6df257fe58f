"""The cache in a whole Ragstone: what is answered from memory, and what never is."""

import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragstone import build
from ragstone.cache.recall import depends_on_history
from ragstone.core.events import Done, Failed, Sources, Token
from ragstone.core.filters import And, AnyOf, Filter, Not, path_filter
from ragstone.core.turn import Ask, Message, Principal, SearchOptions, Turn
from ragstone.local import Ragstone
from ragstone.service import IngestRequest
from ragstone.settings import CacheSettings, Settings
from tests.redis_server import redis_server

pytestmark = pytest.mark.slow

WHALES = "Whales sing songs that travel for hundreds of kilometres through the ocean."
SHIP = "The ship Meridian was built in Glasgow in 1871 for the trade in tea."
SALARY = "The salary of the director is 90,000 dollars in the year 2020."
QUESTION = "What is the salary of the director?"
SAME = "what's the salary of the director"
OTHER = "What is the salary of the secretary?"


async def ingested(ragstone: Ragstone, path: Path, text: str, *allowed: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    request = IngestRequest((str(path),), allowed=allowed or ("*",))
    async for progress in ragstone.ingest(request):
        assert not progress.error


@pytest.fixture
async def ragstone(tmp_path: Path) -> AsyncIterator[Ragstone]:
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as opened:
        for name, text in (("whales", WHALES), ("ship", SHIP), ("salary", SALARY)):
            await ingested(opened, tmp_path / "files" / f"{name}.txt", text)
        yield opened


async def asked(ragstone: Ragstone, question: str, **changes: Any) -> tuple[Turn, list[Any]]:
    """The finished turn and its events; waits until it is remembered."""
    events: list[Any] = []
    async with aclosing(ragstone.ask(Ask(question, **changes))) as stream:
        async for event in stream:
            events.append(event)
    await ragstone._answers.aclose()
    end = events[-1]
    assert isinstance(end, Done | Failed)
    return end.turn, events


async def searched(ragstone: Ragstone, ask: Ask) -> tuple[list[str], str]:
    """The ids of what a search finds, and what the cache decided."""
    found = await ragstone.search(ask)
    await ragstone._searches.aclose()
    [recall] = [traced for traced in found.trace if traced.stage == "recall"]
    return [hit.chunk.chunk_id for hit in found.hits], recall.decision


def content(turn: Turn) -> str:
    return turn.recalled.content if turn.recalled else ""


@pytest.mark.conforms("Query pipeline", "Step 2", "A hit returns the stored answer")
async def test_given_an_equal_question_then_its_answer_comes_exactly_as_it_was(
    ragstone: Ragstone,
) -> None:
    first, _ = await asked(ragstone, QUESTION)
    assert first.answer is not None
    assert first.answer.citations
    assert content(first) == ""
    again, events = await asked(ragstone, SAME)
    assert content(again) == "answer"
    assert again.answer == first.answer
    assert again.passages == first.passages
    assert again.usage.calls == 0
    assert [e.passages for e in events if isinstance(e, Sources)] == [first.passages]
    assert [e.text for e in events if isinstance(e, Token)] == [first.answer.text]
    [traced] = [traced for traced in again.trace if traced.stage == "recall"]
    assert "asks the same as an earlier question" in traced.reason
    assert QUESTION not in traced.reason
    assert "retrieve" not in {traced.stage for traced in again.trace}
    figures = await ragstone.cache_figures()
    assert (figures.hits, figures.misses) == (1, 1)
    assert figures.saved_seconds > 0


@pytest.mark.conforms("Query pipeline", "Step 2", "A miss goes on")
async def test_given_another_question_then_it_is_answered_itself(ragstone: Ragstone) -> None:
    await asked(ragstone, QUESTION)
    turn, _ = await asked(ragstone, OTHER)
    assert content(turn) == ""


async def test_given_another_temperature_then_only_the_passages_are_reused(
    ragstone: Ragstone,
) -> None:
    first, _ = await asked(ragstone, QUESTION)
    turn, _ = await asked(ragstone, QUESTION, temperature=0.5)
    assert content(turn) == "search"
    assert turn.hits == first.hits
    assert turn.answer is not None
    assert {"generate", "assemble"} <= {traced.stage for traced in turn.trace}
    assert not {"retrieve", "rerank", "expand"} & {traced.stage for traced in turn.trace}
    again, _ = await asked(ragstone, QUESTION, temperature=0.5)
    assert content(again) == "answer"


@pytest.mark.parametrize(
    "changes",
    [
        {"level": "basic"},
        {"strategy": "bm25"},
        {"top_k": 3},
        {"wanted": SearchOptions(diversity=0.5)},
        {"where": path_filter("/files")},
        {"collection": "other"},
        {"principal": Principal(tenant="other")},
        {"cache": False},
    ],
)
async def test_given_anything_else_differs_then_nothing_is_recalled(
    ragstone: Ragstone, changes: dict[str, Any]
) -> None:
    await asked(ragstone, QUESTION)
    turn, _ = await asked(ragstone, QUESTION, **changes)
    assert content(turn) == ""


BEFORE = (Message("user", "Who is Ada Meyer?"), Message("assistant", "Ada Meyer is a lawyer."))


async def test_given_a_question_that_leans_on_history_then_nothing_is_recalled_or_kept(
    ragstone: Ragstone,
) -> None:
    first, _ = await asked(ragstone, QUESTION, history=BEFORE)
    assert depends_on_history(first)
    turn, _ = await asked(ragstone, QUESTION)
    assert content(turn) == ""
    again, _ = await asked(ragstone, QUESTION, history=BEFORE)
    assert content(again) == ""


async def test_given_a_whole_question_after_others_then_only_passages_are_recalled(
    ragstone: Ragstone,
) -> None:
    question = "Who founded Stuttgart?"
    await asked(ragstone, question, history=BEFORE)
    turn, _ = await asked(ragstone, question)
    assert content(turn) == ""
    again, _ = await asked(ragstone, question, history=BEFORE)
    assert content(again) == "search"


async def test_given_a_refusal_then_it_is_not_kept(tmp_path: Path) -> None:
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as ragstone:
        await ingested(ragstone, tmp_path / "a.txt", WHALES)
        first, _ = await asked(ragstone, "How high is the tax on imported bicycles in Norway?")
        assert first.answer is not None
        assert first.answer.refused
        turn, _ = await asked(ragstone, "How high is the tax on imported bicycles in Norway?")
        assert content(turn) != "answer"


async def test_given_the_document_is_deleted_then_it_is_never_answered_again(
    ragstone: Ragstone,
) -> None:
    await asked(ragstone, QUESTION)
    await ragstone.delete(Principal(), "default", ["/salary.txt"])
    turn, events = await asked(ragstone, QUESTION)
    assert content(turn) == ""
    assert all("90,000" not in e.text for e in events if isinstance(e, Token))
    assert all("90,000" not in hit.chunk.text for hit in turn.hits)


async def test_given_the_document_is_for_others_now_then_it_is_never_answered_again(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await asked(ragstone, QUESTION)
    await ingested(ragstone, tmp_path / "files" / "salary.txt", SALARY, "group:board")
    turn, events = await asked(ragstone, QUESTION)
    assert content(turn) == ""
    assert all("90,000" not in e.text for e in events if isinstance(e, Token))
    board = Principal(user="ceo", groups=("board",))
    turn, _ = await asked(ragstone, QUESTION, principal=board)
    assert turn.answer is not None
    assert "90,000" in turn.answer.text
    turn, events = await asked(ragstone, QUESTION)
    assert content(turn) == "" or "90,000" not in str(turn.answer)
    assert all("90,000" not in e.text for e in events if isinstance(e, Token))


async def test_given_the_document_changes_then_the_new_content_answers(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await asked(ragstone, QUESTION)
    changed = SALARY.replace("90,000", "95,000")
    await ingested(ragstone, tmp_path / "files" / "salary.txt", changed)
    turn, _ = await asked(ragstone, QUESTION)
    assert content(turn) == ""
    assert turn.answer is not None
    assert "95,000" in turn.answer.text


async def test_given_a_new_document_then_it_may_be_the_better_answer(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await asked(ragstone, QUESTION)
    await ingested(ragstone, tmp_path / "files" / "news.txt", "The director left in 2021.")
    turn, _ = await asked(ragstone, QUESTION)
    assert content(turn) == ""


async def test_given_users_who_can_read_the_same_then_they_share_answers(
    ragstone: Ragstone, tmp_path: Path
) -> None:
    await ingested(ragstone, tmp_path / "files" / "red.txt", "Red is warm.", "group:red")
    one, other = (Principal(user=name, groups=("red", "x" + name)) for name in ("ann", "bob"))
    await asked(ragstone, QUESTION, principal=one)
    turn, _ = await asked(ragstone, QUESTION, principal=other)
    assert content(turn) == "answer"
    turn, _ = await asked(ragstone, QUESTION, principal=Principal(user="eve"))
    assert content(turn) == ""


async def test_given_a_restart_then_the_answer_is_still_known(tmp_path: Path) -> None:
    settings = Settings(ragstone_data=tmp_path / "data")
    async with build.open(settings) as ragstone:
        await ingested(ragstone, tmp_path / "salary.txt", SALARY)
        first, _ = await asked(ragstone, QUESTION)
    async with build.open(settings) as ragstone:
        turn, _ = await asked(ragstone, QUESTION)
        assert content(turn) == "answer"
        assert turn.answer == first.answer
        assert await ragstone.clear_cache() == 2
        turn, _ = await asked(ragstone, QUESTION)
        assert content(turn) == ""


async def test_given_the_cache_is_off_then_nothing_is_kept(tmp_path: Path) -> None:
    settings = Settings(ragstone_data=tmp_path / "data", cache=CacheSettings(enabled=False))
    async with build.open(settings) as ragstone:
        await ingested(ragstone, tmp_path / "salary.txt", SALARY)
        for _ in range(2):
            turn, _ = await asked(ragstone, QUESTION)
            assert turn.recalled is None
        assert (await ragstone.cache_figures()).where == "off"
        assert not (tmp_path / "data" / "cache.sqlite").exists()


async def test_given_redis_is_killed_in_the_middle_then_the_answer_still_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server(tmp_path) as server:
        cache = CacheSettings(url=server.url)
        async with build.open(Settings(ragstone_data=tmp_path / "data", cache=cache)) as ragstone:
            await ingested(ragstone, tmp_path / "salary.txt", SALARY)
            await asked(ragstone, QUESTION)
            turn, _ = await asked(ragstone, QUESTION)
            assert content(turn) == "answer"
            stream = ragstone.ask(Ask(OTHER.replace("secretary", "director in 2020")))
            async with aclosing(stream) as events:
                seen = []
                async for event in events:
                    server.kill()
                    seen.append(event)
            assert isinstance(seen[-1], Done)
            assert seen[-1].turn.answer is not None
            turn, _ = await asked(ragstone, QUESTION)
            assert content(turn) == ""
            assert turn.answer is not None
            assert "90,000" in turn.answer.text
    assert len([r for r in caplog.records if "does not answer" in r.message]) == 1


NAMES = ("*", "user:u0", "user:u1", "group:g0", "group:g1", "group:g2")


def a_filter(r: random.Random) -> Filter | None:
    some = AnyOf("path", tuple(f"/{r.randrange(12)}.txt" for _ in range(4)))
    return r.choice([None, None, some, Not(some), And((some, AnyOf("kind", ("normal",))))])


async def test_whoever_asks_whatever_filter_the_cache_changes_nothing(tmp_path: Path) -> None:
    r = random.Random(7)
    same = ("What is the colour of the box?", "what's the color of the box")
    principals = [
        Principal(user=f"u{user}", groups=groups)
        for user in range(3)
        for groups in ((), ("g0",), ("g1", "g2"), ("g0", "g1"))
    ]
    async with build.open(Settings(ragstone_data=tmp_path / "data")) as ragstone:
        for number in range(12):
            text = f"The colour of the box number {number} is {r.choice(('red', 'blue'))}."
            allowed = r.sample(NAMES, r.randint(1, 2))
            await ingested(ragstone, tmp_path / "files" / f"{number}.txt", text, *allowed)
        decisions: set[str] = set()
        for turn in range(150):
            ask = Ask(r.choice(same), r.choice(principals), where=a_filter(r), top_k=20)
            found, decision = await searched(ragstone, ask)
            decisions.add(decision.split()[-1])
            fresh = [  # as sets: in texts this alike the order is a matter of rounding
                set((await searched(ragstone, replace(ask, question=question, cache=False)))[0])
                for question in (same if decision != "unknown" else (ask.question,))
            ]
            assert set(found) in fresh
            if turn % 40 == 39:
                documents = await ragstone.documents(ask.principal, "default")
                await ragstone.delete(ask.principal, "default", [d.path for d in documents[:1]])
        assert {"unknown", "passages"} <= decisions
