"""Counting tokens without a tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.models.token_counter import token_counter
from ragstone.text.tokenizer_family import tokenizer_family
from ragstone.text.tokens import count, cut

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
    piece = cut(text, budget)
    assert text.startswith(piece)
    assert bool(piece) == bool(text)
    assert count(piece) <= budget or len(piece) == 1


@given(st.text(alphabet="ab 文1.\nа", max_size=120))
def test_text_that_fits_is_not_cut(text: str) -> None:
    assert cut(text, max(1, count(text))) == text


def test_given_words_then_a_cut_ends_between_them() -> None:
    assert cut("alpha beta gamma delta", 2) == "alpha beta"


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai:gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("llama3.2:latest", "llama3"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("qwen2.5:7b", "qwen3"),
        ("deepseek-r1-distill-qwen-7b", "qwen3"),
        ("deepseek-chat", "deepseek_v3"),
        ("mistral:latest", "mistral_v3"),
        ("gemma2:9b", "gemma3"),
        ("anthropic:claude-3-opus", ""),
        ("", ""),
    ],
)
def test_given_a_models_name_then_the_tokenizer_that_it_has(model: str, family: str) -> None:
    assert tokenizer_family(model) == family


def test_given_another_family_then_another_count() -> None:
    assert count("нет никаких документов", "o200k_base") < count("нет никаких документов")


def test_given_a_known_tokenizer_then_the_count_is_exact() -> None:
    assert token_counter("gpt-4")("The lighthouse was built in 1871 and is 34 metres high.") == 16


def test_given_an_unknown_model_then_the_cautious_estimate() -> None:
    assert token_counter("somebody/unknown")("Hello there") == count("Hello there")


@given(st.text())
def test_given_any_text_then_a_count(text: str) -> None:
    assert (count(text) > 0) == bool(text.strip())
