"""Is an answer the expected one? And what of a run is measured of that."""

import pytest

from ragstone.core.answer import GeneratedAnswer
from ragstone.plugins.evaluation.contract import (
    AskSetting,
    FoundPassage,
    Outcome,
    Reason,
    SetQuestion,
)
from ragstone.plugins.evaluation.sets.judging import find_rank, judge_answer
from ragstone.plugins.evaluation.sets.measuring import changes, figures

TOWER = FoundPassage("d1", "The tower", "/notes/Tower.md", 3, 0, 10, 0.9, True)
SAID = GeneratedAnswer("The tower is **41 metres** high [1].")
REFUSED = GeneratedAnswer("The documents do not say.", finish="refused")


@pytest.mark.parametrize(
    ("question", "answer", "right", "reason"),
    [
        (SetQuestion("H?", ("41 metres",)), SAID, True, ""),
        (SetQuestion("H?", ("forty-one metres", "41 Metres.")), SAID, True, ""),
        (SetQuestion("H?", ("1 metres",)), SAID, False, "other_answer"),
        (SetQuestion("H?", ("41 metres",)), REFUSED, False, "refused"),
        (SetQuestion("H?", answerable=False), REFUSED, True, ""),
        (SetQuestion("H?", answerable=False), SAID, False, "answered"),
        (SetQuestion("H?", sources=("tower.md",)), SAID, True, ""),
        (SetQuestion("H?", sources=("tower.md#page=3",)), SAID, True, ""),
        (SetQuestion("H?", sources=("tower.md#page=4",)), SAID, False, "other_source"),
        (SetQuestion("H?", sources=("ower.md",)), SAID, False, "other_source"),
        (SetQuestion("H?", sources=("The Tower",)), SAID, True, ""),
        (SetQuestion("H?", ("41",), ("moat.md",)), SAID, False, "other_source"),
        (SetQuestion("H?"), SAID, None, ""),
        (SetQuestion("H?"), REFUSED, None, ""),
        (SetQuestion("H?", liked="It is 41 metres high, the tower."), SAID, True, ""),
        (SetQuestion("H?", liked="Nobody knows who built it."), SAID, False, "unlike_the_liked"),
        (
            SetQuestion("H?", disliked="The tower is 41 metres high [2]."),
            SAID,
            False,
            "like_the_disliked",
        ),
        (SetQuestion("H?", disliked="The tower is 42 feet tall."), SAID, None, ""),
        (SetQuestion("H?", disliked="The tower is 41 metres high."), REFUSED, None, ""),
    ],
)
def test_right_and_wrong_and_why(
    question: SetQuestion, answer: GeneratedAnswer, right: bool | None, reason: Reason
) -> None:
    assert judge_answer(question, answer, [TOWER]) == (right, reason)


def test_the_place_of_the_expected_document_counts_documents_not_passages() -> None:
    other = FoundPassage("d2", "Moat", "/notes/moat.md", None, 0, 1, 1.0)
    question = SetQuestion("H?", sources=("tower.md",))
    assert find_rank(question, [other, other, TOWER]) == 2
    assert find_rank(question, [other]) is None


def outcome(number: int, right: bool | None, **more: object) -> Outcome:
    question = more.pop("question", SetQuestion(f"Question {number}?", ("a",)))
    return Outcome(number, 0, question, "an a", "stop", right, **more)  # type: ignore[arg-type]


SETTINGS = (AskSetting("plain"),)


def test_the_measures_are_shares_of_what_could_be_judged() -> None:
    given = [
        outcome(0, True, confidence=0.95, seconds=1.0, tokens=10, cost=0.5),
        outcome(1, False, reason="other_answer", confidence=0.9, seconds=3.0),
        outcome(2, None, question=SetQuestion("Free?"), confidence=0.3),
        outcome(3, False, reason="answered", question=SetQuestion("No?", answerable=False)),
        outcome(4, False, reason="refused", question=SetQuestion("D?", sources=("x",)), found_at=2),
    ]
    [found] = figures(SETTINGS, given)
    measures = found.measures
    assert measures["questions"] == 5
    assert measures["judged"] == 4
    assert measures["right"] == 0.25
    assert measures["refused_answerable"] == pytest.approx(1 / 3)
    assert measures["answered_unanswerable"] == 1
    assert measures["source_found"] == 1
    assert measures["source_cited"] == 0
    assert measures["mrr"] == 0.5
    assert measures["wrong_but_sure"] == 0.25
    assert measures["cost"] == 0.5
    assert measures["tokens"] == 2
    # Two answers about as sure as .925, of which one is right.
    assert [(step.low, step.answers, step.right) for step in found.steps] == [(0.9, 2, 0.5)]
    assert measures["calibration_error"] == pytest.approx(0.425)


def test_without_any_outcome_nothing_is_measured() -> None:
    [found] = figures(SETTINGS, [])
    assert found.measures["questions"] == 0
    assert found.measures["right"] is None
    assert found.steps == ()


def test_what_changed_is_compared_by_question_and_name_of_the_setting() -> None:
    before = [outcome(0, True), outcome(1, False), outcome(2, True)]
    after = [outcome(5, False, question=before[0].question), outcome(1, False), outcome(3, True)]
    found = changes(before, after, SETTINGS, SETTINGS)
    assert [(item.question, item.before, item.after, item.number) for item in found] == [
        ("Question 0?", True, False, 5)
    ]
    assert changes(before, after, SETTINGS, (AskSetting("other"),)) == []
