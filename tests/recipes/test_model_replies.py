"""What is made of the replies that strong and weak chat models give to each prompt.

A line of `data/model_replies.jsonl` has a prompt, what it says of the reply's form (`told`), a
question or what else is asked, a reply, and what is to be read from it (`read`): of a weak reply
what is still sound, or nothing.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.answer.assemble import build_prompt
from ragstone.answer.generate import Generate
from ragstone.answer.reason import think
from ragstone.answer.rounds import parse_judgement
from ragstone.answer.structured import Structured
from ragstone.conversation.contextualize import Contextualize
from ragstone.core.errors import ModelUnavailable
from ragstone.core.turn import Ask, JsonFormat, Message, Plan, Turn
from ragstone.engine.stage import nowhere
from ragstone.guard.guard import verdict
from ragstone.language.json_answer import parse_list
from ragstone.language.templates import load_shipped
from ragstone.plugins.rerankers.listwise import parse_ranking
from ragstone.ports import Profile
from ragstone.retrieve.grade_passages import appraisal
from ragstone.understand.complexity import analyse_question
from ragstone.understand.intents import parse_intent
from ragstone.understand.rewrite import Rewrite
from ragstone.verify.verdicts import parse_labels
from tests.conversation.test_contextualize import ran as contextualize
from tests.engine.adapters import a_kit, ran
from tests.engine.completer import Replies
from tests.engine.samples import a_passage
from tests.scripted import Scripted

Row = dict[str, Any]
FILE = Path(__file__).parent / "data" / "model_replies.jsonl"
ROWS: list[Row] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


async def read_answer(row: Row) -> Any:
    """The text that leaves, and the sources and questions that the model named."""
    step = await build_prompt(make_turn(row), a_kit(), suggests=True, layout="references")
    step, _ = await ran(Generate(), step.turn, answerer=Scripted([row["reply"]]))
    answer = step.turn.answer
    assert answer is not None
    named_by_it = {"used": list(answer.used), "suggested": list(answer.suggested)}
    return {"text": answer.text} | {key: value for key, value in named_by_it.items() if value}


async def read_structured(row: Row) -> Any:
    turn = make_turn(row, json=JsonFormat("answer", row.get("schema")))
    step = await build_prompt(turn, a_kit())
    try:
        step, _ = await ran(Structured(), step.turn, chat=Scripted([row["reply"]]))
    except ModelUnavailable:
        return None
    return json.loads(step.turn.answer.text) if step.turn.answer else None


async def read_rewrite(row: Row) -> Any:
    """The further queries and imagined passages."""
    method, asked = row["prompt"].removeprefix("rewrite."), row["question"]
    turn = Turn(Ask(asked), asked, plan=Plan(rewrite=method, rewrites=3), queries=(asked,))
    step, _ = await ran(Rewrite(), turn, completer=Replies(row["reply"]))
    return [*step.turn.queries[1:], *step.turn.imagined]


async def read_follow_up(row: Row) -> Any:
    """The question as it is asked without the conversation."""
    before = tuple(
        Message(role, text) for role, text in zip(("user", "assistant"), row["before"], strict=True)
    )
    turn = Turn(Ask(row["question"], history=before))
    model, profile = Replies(row["reply"]), Profile(tier="large")
    step, _ = await contextualize(Contextualize(), turn, completer=model, profile=profile)
    return step.turn.question


async def read_thoughts(row: Row) -> Any:
    model = Replies(row["reply"])
    step = await think(make_turn(row), a_kit(completer=model, profile=Profile()), nowhere)
    return step.turn.instructions.notes


async def read_complexity(row: Row) -> Any:
    turn, kit = Turn(Ask(row["question"]), row["question"]), a_kit(completer=Replies(row["reply"]))
    found, _ = await analyse_question(turn, kit, True, turn.question)
    return [found.complexity, found.by]


def plainly(read: Callable[[str], Any]) -> Callable[[Row], Awaitable[Any]]:
    """What a function reads from the reply alone."""

    async def read_row(row: Row) -> Any:
        return read(row["reply"])

    return read_row


def read_appraisal(said: str) -> Any:
    found = appraisal(said, 2)
    return found and [*found.grades, found.overall, found.query]


def read_labels(said: str) -> Any:
    return [label and label[0] for label in parse_labels(said, 2)]


def read_score(said: str) -> Any:
    found = parse_judgement(said)
    return found and found.score


READERS: dict[str, Callable[[Row], Awaitable[Any]]] = {
    "answer": read_answer,
    "structured": read_structured,
    "rewrite": read_rewrite,
    "rewrite_query": read_follow_up,
    "thoughts": read_thoughts,
    "complexity": read_complexity,
    "intent": plainly(parse_intent),
    "guard_verification": plainly(verdict),
    "rerank": plainly(lambda said: parse_ranking(said, 3)),
    "judge_claims": plainly(read_labels),
    "judge_answer": plainly(read_score),
    "appraisal": plainly(read_appraisal),
    "hypothetical_questions": plainly(lambda said: parse_list(said, "questions")),
}


def make_turn(row: Row, **asked: Any) -> Turn:
    passages = tuple(a_passage(number, text) for number, text in enumerate(row["passages"], 1))
    return Turn(Ask(row["question"], **asked), row["question"], passages=passages)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['prompt']}-{row['kind']}" for row in ROWS])
async def test_of_a_reply_is_read_what_is_sound(row: Row) -> None:
    read = READERS.get(row["prompt"]) or READERS[row["prompt"].partition(".")[0]]

    assert row["told"] in (load_shipped(row["prompt"]) or "")
    assert await read(row) == row["read"]


def test_the_replies_are_many_and_of_strong_and_weak_models() -> None:
    prompts = {row["prompt"] for row in ROWS}

    assert len(ROWS) >= 40
    for prompt in prompts:
        kinds = {row["kind"].partition(",")[0] for row in ROWS if row["prompt"] == prompt}
        assert kinds == {"strong", "weak"}, prompt
