"""What is said around questions."""

import pytest

from ragstone.understand.politeness import plain, social


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("So, what is a co-signer?", "what is a co-signer?"),
        ("Thank you. But how do I apply, please?", "how do I apply?"),
        ("I meant the lunar eclipse", "the lunar eclipse"),
        ("Right to repair laws", "Right to repair laws"),
        ("ok", "ok"),
    ],
)
def test_given_fillers_then_the_question_is_left(said: str, question: str) -> None:
    assert plain(said) == question


@pytest.mark.parametrize(
    "said", ["Hi there!", "thanks a lot", "감사합니다", "Vielen Dank!", "再见"]
)
def test_given_only_politeness_then_it_is_told(said: str) -> None:
    assert social(said)


@pytest.mark.parametrize("said", ["", "Hi, what is RAG?", "?", "thanks to whom?"])
def test_given_more_than_politeness_then_it_is_no_mere_greeting(said: str) -> None:
    assert not social(said)
