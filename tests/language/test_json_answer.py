"""JSON in the chatter of a chat model."""

import json

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
