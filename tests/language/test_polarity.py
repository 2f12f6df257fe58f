"""Negations."""

import pytest

from ragstone.language.polarity import negations


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
