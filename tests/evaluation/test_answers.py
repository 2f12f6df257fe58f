"""The measures of answers."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.evaluation.answers import AnswerRecord, auroc, measure, normalise_answer

RIGHT = AnswerRecord(("1871",), ("It was built in 1871.",), False, 0.9, True)
SECOND = AnswerRecord(("1871",), ("It is old.", "Built in 1871."), False, 0.8, True)
SILENT = AnswerRecord(("1871",), (), True, 0.3, True)
STRANGE = AnswerRecord((), (), True, 0.1, False)


def test_given_records_then_their_measures() -> None:
    measured = measure([RIGHT, SECOND, SILENT, STRANGE])
    assert measured["contains_1"] == pytest.approx(1 / 3)
    assert measured["contains_2"] == pytest.approx(2 / 3)
    assert measured["refused_answerable"] == pytest.approx(1 / 3)
    assert measured["refused_unanswerable"] == 1.0
    assert measured["refusal_auroc"] == 1.0


@pytest.mark.parametrize("answerable", [True, False])
def test_given_one_kind_of_question_then_what_needs_both_is_none(answerable: bool) -> None:
    measured = measure([replace(RIGHT, answerable=answerable)])
    assert measured["refusal_auroc"] is None
    assert (measured["contains_1"] is None) is not answerable
    assert (measured["refused_unanswerable"] is None) is answerable


def test_given_nothing_then_nothing_is_measured() -> None:
    assert {value for name, value in measure([]).items() if name != "queries"} == {None}


@pytest.mark.parametrize(
    ("accepted", "sentence", "expected"),
    [
        ("The Eiffel Tower", "Eiffel tower!", 1.0),
        ("art", "It was a party.", 0.0),
        ("北京", "首都是北京。", 1.0),
        ("1871", "In 18710 words.", 0.0),
        ("...", "Anything.", 0.0),
    ],
)
def test_given_a_sentence_then_it_contains_an_answer_by_whole_words(
    accepted: str, sentence: str, expected: float
) -> None:
    record = AnswerRecord((accepted,), (sentence,), False, 0.5, True)
    assert measure([record])["contains_1"] == expected


def test_given_the_best_of_many_accepted_answers_then_f1_is_its() -> None:
    record = AnswerRecord(("wrong", "in 1871"), ("in 1871",), False, 0.5, True)
    assert measure([record])["f1"] == 1.0


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert normalise_answer(normalise_answer(text)) == normalise_answer(text)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), max_size=9))
def test_auroc_is_the_share_of_pairs_in_order(above: list[int], below: list[int]) -> None:
    pairs: list[Any] = [(a > b) + (a == b) / 2 for a in above for b in below]
    expected = sum(pairs) / len(pairs) if pairs else None
    assert auroc(above, below) == (pytest.approx(expected) if pairs else None)
