"""Lists out of what a chat model said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.json_answer import parse_lines, parse_list


@pytest.mark.parametrize(
    "said",
    [
        '{"queries": ["Who is Kim?"]}',
        'Sure! Here you go:\n```json\n{"queries": ["Who is Kim?"]}\n```\nAnything else?',
        '{"thought": "[x] {", "queries": "Who is Kim?"}',
        '["Who is Kim?"]',
        'I think {this} is it: {"queries": [" Who is  Kim? ", "Who is Kim?", 3, null, ""]}',
    ],
)
def test_given_json_in_any_wrapping_then_its_list_is_found(said: str) -> None:
    assert parse_list(said, "queries") == ["Who is Kim?"]


@pytest.mark.parametrize("said", ["", "I cannot.", '{"queries": []}', '{"queries"', "{" * 5000])
def test_given_no_list_then_nothing_is_found(said: str) -> None:
    assert parse_list(said, "queries") == []


def test_given_lines_then_numbers_bullets_quotes_and_introductions_go() -> None:
    said = 'Here are two queries:\n\n1. "First one"\n- second\n(3) third\n```\nsecond\n'
    assert parse_lines(said) == ["First one", "second", "third"]


@given(st.text(max_size=500))
def test_given_anything_then_only_texts_come_back(said: str) -> None:
    assert all(parse_list(said, "queries") + parse_lines(said))
