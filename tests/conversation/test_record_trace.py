"""What is kept of a question for the operator, and what is not."""

import json
from dataclasses import asdict, replace

import pytest

from ragstone.conversation.persist import build_trace
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.correlation import CURRENT, Correlation
from ragstone.core.turn import Ask, Principal, Recalled, StageTrace, Turn

SECRET = "What did Zoltan earn in 2019?"
ASK = Ask(SECRET, Principal("acme", "ann"), "law", id="chatcmpl-1", room="r1")
TURN = Turn(
    ASK,
    question=SECRET,
    answer=GeneratedAnswer("He earned 7.", finish="stop", model="openai:m", confidence=0.7),
    recalled=Recalled("search", SECRET),
    usage=Usage(10, 5, 1, 0.25),
    trace=(
        StageTrace("retrieve", 0.2, "done", "12 passages", f"searched for {SECRET!r}"),
        StageTrace("generate", 0.3, "done"),
    ),
)


def test_given_a_turn_then_its_cost_times_and_outcome_are_kept() -> None:
    kept = build_trace(TURN, questions=False)
    assert (kept.id, kept.tenant, kept.user, kept.room) == ("chatcmpl-1", "acme", "ann", "r1")
    assert (kept.finish, kept.model, kept.cached) == ("stop", "openai:m", "search")
    assert (kept.prompt_tokens, kept.completion_tokens, kept.cost) == (10, 5, 0.25)
    assert kept.seconds == pytest.approx(0.5)
    assert [stage.stage for stage in kept.stages] == ["retrieve", "generate"]


def test_given_no_wish_for_questions_then_nothing_of_the_question_is_kept() -> None:
    assert "Zoltan" not in json.dumps(asdict(build_trace(TURN, questions=False)))


def test_given_that_wish_then_question_and_reasons_are_kept() -> None:
    kept = build_trace(TURN, questions=True)
    assert kept.question == SECRET
    assert kept.stages[0].decision == "12 passages"


def test_given_a_failure_then_the_stage_is_named() -> None:
    failed = StageTrace("retrieve", 0.1, "failed", "", "The index is gone.")
    kept = build_trace(
        replace(TURN, answer=GeneratedAnswer(finish="error"), trace=(failed,)), questions=False
    )
    assert (kept.finish, kept.error, kept.model) == ("error", "retrieve", "")


def test_given_a_search_then_it_is_no_failure() -> None:
    late = StageTrace("rerank", 0.1, "timeout", "", "Too slow.")
    kept = build_trace(replace(TURN, answer=None, trace=(late,)), questions=False)
    assert (kept.finish, kept.error, kept.model) == ("search", "", "")


def test_given_a_question_without_an_id_then_it_gets_one_of_its_own() -> None:
    turn = replace(TURN, ask=replace(ASK, id=""))
    assert build_trace(turn, False).id != build_trace(turn, False).id


def test_given_a_request_then_its_names_are_kept() -> None:
    token = CURRENT.set(Correlation("req-1", "0" * 31 + "1"))
    try:
        kept = build_trace(TURN, questions=False)
    finally:
        CURRENT.reset(token)
    assert (kept.request, kept.trace) == ("req-1", "0" * 31 + "1")
