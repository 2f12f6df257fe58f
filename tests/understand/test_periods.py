"""Periods that questions write as one code are read in words."""

import pytest

from ragstone.understand.correct import find_periods, spell_out
from ragstone.understand.spelling import Corrected


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("FY2019", "fiscal year 2019"),
        ("fy19", "fiscal year 2019"),
        ("FY'98", "fiscal year 1998"),
        ("Q3'21", "third quarter of 2021"),
        ("Q1-2020", "first quarter of 2020"),
        ("3Q19", "third quarter of 2019"),
        ("2H2023", "second half of 2023"),
    ],
)
def test_a_code_of_a_period_is_spelt_out(written: str, spelt: str) -> None:
    [period] = find_periods(f"What was the revenue in {written}?")
    assert (period.written, period.spelt) == (written, spelt)


@pytest.mark.parametrize("word", ["H264", "FY 2019", "EQ3219", "3H2020", "HQ2019", "Q4", "FY201"])
def test_another_code_is_left_alone(word: str) -> None:
    assert find_periods(f"What is {word}?") == []


def test_a_code_that_begins_like_another_is_spelt_out_by_itself() -> None:
    question = "Compare FY19 with FY1999"

    found = spell_out(Corrected(question), find_periods(question))

    assert found.text == "Compare fiscal year 2019 with fiscal year 1999"
