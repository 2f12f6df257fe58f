"""Whether the confidence of answers is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.evaluation.answers import AnswerRecord
from ragstone.plugins.evaluation.calibration import format_steps, measure, reliability


def answered(confidence: float, right: bool, answerable: bool = True) -> AnswerRecord:
    said = ("It is 42.",) if right else ("It is not.",)
    return AnswerRecord(("42",), said, False, confidence, answerable)


REFUSED = AnswerRecord(("42",), (), True, 0.1, True)


def test_given_answers_as_often_right_as_is_said_then_there_is_no_error() -> None:
    records = [answered(0.75, True)] * 3 + [answered(0.75, False)]
    assert measure(records)["calibration_error"] == pytest.approx(0)


def test_given_answers_surer_than_they_are_right_then_the_gap_is_the_error() -> None:
    found = measure([answered(0.95, True)] * 5 + [answered(0.95, False)] * 5 + [REFUSED] * 10)
    assert found["calibration_error"] == pytest.approx(0.45)
    assert (found["high"], found["high_right"], found["high_wrong"]) == (1.0, 0.5, 0.25)
    assert (found["queries"], found["answered"]) == (20, 10)


def test_given_an_answer_where_there_is_none_then_it_is_wrong() -> None:
    found = measure([answered(0.9, True, answerable=False)])
    assert (found["right"], found["high_wrong"]) == (0.0, 1.0)


def test_given_nothing_then_nothing_is_measured() -> None:
    assert measure([])["calibration_error"] is None
    assert measure([REFUSED])["high_right"] is None


def test_the_table_has_a_line_for_each_step_with_answers() -> None:
    records = [answered(0.95, True), answered(0.31, False), answered(1.0, True)]
    rows = reliability(records)
    assert [(row.low, row.answers, row.right) for row in rows] == [(0.3, 1, 0.0), (0.9, 2, 1.0)]
    assert len(format_steps(rows)) == 3


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30))
def test_the_steps_hold_every_answer_once(given_: list[tuple[float, bool]]) -> None:
    rows = reliability([answered(*item) for item in given_])
    assert sum(row.answers for row in rows) == len(given_)
    assert all(row.low - 1e-9 <= row.confidence <= row.high + 1e-9 for row in rows)
