"""Ranges of numbers in cells of tables."""

import math

import pytest

from ragstone.language.quantities import quantities
from ragstone.language.ranges import NumberRange, range_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10 to 19", NumberRange(10, 19)),
        ("0-2", NumberRange(0, 2)),
        ("5–10 kg", NumberRange(5, 10, "kg")),
        ("5 kg – 10 kg", NumberRange(5, 10, "kg")),
        ("1,000 – 4,999", NumberRange(1000, 4999)),
        ("1.5-2.0", NumberRange(1.5, 2)),
        ("3 bis 9 Jahre", NumberRange(3, 9, "year")),
        ("5至10年", NumberRange(5, 10)),
        ("20 and more", NumberRange(20, math.inf)),
        ("$50,000+", NumberRange(50_000, math.inf, "$")),
        ("≥ 65", NumberRange(65, math.inf)),
        ("ab 10", NumberRange(10, math.inf)),
        ("10以上", NumberRange(10, math.inf)),
        ("up to 5 kg", NumberRange(-math.inf, 5, "kg")),
        ("< 3", NumberRange(-math.inf, 3)),
        ("bis zu 3 Tage", NumberRange(-math.inf, 3, "day")),
    ],
)
def test_a_range_is_read(text: str, found: NumberRange) -> None:
    assert range_of(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "20", "more", "10%", "5 of 10", "3 x 4", "19 to 10", "2024-05-03", "Level 3"),
        *("3 May to 9", "from 5 to 10 to 12", "up to 5 or more", "from 1 to 2 " + "and so on " * 5),
    ],
)
def test_other_texts_are_none(text: str) -> None:
    assert range_of(text) is None


@pytest.mark.parametrize(
    ("range_", "stated", "within"),
    [
        ("10 to 19", "12 years", True),
        ("10 to 19", "10", True),
        ("10 to 19", "20", False),
        ("2 to 5 kg", "3,500 grams", True),
        ("1 to 2 weeks", "10 days", True),
        ("1 to 2 weeks", "10 kg", None),
    ],
)
def test_a_quantity_lies_within_or_not(range_: str, stated: str, within: bool | None) -> None:
    found = range_of(range_)
    assert found
    assert found.holds(quantities(stated)[0]) is within
