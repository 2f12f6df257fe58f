"""The reference evaluator itself, on cases small enough to see that they are right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import InvalidFilter
from ragstone.core.filters import (
    And,
    AnyOf,
    Filter,
    Not,
    Or,
    Range,
    eq,
    exclude_hidden,
    matches,
    path_filter,
    reader_filter,
    token,
    tokens,
    validate,
)
from ragstone.core.turn import Principal

PAYLOAD = {
    "tenant": "t",
    "allowed": ["user:ann", "group:staff"],
    "path": "/a/b/c.txt",
    "folders": ["/a", "/a/b"],
    "page": 3,
    "kind": "normal",
    "metadata": {"year": 2024, "draft": False, "tags": ["x", "y"], "ratio": 1.0},
}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (And(), True),
        (Or(), False),
        (Not(Or()), True),
        (eq("kind", "normal"), True),
        (eq("kind", "table"), False),
        (AnyOf("kind", ()), False),
        (Not(AnyOf("kind", ())), True),
        (eq("page", 3), True),
        (Range("page", 3, 3), True),
        (Range("page", 4), False),
        (Range("page", None, 2), False),
        (Range("version", 0), False),
        (Not(Range("version", 0)), True),
        (path_filter("/a"), True),
        (path_filter("a/b/"), True),
        (path_filter("/a/b/c.txt"), True),
        (path_filter("/a/b/c"), False),
        (path_filter("/"), True),
        (eq("metadata.year", 2024), True),
        (eq("metadata.year", "2024"), False),
        (eq("metadata.year", 2024.0), True),
        (eq("metadata.draft", False), True),
        (eq("metadata.draft", 0), False),
        (eq("metadata.ratio", 1), True),
        (eq("metadata.ratio", True), False),
        (eq("metadata.tags", "y"), True),
        (eq("metadata.absent", "y"), False),
    ],
)
def test_given_a_payload_then_a_condition_means_what_it_says(
    condition: Filter, expected: bool
) -> None:
    assert matches(condition, PAYLOAD) is expected


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        (Principal("t", "ann"), True),
        (Principal("t", "bob", ("staff",)), True),
        (Principal("t", "bob", ()), False),
        (Principal("t", "staff"), False),
        (Principal("other", "ann"), False),
        (Principal("t", "*"), False),
    ],
)
def test_given_a_principal_then_only_what_its_names_allow_is_readable(
    principal: Principal, expected: bool
) -> None:
    assert matches(reader_filter(principal), PAYLOAD) is expected


scalars = st.one_of(st.text(max_size=3), st.integers(-2, 2), st.booleans(), st.floats(-2, 2))


@given(scalars, scalars)
def test_two_values_have_one_token_exactly_when_they_are_the_same_json_value(
    a: str | float, b: str | float
) -> None:
    same = a == b and (isinstance(a, bool) == isinstance(b, bool))
    assert (token("k", a) == token("k", b)) is same


@given(st.dictionaries(st.text(max_size=3), st.one_of(scalars, st.lists(scalars)), max_size=3))
def test_metadata_gives_a_token_for_every_value(metadata: dict[str, object]) -> None:
    values = [
        (key, item)
        for key, value in metadata.items()
        for item in (value if isinstance(value, list) else [value])
    ]
    assert set(tokens(metadata)) == {token(key, item) for key, item in values}


@given(st.frozensets(st.text(max_size=3), max_size=5), st.text(max_size=3))
def test_what_is_hidden_is_exactly_what_is_named(hidden: frozenset[str], name: str) -> None:
    condition = exclude_hidden(hidden)
    assert matches(condition, {"revision": name}) == (name not in hidden)
    assert exclude_hidden(frozenset(list(hidden))) == condition


@pytest.mark.parametrize("text", ["\ud800", "plain \udfff", "ä\udc00"])
def test_given_half_a_character_then_the_filter_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter, match="half a character"):
        validate(AnyOf("revision", ("plain", text)))
    validate(AnyOf("revision", ("plain", "ä 文 \U0001f433", "")))
