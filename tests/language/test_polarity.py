"""Negations and opposites."""

import pytest

from ragstone.language.polarity import negation_moved, negations, opposed


@pytest.mark.parametrize(
    "text",
    [
        "It is not open.",
        "It isn’t open.",
        "They never came.",
        "Es ist nicht offen.",
        "Ce n'est pas ouvert.",
        "Nunca vino.",
        "它不开放。",
        "開いていません。",
        "열리지 않습니다.",
    ],
)
def test_given_a_negation_then_it_is_found(text: str) -> None:
    assert negations(text) == 1


def test_given_none_then_none_is_found() -> None:
    assert negations("The note in the knot is open. 未来很好。") == 0


def test_given_a_negation_before_another_word_then_it_has_moved() -> None:
    source = "You may copy the work but not sell it."
    assert negation_moved("You may not copy the work but sell it.", source)
    assert negation_moved("You can't copy it but sell it.", source)
    assert not negation_moved("You may copy the work but never sell it.", source)
    assert not negation_moved("It is not very good.", "It is not good.")


def test_given_an_opposite_in_place_then_they_are_opposed() -> None:
    assert opposed({"sales", "fell"}, {"sales", "rose"})
    assert not opposed({"sales", "fell"}, {"sales", "fell", "rose"})
    assert not opposed({"sales"}, {"rose"})
