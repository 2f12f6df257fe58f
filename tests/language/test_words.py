"""Words, tokens and answer types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.tokens import count
from ragstone.language.words import content_words, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Whales", "whale"),
        ("batteries", "battery"),
        ("founded", "found"),
        ("running", "runs"),
        ("Straße", "STRASSE"),
        ("Cafe\u0301", "Café"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_given_two_forms_of_a_word_then_they_are_the_same(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(("one", "other"), [("1998", "1999"), ("glass", "glas"), ("E14", "E15")])
def test_given_different_words_then_they_stay_different(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_given_text_without_spaces_then_pairs_of_characters() -> None:
    assert words("北京大学 Peking") == ["北京", "京大", "大学", "pek"]


def test_given_signs_that_are_no_letters_then_words_stay_whole() -> None:
    assert words("हिन्दी भाषा।") == ["हिन्दी", "भाषा"]
    assert words("বাংলা") == ["বাংলা"]


def test_given_korean_then_particles_do_not_hide_a_word() -> None:
    assert set(words("대한민국의")) > set(words("대한민국"))


def test_given_a_question_then_its_content_words_are_left() -> None:
    assert content_words("When was the company founded?") == ["company", "found"]
    assert content_words("who is who") == ["who", "is", "who"]


@given(st.text(max_size=50))
def test_any_text_has_words_and_a_count(text: str) -> None:
    assert all(words(text))
    assert 0 <= count(text) <= 3 * len(text)


@given(st.text(max_size=30))
def test_more_text_never_has_fewer_tokens(text: str) -> None:
    assert count(f"{text} {text}") >= count(text)
