"""Answering in rounds, until the answer is good enough."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from ragstone.answer.rounds import CRITERIA, Rounds
from ragstone.core.answer import GeneratedAnswer, Sufficiency, Usage
from ragstone.core.errors import IndexUnavailable, ModelUnavailable, RagstoneError
from ragstone.core.events import Event, Note, Sources, Token
from ragstone.core.turn import Ask, Recalled, StageTrace, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Said
from tests.engine.adapters import ran


class Answers(Stage):
    """Answers with the queries that were searched; the confidence grows with their number."""

    name: ClassVar[str] = "answers"
    confidences: tuple[float, ...] = (0.3, 0.5, 0.9)
    missing: tuple[str, ...] = ("height", "age", "cost")
    breaks_at: int = 99

    async def run(self, turn: Turn, adapters: Any, emit: Emit) -> Step:
        number = len(turn.queries)
        if number >= self.breaks_at:
            raise IndexUnavailable("It is gone.")
        await emit(Note("answers", f"round {number}"))
        await emit(Token("draft"))
        found = Sufficiency(False, 0.5, False, (self.missing[number - 1],))
        answer = GeneratedAnswer(
            f"By {', '.join(turn.queries)}.",
            confidence=self.confidences[number - 1],
            sufficiency=found,
            held=True,
        )
        return Step(replace(turn, answer=answer, usage=turn.usage + Usage(10, 5, 1)))


class Judge:
    name = "judge"

    def __init__(self, replies: Sequence[str | Exception]) -> None:
        self.replies = list(replies)

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0
    ) -> Said:
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Said(reply, usage=Usage(100, 20, 1))


def verdict(points: int, query: str = "", advice: str = "") -> str:
    said = {**dict.fromkeys(CRITERIA, points), "query": query, "advice": advice}
    return json.dumps(said)


async def rounds(
    turn: Turn | None = None, stage: Answers | None = None, completer: Any = None, **options: Any
) -> tuple[Step, list[Event]]:
    start = Turn(Ask("How high?"), question="How high?", queries=("How high?",))
    made = Rounds(inner=(stage or Answers(),), **options)
    return await ran(made, turn or start, completer=completer)


def text(step: Step) -> str:
    assert step.turn.answer
    assert not step.turn.answer.held
    return step.turn.answer.text


async def test_given_no_model_then_what_is_missing_is_searched_until_the_answer_is_sure() -> None:
    step, _ = await rounds()
    assert text(step) == "By How high?, height, age."
    assert step.decision == "3 rounds, score 0.90"
    assert step.turn.usage == Usage(30, 15, 3)
    assert [item.stage for item in step.turn.trace] == ["answers", "answers 2", "answers 3"]


async def test_given_rounds_then_only_the_best_answer_leaves_and_once() -> None:
    step, events = await rounds(stage=Answers(confidences=(0.6, 0.2, 0.1)))
    assert text(step) == "By How high?."
    assert (step.turn.iteration, step.turn.scores) == (1, (0.6, 0.2, 0.1))
    assert [type(event) for event in events] == [Note, Note, Note, Sources, Token]
    assert events[-1] == Token("By How high?.")


async def test_given_a_sure_answer_then_one_round() -> None:
    step, _ = await rounds(stage=Answers(confidences=(0.8, 0.9, 1.0)))
    assert step.decision == "1 rounds, score 0.80"


@pytest.mark.parametrize("options", [{"most": 2}, {"tokens": 25}, {"seconds": 1e-9, "most": 3}])
async def test_given_a_limit_then_no_further_round_begins(options: dict[str, Any]) -> None:
    step, _ = await rounds(**options)
    assert len(step.turn.trace) == (1 if "seconds" in options else 2)


async def test_given_nothing_new_to_search_then_it_ends() -> None:
    step, _ = await rounds(stage=Answers(missing=("how HIGH?", "", "")))
    assert len(step.turn.trace) == 1


@pytest.mark.conforms(
    "RAG engine v1",
    "Self-RAG",
    "Answers are judged by relevance, accuracy, completeness, clarity",
)
async def test_given_a_model_then_it_judges_and_names_the_next_query() -> None:
    judge = Judge([verdict(40, "tower metres"), verdict(95)])
    step, _ = await rounds(completer=judge)
    assert text(step) == "By How high?, tower metres."
    assert step.reason == "judged by judge"
    assert step.turn.usage == Usage(220, 50, 4)


@pytest.mark.conforms(
    "RAG engine v1", "Self-RAG", "Advice of the judgement goes into the next prompt"
)
async def test_given_advice_alone_then_the_next_round_has_it_and_searches_nothing_new() -> None:
    advised: list[str] = []

    class Advised(Answers):
        async def run(self, turn: Turn, adapters: Any, emit: Emit) -> Step:
            advised.append(turn.advice)
            return await super().run(turn, adapters, emit)

    step, _ = await rounds(
        stage=Advised(), completer=Judge([verdict(40, "", "Cite."), verdict(90)])
    )
    assert advised == ["", "Cite."]
    assert text(step) == "By How high?."
    assert step.decision == "2 rounds, score 0.90"


@pytest.mark.conforms("RAG engine v1", "Self-RAG", "At most 3 iterations")
async def test_given_advice_for_ever_then_no_more_rounds_than_allowed() -> None:
    step, _ = await rounds(completer=Judge([verdict(40, "", "Cite.")] * 3))
    assert step.decision == "3 rounds, score 0.40"
    assert step.turn.usage == Usage(330, 75, 6)


@pytest.mark.parametrize("reply", ["nonsense", ModelUnavailable("It is down.")])
async def test_given_a_model_that_does_not_judge_then_the_confidence_does(
    reply: str | Exception,
) -> None:
    step, _ = await rounds(completer=Judge([reply] * 3))
    assert text(step) == "By How high?, height, age."
    assert "judge" in step.reason


async def test_given_a_later_round_that_fails_then_the_answer_before_it_leaves() -> None:
    step, _ = await rounds(stage=Answers(breaks_at=2))
    assert text(step) == "By How high?."


async def test_given_a_first_round_that_fails_then_the_question_does() -> None:
    with pytest.raises(RagstoneError):
        await rounds(stage=Answers(breaks_at=1))


class Searches(Answers):
    """A stage that searches."""

    searches: ClassVar[bool] = True


async def test_given_passages_from_the_cache_then_the_first_round_does_not_search() -> None:
    start = Turn(
        Ask("How high?"),
        question="How high?",
        queries=("How high?",),
        recalled=Recalled("search"),
        answer=GeneratedAnswer("Kept.", confidence=0.9),
    )
    step, _ = await rounds(start, Searches())
    assert text(step) == "Kept."


async def test_given_rounds_then_their_stages_are_not_counted_twice() -> None:
    step, _ = await rounds()
    assert {item.inside for item in step.turn.trace} == {"rounds"}
    assert step.turn.seconds == 0
    whole = replace(step.turn, trace=(*step.turn.trace, StageTrace("rounds", 2.0, "done")))
    assert whole.seconds == 2
