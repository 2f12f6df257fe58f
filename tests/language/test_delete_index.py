"""Whatever is within two edits of a word is among its candidates, and misspellings are cheap."""

from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.language.dictionary import DeleteIndex, english, word_matrix
from ragstone.understand.misspelling import costs, one_edit
from ragstone.understand.question_words import differ_by_inflection, form

WORD = st.text(ascii_lowercase, min_size=1, max_size=12)


@settings(max_examples=100)
@given(st.lists(WORD, min_size=1, max_size=20, unique=True), st.data())
def test_given_a_word_two_edits_from_a_listed_one_then_that_is_a_candidate(
    words: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    typed = words[place]
    for _ in range(2):
        typed = data.draw(st.sampled_from(sorted(one_edit(typed))))
    assert place in DeleteIndex(word_matrix(words)).near(typed)


@settings(max_examples=100)
@given(WORD, WORD)
def test_given_two_words_then_the_cost_is_0_for_the_same_one_only(one: str, other: str) -> None:
    [same, different] = costs(one, word_matrix([one, other]))
    assert same == pytest.approx(0, abs=1e-6)
    assert (different > 0) == (one != other)


def test_given_frequent_slips_then_they_cost_less_than_others() -> None:
    cheap = [("acommodation", "accommodation"), ("teh", "the"), ("goverment", "government")]
    dear = [("xccommodation", "accommodation"), ("tqe", "the"), ("governzment", "government")]
    for (slip, word), (other, _) in zip(cheap, dear, strict=True):
        assert costs(slip, word_matrix([word]))[0] < costs(other, word_matrix([word]))[0]


def test_given_the_dictionary_then_frequency_rarity_and_letters_are_known() -> None:
    known = english()
    assert known.log_frequency("the") > known.log_frequency("accommodation") > 5
    assert known.log_frequency("goverment") == 0
    assert known.is_rare("thalassemia")
    assert not known.is_rare("the")
    assert known.count_unlikely("government") == 0
    assert known.count_unlikely("brimwedxq") > 2
    words, letters, frequency = known.candidates("goverment")
    assert "government" in words
    assert len(words) == len(letters) == len(frequency)
    assert np.all(frequency > 0)


def test_given_words_made_of_others_then_their_form_is_told() -> None:
    known = {"erythrocyte", "lace", "maker", "town"}.__contains__
    assert form("microerythrocyte", known) == "prefixed"
    assert form("lacemaker", known) == "compound"
    assert form("goverment", known) == ""
    assert differ_by_inflection("cytokine", "cytokines")
    assert differ_by_inflection("vasodilating", "vasodilation")
    assert not differ_by_inflection("cytokine", "cytosine")
    assert not differ_by_inflection("relevent", "relevant")
