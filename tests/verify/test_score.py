"""How sure an answer is, and whether the passages were enough."""

from dataclasses import replace

import pytest

from ragstone.answer.cite import Cite
from ragstone.core.answer import GeneratedAnswer, Sufficiency
from ragstone.core.turn import Ask, Passage, Turn
from ragstone.verify.check import Check
from ragstone.verify.score import Score
from ragstone.verify.verdict import LocalChecker
from tests.engine.adapters import ran
from tests.engine.samples import a_passage

QUESTION = "How high is the lighthouse of Ost?"


def near(passage: Passage, similarity: float) -> Passage:
    return replace(passage, hit=replace(passage.hit, similarity=similarity))


FIRST = near(a_passage(1, "The lighthouse of Ost is 34 metres high."), 0.9)
SAME = a_passage(2, "It stands in the west. The lighthouse of Ost is 34 metres high.")
OTHER = near(a_passage(2, "The lighthouse of Ost is 43 metres high."), 0.2)


async def scored(answer: GeneratedAnswer, *passages: Passage) -> GeneratedAnswer:
    turn = Turn(Ask(QUESTION), question=QUESTION, passages=passages, answer=answer)
    for stage in (Cite(), Check(), Score()):
        step, _ = await ran(stage, turn, checker=LocalChecker())
        turn = step.turn
    assert turn.answer
    return turn.answer


async def test_given_passages_that_agree_then_they_are_sufficient_and_the_answer_is_sure() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]", confidence=0.9), FIRST, SAME)
    assert answer.sufficiency == Sufficiency(True, 1.0)
    assert answer.confidence == pytest.approx(0.9)
    assert answer.confidence_level == "high"


async def test_given_passages_that_contradict_each_other_then_they_are_not_sufficient() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]", confidence=0.9), FIRST, OTHER)
    assert answer.sufficiency == Sufficiency(False, 1.0, has_conflicts=True)


async def test_given_a_model_without_a_confidence_then_the_cited_likeness_counts() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]"), FIRST, OTHER)
    assert answer.confidence == pytest.approx(0.9)


async def test_given_a_claim_that_is_not_supported_then_the_answer_is_not_sure() -> None:
    answer = await scored(GeneratedAnswer("The lighthouse of Ost is 55 metres high. [1]"), FIRST)
    assert answer.confidence is not None
    assert answer.confidence < 0.3
    assert answer.confidence_level == "low"


async def test_given_a_refusal_then_what_is_missing_is_named() -> None:
    passage = a_passage(1, "The island of Ost has two harbours.")
    answer = await scored(GeneratedAnswer("Nothing.", finish="refused", confidence=0.1), passage)
    assert answer.sufficiency == Sufficiency(False, 0.3333, False, ("high", "lighthouse"))
