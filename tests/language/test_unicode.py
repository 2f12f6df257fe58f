"""Text that every store can hold."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.unicode import whole, whole_values


@given(st.text(st.characters()))
def test_given_any_text_then_it_can_be_encoded_and_keeps_its_length(text: str) -> None:
    made = whole(text)
    made.encode()
    assert len(made) == len(text)
    assert whole(made) == made


def test_given_text_without_halves_then_it_stays() -> None:
    assert whole("Größe 😀 文") == "Größe 😀 文"


def test_given_metadata_then_keys_and_nested_values_are_whole() -> None:
    assert whole_values({"a\ud800": ["\udfff", 1, {"b": None}]}) == {"a�": ["�", 1, {"b": None}]}
