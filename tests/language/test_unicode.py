"""Text that every store can hold."""

from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.unicode import replace_surrogates, replace_value_surrogates


@given(st.text(st.characters()))
def test_given_any_text_then_it_can_be_encoded_and_keeps_its_length(text: str) -> None:
    made = replace_surrogates(text)
    made.encode()
    assert len(made) == len(text)
    assert replace_surrogates(made) == made


def test_given_text_without_halves_then_it_stays() -> None:
    assert replace_surrogates("Größe 😀 文") == "Größe 😀 文"


def test_given_metadata_then_keys_and_nested_values_are_whole() -> None:
    assert replace_value_surrogates({"a\ud800": ["\udfff", 1, {"b": None}]}) == {
        "a�": ["�", 1, {"b": None}]
    }
