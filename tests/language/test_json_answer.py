"""JSON in the chatter of a chat model."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.json_answer import json_answer


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": [1, 2,],}\n```', {"a": [1, 2]}),
        ('Sure! Here {it} is: {"a": 1} Hope it helps.', {"a": 1}),
        ('["x"]', ["x"]),
        ('{"a": 1', None),
        ("no JSON here", None),
        ("", None),
        ("[" * 5000, None),
    ],
)
def test_given_a_reply_then_its_json(said: str, meant: object) -> None:
    assert json_answer(said) == meant


CHATTER = st.text(alphabet=st.characters(exclude_characters="{["))


@given(CHATTER, st.dictionaries(st.text(), st.integers()))
def test_given_chatter_before_it_then_an_object_comes_back(chatter: str, value: object) -> None:
    assert json_answer(chatter + json.dumps(value) + " done") == value


@given(st.text())
def test_no_reply_breaks_it(said: str) -> None:
    assert json_answer(said) is None or isinstance(json_answer(said), dict | list)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ('{"fee": 12, "sources": [2],}', {"fee": 12, "sources": [2]}),
        ('{"a": {"b": 1}, }', {"a": {"b": 1}}),
        ('[{"a": 1},]', [{"a": 1}]),
        ('{"a": "x,]"}', {"a": "x,]"}),
    ],
)
def test_a_comma_at_the_end_of_a_value_does_not_hide_it_behind_its_parts(
    said: str, value: Any
) -> None:
    assert json_answer(said) == value
