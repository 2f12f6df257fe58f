"""Metadata as a person writes it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InputError
from ragstone.core.metadata import check_metadata, parse_pairs, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2023", 2023),
        ("-5", -5),
        ("0", 0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("007", "007"),
        ("2024-03-01", "2024-03-01"),
        ("1e999", "1e999"),
        ("nan", "nan"),
        ("1_000", "1_000"),
        ("9" * 30, "9" * 30),
        ("", ""),
    ],
)
def test_given_a_text_then_it_is_the_value_that_it_spells(text: str, value: object) -> None:
    found = parse_value(text)
    assert (found, type(found)) == (value, type(value))


def test_given_a_key_twice_then_it_has_a_list() -> None:
    pairs = ["year=2023", "tag=a", "tag=b", "tag=3", "note=a=b", " k = v "]
    assert parse_pairs(pairs) == {"year": 2023, "tag": ["a", "b", 3], "note": "a=b", "k": "v"}


@pytest.mark.parametrize("pair", ["year", "=2023", " =1"])
def test_given_no_pair_then_it_says_how_it_is_written(pair: str) -> None:
    with pytest.raises(InputError, match="KEY=VALUE"):
        parse_pairs([pair])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
    )
)
def test_given_anything_then_it_is_refused_or_can_be_stored(given_: object) -> None:
    try:
        found = check_metadata(given_)
    except ValueError:
        return
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert check_metadata(found) == found
