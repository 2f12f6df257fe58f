"""Questions that ask the same, and those that only look so."""

from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.cache.same_question import PRECISION, RECALL, compare, least

FILE = Path(__file__).parent / "data" / "question_pairs.tsv"

GREEDY = st.text(max_size=200) | st.text(
    alphabet=st.characters(codec=None, categories=["Cs", "Lo", "Po", "Nd", "Lu"]), max_size=40
)


class Pair(NamedTuple):
    same: bool
    language: str
    kind: str
    first: str
    second: str


def pairs(same: bool) -> list[Pair]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    every = [Pair(row[0] == "yes", row[1], row[2], row[3], row[4]) for row in rows]
    return [pair for pair in every if pair.same is same]


def name(pair: Pair) -> str:
    return f"{pair.language}-{pair.kind}-{pair.first}"


def test_the_list_is_long_and_in_many_languages() -> None:
    assert len(pairs(False)) >= 300
    assert len({pair.language for pair in pairs(False)}) >= 10


@pytest.mark.parametrize("pair", pairs(False), ids=name)
def test_given_a_question_with_one_thing_changed_then_it_is_another(pair: Pair) -> None:
    for likeness, mode in product((RECALL, PRECISION, 1.0), ("precision", "recall", "adaptive")):
        assert not compare(pair.first, pair.second, likeness, mode).same  # type: ignore[arg-type]
        assert not compare(pair.second, pair.first, likeness, mode).same  # type: ignore[arg-type]


@pytest.mark.parametrize("pair", pairs(True), ids=name)
def test_given_the_same_question_in_other_words_then_it_is_the_same(pair: Pair) -> None:
    assert compare(pair.first, pair.second).same
    assert compare(pair.second, pair.first).same


@pytest.mark.conforms(
    "Query pipeline", "Step 2", "Two thresholds: .95 for precision, then .85 for recall"
)
def test_given_a_likeness_below_the_mode_then_nothing_is_the_same() -> None:
    question = "How do I reset my password?"
    assert not compare(question, question, PRECISION - 0.01, "precision").same
    assert not compare(question, question, RECALL - 0.01, "adaptive").same
    assert compare(question, question, RECALL, "adaptive").same
    assert least("precision") == PRECISION
    assert least("recall") == least("adaptive") == RECALL


def test_what_differs_is_named() -> None:
    assert "kind" in compare("When did it open?", "Where did it open?").reason
    assert compare("Who may vote?", "Who may not vote?").reason == "negation"


@given(GREEDY, GREEDY)
def test_any_text_can_be_compared_and_the_order_does_not_matter(first: str, second: str) -> None:
    assert compare(first, second).same == compare(second, first).same


@given(GREEDY)
def test_every_question_is_the_same_as_itself(text: str) -> None:
    assert compare(text, text).same


@given(st.sampled_from(pairs(True)), st.integers(2, 99), st.integers(2, 99))
def test_given_another_number_then_it_is_another_question(pair: Pair, one: int, other: int) -> None:
    first, second = f"{pair.first} ({one})", f"{pair.second} ({other})"
    assert one == other or not compare(first, second).same
