"""Pairs of question and answer in a passage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.answer.pre_answer_gate import MAX_ANSWER_CHARS, pairs

HOLD = "Hold the button. Wait. Let go. It blinks."


def read(text: str) -> list[tuple[str, str]]:
    return [(pair.question, text[pair.answer.start : pair.answer.end]) for pair in pairs(text)]


@pytest.mark.parametrize(
    "text",
    [
        f"Q: How do I reset it?\nA: {HOLD}\n\nQ: Is it safe?\nA: Yes, it is.",
        f"### How do I reset it?\n\n{HOLD}\n\n### Is it safe?\n\nYes, it is.",
        f"1. How do I reset it?\n{HOLD}\n2. Is it safe?\nYes, it is.",
        f"question: How do I reset it?; answer: {HOLD}\nquestion: Is it safe?; answer: Yes, it is.",
        f"Frage: How do I reset it?; Antwort: {HOLD}\nFrage: Is it safe?; Antwort: Yes, it is.",
    ],
)
def test_given_a_list_of_questions_then_each_with_its_whole_answer(text: str) -> None:
    assert read(text) == [
        ("How do I reset it?", HOLD),
        ("Is it safe?", "Yes, it is."),
    ]


def test_given_an_answer_that_is_cut_off_or_too_long_then_it_is_none() -> None:
    assert read("How do I reset it?\nHold the button and then") == []
    assert read("How do I reset it?\n" + "Hold the button. " * (MAX_ANSWER_CHARS // 10)) == []


@given(st.text(alphabet="aA?.:#-1 \n問？。", max_size=200))
def test_given_any_text_then_answers_lie_in_it(text: str) -> None:
    for pair in pairs(text):
        assert 0 <= pair.answer.start < pair.answer.end <= len(text)
