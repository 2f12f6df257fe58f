"""How sure an answer is, and whether the passages were enough."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ragstone.core.answer import GeneratedAnswer, Statement, Sufficiency
from ragstone.core.turn import Ask, Passage, Turn
from ragstone.ports import AnswerJudge
from ragstone.verify.check import Check
from ragstone.verify.cite import Cite
from ragstone.verify.score import Score
from tests.engine.adapters import ran
from tests.engine.samples import a_passage
from tests.local_checker import local_checker

QUESTION = "How high is the lighthouse of Ost?"


def near(passage: Passage, similarity: float) -> Passage:
    return replace(passage, hit=replace(passage.hit, similarity=similarity))


FIRST = near(a_passage(1, "The lighthouse of Ost is 34 metres high."), 0.9)
SAME = a_passage(
    2, "It stands in the west. The lighthouse of Ost is 34 metres high.", document_id="d2"
)
OTHER = near(a_passage(2, "The lighthouse of Ost is 43 metres high.", document_id="d2"), 0.2)
SECTION = a_passage(2, "The lighthouse of Ost is 43 metres high.")


class Judge:
    """`ports.AnswerJudge` with one opinion."""

    def __init__(self, likely: float) -> None:
        self.likely = likely

    async def answers(self, ask: Ask, said: str, passages: Sequence[Passage]) -> float:
        return self.likely


async def scored(
    answer: GeneratedAnswer, *passages: Passage, judge: AnswerJudge | None = None
) -> GeneratedAnswer:
    turn = Turn(Ask(QUESTION), question=QUESTION, passages=passages, answer=answer)
    for stage in (Cite(), Check(), Score()):
        step, _ = await ran(stage, turn, checker=local_checker(), judge=judge)
        turn = step.turn
    assert turn.answer
    return turn.answer


@pytest.mark.conforms("Query pipeline", "Step 10", "Sufficiency: coverage and whether it suffices")
async def test_given_passages_that_agree_then_they_are_sufficient_and_the_answer_is_sure() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]", confidence=0.9), FIRST, SAME)
    assert answer.sufficiency == Sufficiency(True, 1.0)
    assert answer.answers == Statement(True, 0.9)
    assert answer.supported == Statement(True, 0.99)
    assert answer.confidence == pytest.approx(0.9 * 0.99)
    assert answer.confidence_level == "high"


async def test_given_a_quotation_that_does_not_answer_then_it_is_supported_and_not_sure() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]", confidence=0.2), FIRST, SAME)
    assert answer.supported
    assert answer.supported.holds
    assert answer.answers == Statement(False, 0.2)
    assert answer.confidence_level == "low"
    assert answer.sufficiency
    assert not answer.sufficiency.is_sufficient


@pytest.mark.conforms("Query pipeline", "Step 10", "Sufficiency: conflicts")
async def test_given_passages_that_contradict_each_other_then_they_are_not_sufficient() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]", confidence=0.9), FIRST, OTHER)
    assert answer.sufficiency == Sufficiency(False, 1.0, has_conflicts=True)


async def test_given_sections_of_one_document_then_their_values_are_of_different_things() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]", confidence=0.9), FIRST, SECTION)
    assert answer.sufficiency == Sufficiency(True, 1.0)


async def test_given_a_model_without_a_confidence_then_the_judge_says_whether_it_answers() -> None:
    said = GeneratedAnswer(f"{FIRST.text} [1]")
    answer = await scored(said, FIRST, OTHER, judge=Judge(0.6))
    assert answer.answers == Statement(True, 0.6)
    assert answer.confidence == pytest.approx(0.6 * 0.99)


async def test_given_nobody_who_can_tell_then_no_confidence_is_made_up() -> None:
    answer = await scored(GeneratedAnswer(f"{FIRST.text} [1]"), FIRST, OTHER)
    assert (answer.answers, answer.confidence) == (None, None)


@pytest.mark.parametrize("judge", [Judge(0.95), None])
async def test_given_an_answer_without_a_citation_then_its_confidence_is_low(
    judge: Judge | None,
) -> None:
    said = GeneratedAnswer("Lighthouses are a fine thing to behold on any coast.")
    answer = await scored(said, FIRST, judge=judge)
    assert answer.confidence is not None
    assert answer.confidence_level == "low"


async def test_given_a_refusal_then_nothing_is_stated_of_it() -> None:
    said = GeneratedAnswer("Nothing.", finish="refused", confidence=0.1)
    answer = await scored(said, FIRST, judge=Judge(0.9))
    assert (answer.supported, answer.answers, answer.confidence) == (None, None, 0.1)


@pytest.mark.conforms("Query pipeline", "Step 10", "Confidence: relevance and grounding")
async def test_given_a_claim_that_is_not_supported_then_the_answer_is_not_sure() -> None:
    said = GeneratedAnswer("The lighthouse of Ost is 55 metres high. [1]")
    answer = await scored(said, FIRST, judge=Judge(0.95))
    assert answer.answers == Statement(True, 0.95)
    assert answer.supported
    assert not answer.supported.holds
    assert answer.confidence is not None
    assert answer.confidence < 0.3
    assert answer.confidence_level == "low"


@pytest.mark.conforms("Query pipeline", "Step 10", "Sufficiency: missing aspects")
async def test_given_a_refusal_then_what_is_missing_is_named() -> None:
    passage = a_passage(1, "The island of Ost has two harbours.")
    answer = await scored(GeneratedAnswer("Nothing.", finish="refused", confidence=0.1), passage)
    assert answer.sufficiency == Sufficiency(False, 0.6383, False, ("lighthouse",))
