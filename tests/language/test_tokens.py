"""Counting tokens without a tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.tokens import count, cut_to_budget, token_counter

SAMPLES = {
    # Counted with cl100k_base.
    "The lighthouse was built in 1871 and is 34 metres high.": 16,
    "How long does a full battery charge last without sun?": 11,
    "他住在北京大学": 7,
    "日本語の文章です": 7,
}


@pytest.mark.parametrize(("text", "tokens"), SAMPLES.items())
def test_given_a_sentence_then_the_count_is_near_the_tokenizers(text: str, tokens: int) -> None:
    assert count(text) == pytest.approx(tokens, abs=4)


def test_given_no_text_then_no_tokens() -> None:
    assert count("") == count(" \n\t") == 0


@given(st.text(alphabet="ab 文1.\nа", max_size=120), st.integers(1, 40))
def test_a_cut_is_a_beginning_within_the_budget(text: str, budget: int) -> None:
    piece = cut_to_budget(text, budget)
    assert text.startswith(piece)
    assert bool(piece) == bool(text)
    assert count(piece) <= budget or len(piece) == 1


@given(st.text(alphabet="ab 文1.\nа", max_size=120))
def test_text_that_fits_is_not_cut(text: str) -> None:
    assert cut_to_budget(text, max(1, count(text))) == text


def test_given_words_then_a_cut_ends_between_them() -> None:
    assert cut_to_budget("alpha beta gamma delta", 2) == "alpha beta"


def test_given_another_family_then_another_count() -> None:
    assert count("нет никаких документов", "o200k_base") < count("нет никаких документов")


def test_given_a_known_tokenizer_then_the_count_is_exact() -> None:
    assert (
        token_counter("cl100k_base")("The lighthouse was built in 1871 and is 34 metres high.")
        == 16
    )


def test_given_an_unknown_model_then_the_cautious_estimate() -> None:
    assert token_counter(None)("Hello there") == count("Hello there")


@given(st.text())
def test_given_any_text_then_a_count(text: str) -> None:
    assert (count(text) > 0) == bool(text.strip())
