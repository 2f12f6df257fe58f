from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.intent import Intent
from ragstone.understand.intents import NAMES, Hints, intent_hints, parse_intent


@pytest.mark.conforms(
    "Query pipeline", "Step 4", "LIST takes 15 passages, COMPARISON several documents"
)
def test_a_list_takes_more_passages_and_a_comparison_different_ones() -> None:
    assert intent_hints(Intent("list")).top_k == 15
    assert intent_hints(Intent("comparison")).diversity > 0
    assert intent_hints(Intent("comparison")).template == "comparison"
    assert (intent_hints(Intent("summary")).top_k or 0) > 10


def test_an_unknown_intent_is_answered_as_the_level_says() -> None:
    assert intent_hints(None) == intent_hints(Intent("factual")) == Hints()


def test_hints_are_frozen() -> None:
    with pytest.raises(AttributeError):
        intent_hints(None).top_k = 3  # type: ignore[misc]
    assert replace(intent_hints(None), top_k=3).top_k == 3


@pytest.mark.parametrize("name", NAMES)
def test_every_intent_is_read_from_json(name: str) -> None:
    assert parse_intent(f'{{"intent": "{name}"}}') == name


@pytest.mark.parametrize(
    "said",
    [
        '```json\n{"intent": "multi_hop"}\n```',
        'Sure! Here it is: {"intent": "Multi-hop", "why": "two steps"} Anything else?',
        "It is a multi hop question.",
        "{'intent': 'multi_hop'}",
        '{"intent": "multi_hop"',
    ],
)
def test_chatter_and_broken_json_are_read_too(said: str) -> None:
    assert parse_intent(said) == "multi_hop"


@pytest.mark.parametrize(
    "said", ["", "I cannot tell.", '{"intent": "other"}', "list or summary", "[]", '{"intent": 3}']
)
def test_a_reply_that_names_none_or_several_says_nothing(said: str) -> None:
    assert parse_intent(said) is None


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_reply_can_be_read(said: str) -> None:
    assert parse_intent(said) in (None, *NAMES)
