"""How much of a question's words the units hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.extractive.unit_words import NAMES, features, leans, read
from ragstone.answer.extractive.units import units


def measured(question: str, text: str, heading: str = "") -> dict[str, list[float]]:
    [rows] = features(question, [[read(text, unit) for unit in units(text)]], [heading])
    return {name: rows[:, column].tolist() for column, name in enumerate(NAMES)}


def test_a_unit_with_the_words_holds_them_and_the_one_after_it_may_lean_on_them() -> None:
    found = measured("Who built the mill?", "Monks built the mill. It is old. Cats sleep.")
    assert found["words"] == [1, 0, 0]
    assert found["words_before"] == [0, 1, 0]
    assert found["words_carried"] == [0, 1, 0]


def test_what_the_heading_says_is_added_apart() -> None:
    found = measured("Who built the mill?", "Built by monks.", heading="The mill")
    assert found["words"][0] + found["words_heading"][0] == pytest.approx(1)


def test_a_row_is_read_with_its_header() -> None:
    assert measured("How many days has Bob?", "Name | Days\nBob | 30")["words"] == [1.0]


@pytest.mark.parametrize(
    "text",
    ["It is old.", "Er kam.", "Elle part.", "Este es.", "他来了。", "それは", "그는 왔다.", "Это"],
)
def test_an_anaphor_leans_on_what_was_said_before(text: str) -> None:
    assert leans(text)


@pytest.mark.parametrize("text", ["Items are old.", "Erich kam.", "The mill is old.", ""])
def test_a_name_or_a_noun_leans_on_nothing(text: str) -> None:
    assert not leans(text)


@given(st.text(max_size=50), st.text(max_size=200), st.text(max_size=20))
def test_any_text_gives_finite_features(question: str, text: str, heading: str) -> None:
    [rows] = features(question, [[read(text, unit) for unit in units(text)]], [heading])
    assert np.isfinite(rows).all()
