"""What is said around questions."""

import pytest

from ragstone.understand.follow_up import plain


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
