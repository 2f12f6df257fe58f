"""Whole questions at every level with a chat model that does what each part asks of it."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ragstone.answer import generate
from ragstone.answer.extractive.extractive import Extractive
from ragstone.answer.rounds import CRITERIA
from ragstone.build import open_adapters
from ragstone.core.answer import Instructions, Usage
from ragstone.core.events import Done, Event, Failed, Thinking, Token
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Passage, Turn
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import CallBudget
from ragstone.models.prompt import compose
from ragstone.ports import Adapters, Profile, Said
from ragstone.recipes import recipe
from ragstone.recipes.recipe import Recipes
from ragstone.settings import CacheSettings, Settings
from tests.retrieve.test_searching import the_chunks

QUESTION = "Which songs do whales sing?"
ANSWER = ("Whales sing songs ", "that travel for hundreds of kilometres. [1]")
USED = Usage(10, 5, 1)
UNCACHED = Settings(cache=CacheSettings(enabled=False))


class Chat:
    """Grades well, judges well, thinks aloud, and answers."""

    name = "chat"
    profile = Profile()
    points = 90

    def __init__(self) -> None:
        self.answered: list[Instructions] = []
        self.completed: list[str] = []
        self.asked: list[str] = []

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        self.answered.append(instructions)
        for piece in ANSWER:
            yield Said(piece)
        yield Said(finish="stop", usage=USED)

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        self.completed.append(rules)
        self.asked.append(text)
        if rules.startswith("You grade passages"):
            said = json.dumps({"grades": {str(n): 9 for n in range(1, 30)}, "overall": 9})
        elif text.startswith("You judge an answer"):
            said = json.dumps(
                {**dict.fromkeys(CRITERIA, self.points), "query": "How do whales sing?"}
            )
        else:
            said = "hm"
        return Said(said, usage=USED)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapters(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Adapters]:
    data: Path = tmp_path_factory.mktemp("levels")
    settings = Settings(ragstone_data=data, cache=CacheSettings(enabled=False))
    async with open_adapters(settings) as (adapters, _, _):
        embedder = adapters.embedders.choose("en")
        collection = Collection(
            "default", "default", embedder.name, embedder.fingerprint, embedder.dimensions, "en"
        )
        await adapters.index.create(collection)
        await adapters.catalog.put_collection(collection)
        chunks = the_chunks(collection)
        vectors = await embedder.embed_passages([chunk.searchable for chunk in chunks])
        await adapters.index.upsert(collection, chunks, vectors)
        yield adapters


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(
    adapters: Adapters, ask: Ask, settings: Settings | None = None
) -> tuple[Turn, Any, Any]:
    """The turn, what the client saw, and the model."""
    chat = Chat()
    assert isinstance(adapters.answerer, Extractive)
    with_chat = replace(adapters, answerer=chat, completer=chat, answerable=adapters.answerer)
    engine = Engine(with_chat, Recipes(settings or Settings()).answer_recipe)
    seen: list[Event] = []
    async with aclosing(engine.events(ask)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, Failed):
                raise event.error
    assert isinstance(event, Done)
    return event.turn, seen, chat


def pieces(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Token)]


@pytest.mark.conforms("Query pipeline", "Levels", "standard")
async def test_given_standard_then_it_streams_with_one_call(adapters: Adapters) -> None:
    turn, events, chat = await asked(adapters, Ask(QUESTION))
    assert len(pieces(events)) > 1
    assert (len(chat.answered), turn.usage) == (1, USED)


@pytest.mark.conforms(
    "Query pipeline", "Levels", "maximum: voting, extended thinking, several queries"
)
async def test_given_maximum_then_every_part_takes_part_and_one_answer_leaves(
    adapters: Adapters,
) -> None:
    settings = Settings(stages={"generate": {"votes": True}})
    turn, events, chat = await asked(adapters, Ask(QUESTION, level="maximum"), settings)
    assert pieces(events) == ["".join(ANSWER)]
    assert [event.text for event in events if isinstance(event, Thinking)] == ["hm"]
    assert [told.notes for told in chat.answered] == ["hm"] * 3
    stages = [traced.stage for traced in turn.trace]
    order = [
        item for item in ("retrieve", "grade_passages", "reason", "generate") if item in stages
    ]
    assert order == sorted(order, key=stages.index)
    assert len(order) == 4
    assert turn.usage.calls == len(chat.answered) + len(chat.completed)
    assert turn.answer
    assert turn.answer.citations


@pytest.mark.parametrize(
    ("ask", "judged", "thought", "voted"),
    [
        (Ask(QUESTION, level="standard", verifies=True), True, False, False),
        (Ask(QUESTION, level="basic", reasons=True, votes=True), False, True, True),
        (Ask(QUESTION, level="enhanced"), True, True, False),
        (Ask(QUESTION, level="enhanced", verifies=False, reasons=False), False, False, False),
    ],
)
async def test_given_what_a_request_wants_then_that_and_no_more(
    adapters: Adapters, ask: Ask, judged: bool, thought: bool, voted: bool
) -> None:
    turn, events, chat = await asked(adapters, ask)
    stages = {traced.stage for traced in turn.trace if traced.decision != "skipped"}
    assert ("rounds" in stages, "grade_passages" in stages) == (judged, judged)
    assert any(isinstance(event, Thinking) for event in events) == thought
    assert len(chat.answered) == (3 if voted else 1)
    assert (len(pieces(events)) == 1) == (judged or voted)


async def test_given_a_question_of_something_else_then_the_model_is_not_asked(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The gate fails open, and models that are opened first may take a busy machine seconds.
    monkeypatch.setattr(generate, "GATE_SECONDS", 60.0)
    question = Ask("What voltage does the transistor need?")
    turn, events, chat = await asked(adapters, question)
    assert turn.answer
    assert turn.answer.refused
    assert chat.answered == []
    assert pieces(events) == [turn.answer.text]


async def test_what_is_asked_about_the_sources_begins_as_the_answer_does(
    adapters: Adapters,
) -> None:
    turn, _, chat = await asked(adapters, Ask(QUESTION, level="enhanced"), UNCACHED)

    opening, _ = compose(turn.passages, QUESTION, chat.answered[0])
    tasks = [
        text
        for rules, text in zip(chat.completed, chat.asked, strict=True)
        if rules == opening and "Whales sing" in opening
    ]
    assert [task.splitlines()[0][:9] for task in tasks] == ["You prepa", "You judge"]


async def test_the_trace_says_what_each_call_bought(adapters: Adapters) -> None:
    turn, *_ = await asked(adapters, Ask(QUESTION, level="maximum"), UNCACHED)

    told = {traced.stage: traced for traced in turn.trace}
    assert told["judge_answer"].usage_text == "1 call, 10 tokens in, 5 out"
    assert told["judge_answer"].decision == "score 0.90"
    within = {name: traced.calls for name, traced in told.items() if not traced.inside}
    assert sum(within.values()) == turn.usage.calls


async def test_where_the_budget_is_spent_no_further_round_begins(
    adapters: Adapters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Chat, "points", 40)
    monkeypatch.setitem(recipe.BUDGETS, "enhanced", CallBudget(4, 40_000))  # type: ignore[arg-type]

    turn, _, chat = await asked(adapters, Ask(QUESTION, level="enhanced"), UNCACHED)

    [rounds] = [traced for traced in turn.trace if traced.stage == "rounds"]
    assert "budget of 4 calls" in rounds.reason
    assert (len(chat.answered), len(chat.completed)) == (1, 4)
