"""The chat model's look at the passages, and the one more search that may follow."""

import json
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from ragstone.core.answer import Usage
from ragstone.core.errors import IndexUnavailable, ModelUnavailable
from ragstone.core.turn import Ask, Hit, Plan, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.retrieve.grade_passages import SPARED, GradePassages
from tests.engine.adapters import ran
from tests.engine.completer import Replies
from tests.engine.samples import a_hit

TEXTS = ("alpha", "beta", "gamma", "delta")


def hits(*texts: str) -> tuple[Hit, ...]:
    return tuple(a_hit(text, chunk_id=text) for text in texts)


class Searches(Stage):
    """Finds two more passages."""

    name: ClassVar[str] = "searches"
    breaks: bool = False

    async def run(self, turn: Turn, adapters: Any, emit: Emit) -> Step:
        if self.breaks:
            raise IndexUnavailable("It is gone.")
        return Step(replace(turn, hits=hits(*TEXTS, f"found by {turn.queries[-1]}")))


def graded(*grades: float, overall: float | None = None, query: str = "") -> str:
    said: dict[str, Any] = {"grades": {str(n): grade for n, grade in enumerate(grades, 1)}}
    return json.dumps({**said, "overall": overall, "query": query})


async def appraised(
    *replies: str | Exception, breaks: bool = False, turn: Turn | None = None, **options: Any
) -> tuple[Step, Replies]:
    start = Turn(Ask("Why?"), question="Why?", queries=("Why?",), hits=hits(*TEXTS))
    model = Replies(*replies)
    stage = GradePassages(inner=(Searches(breaks=breaks),), **options)
    return (await ran(stage, turn or start, completer=model))[0], model


def texts(step: Step) -> list[str]:
    return [hit.chunk.text for hit in step.turn.hits]


@pytest.mark.conforms(
    "Query pipeline", "Step 7", "Self-RAG: each passage is verified, the poor are removed"
)
async def test_given_grades_then_the_best_come_first_and_the_poor_are_dropped() -> None:
    step, model = await appraised(graded(3, 9, 0, 5, overall=8))
    assert texts(step) == ["beta", "delta", "alpha"]
    assert len(model.asked) == 1
    assert step.turn.usage == Usage(100, 10, 1)
    assert step.turn.queries == ("Why?",)


@pytest.mark.conforms(
    "RAG engine v1", "Self-RAG", "A poor retrieval (under 7 of 10) is searched with a better query"
)
async def test_given_a_poor_search_then_the_new_query_is_searched_once() -> None:
    step, model = await appraised(graded(1, 4, 0, 0, overall=2, query="causes"), graded(9))
    assert texts(step) == ["found by causes", "beta"]
    assert step.turn.queries == ("Why?", "causes")
    assert "alpha" not in model.asked[1][1]
    assert "found by causes" in model.asked[1][1]
    assert [(t.stage, t.inside) for t in step.turn.trace] == [("searches again", "grade_passages")]
    assert "also searched: causes" in step.reason


async def test_given_all_poor_without_another_query_then_some_stay() -> None:
    step, _ = await appraised(graded(0, 1, 0, 2, overall=1))
    assert texts(step) == ["delta", "beta", "alpha"]
    assert len(step.turn.hits) == SPARED


async def test_given_all_poor_after_another_search_too_then_none_stays() -> None:
    step, _ = await appraised(graded(0, 0, 0, 0, overall=0, query="x"), graded(1, overall=0))
    assert texts(step) == []


async def test_given_the_question_was_appraised_before_then_it_is_not_searched_again() -> None:
    first, _ = await appraised(graded(1, 4, 0, 0, overall=2, query="causes"), graded(9))
    again = replace(first.turn, hits=hits(*TEXTS, "new"))
    step, model = await appraised(graded(5, overall=1, query="more"), turn=again)
    assert len(model.asked) == 1
    assert step.turn.queries == ("Why?", "causes")
    assert texts(step) == ["new", "beta"]


async def test_given_a_query_that_was_searched_already_then_no_search() -> None:
    step, model = await appraised(graded(4, 4, 4, 4, overall=2, query="WHY?"))
    assert len(model.asked) == 1
    assert texts(step) == list(TEXTS)


async def test_given_more_passages_than_are_graded_then_the_rest_stay_behind() -> None:
    step, model = await appraised(graded(2, 9, overall=9), most=2)
    assert texts(step) == ["beta", "gamma", "delta"]
    assert "gamma" not in model.asked[0][1]


@pytest.mark.parametrize("reply", ["nonsense", "", "{}", ModelUnavailable("It is down.")])
async def test_given_no_grades_then_the_passages_stay(reply: str | Exception) -> None:
    step, _ = await appraised(reply)
    assert texts(step) == list(TEXTS)
    assert step.decision == "skipped"
    assert "helper" in step.reason


async def test_given_a_second_search_that_fails_then_what_was_found_first_is_kept() -> None:
    step, _ = await appraised(graded(1, 4, 0, 0, overall=2, query="causes"), breaks=True)
    assert texts(step) == ["beta"]


async def test_given_a_document_read_in_order_then_nothing_is_moved() -> None:
    turn = Turn(Ask("Why?"), question="Why?", plan=Plan(strategy="sequential"), hits=hits(*TEXTS))
    step, model = await appraised(graded(0, 0, 0, 9), turn=turn)
    assert texts(step) == list(TEXTS)
    assert not model.asked


async def test_given_no_chat_model_then_the_passages_stay() -> None:
    start = Turn(Ask("Why?"), question="Why?", hits=hits(*TEXTS))
    step, _ = await ran(GradePassages(), start)
    assert texts(step) == list(TEXTS)
