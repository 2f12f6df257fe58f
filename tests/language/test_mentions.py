"""The names in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.mentions import names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who is Frank Zappa?", ["Frank Zappa"]),
        ("Did Zappa and the Mothers of Invention tour?", ["Zappa", "Mothers of Invention"]),
        ("Zappa was born in Baltimore.", ["Zappa", "Baltimore"]),
        ("Alternative means of payment", []),
        ("What's the price of IBM Cloud Satellite?", ["IBM Cloud Satellite"]),
        ("Кто такой Лев Толстой?", ["Лев Толстой"]),
        ("who is frank zappa?", []),
    ],
)
def test_given_a_text_then_its_names_are_the_capitalised_spans(text: str, found: list[str]) -> None:
    assert [name.text for name in names(text)] == found


@given(st.text(max_size=400))
def test_given_any_text_then_mentions_stand_in_it_in_order(text: str) -> None:
    found = names(text)
    assert [item.start for item in found] == sorted(item.start for item in found)
    assert all(text[item.start :].startswith(item.text) for item in found)
