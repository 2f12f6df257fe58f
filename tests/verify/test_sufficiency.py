"""What of a question the passages speak of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.verify.score import coverage

TEXTS = ["The lighthouse of Ost was built in 1871.", "Ada Okafor designed it."]


@pytest.mark.parametrize(
    ("question", "share", "missing"),
    [
        ("When was the lighthouse built?", 1.0, ()),
        ("When was the lighthouse painted?", 0.5, ("painted",)),
        ("What does the harbour master of Ost earn?", 0.25, ("harbour master", "earn")),
        ("Who?", 1.0, ()),
        ("", 1.0, ()),
    ],
)
def test_given_a_question_then_the_share_that_is_spoken_of_and_what_is_not(
    question: str, share: float, missing: tuple[str, ...]
) -> None:
    assert coverage(question, TEXTS) == (share, missing)


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3))
def test_given_any_texts_then_a_share(question: str, texts: list[str]) -> None:
    share, missing = coverage(question, texts)
    assert 0 <= share <= 1
    assert all(missing)
    assert coverage(question, [*texts, question])[0] == 1
