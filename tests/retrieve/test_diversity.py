"""Diversity: repeats go, variety comes first, nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.turn import Hit
from ragstone.retrieve.diversity import best_at_the_edges, distinct, diverse
from tests.engine.samples import a_hit


def at(degrees: float) -> np.ndarray:
    angle = np.radians(degrees)
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


def some(*degrees: float) -> tuple[list[Hit], dict[str, np.ndarray]]:
    """Hits of falling score, each with a vector in this direction."""
    hits = [
        a_hit(f"text {'very ' * i}", score=1 - i / 10, chunk_id=f"c{i}")
        for i, _ in enumerate(degrees)
    ]
    return hits, {f"c{i}": at(d) for i, d in enumerate(degrees)}


def names(hits: list[Hit]) -> list[str]:
    return [hit.chunk.chunk_id for hit in hits]


@pytest.mark.conforms("Query pipeline", "Step 7", "Passages over 95 % alike are removed")
def test_given_near_duplicates_then_the_better_one_stays() -> None:
    hits, vectors = some(0, 5, 90, 91)
    assert names(distinct(hits, vectors, 0.95)) == ["c0", "c2"]


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("The notice period is 30 days.", "The notice period is 14 days."),
        ("Ask Ada Lovelace for leave.", "Ask Grace Hopper for leave."),
        ("Guests may park here.", "Guests may not park here."),
        ("Gültig ab 1. März 2025.", "Gültig ab 1. März 2023."),
        ("Urlaub ist zu beantragen.", "Urlaub ist nicht zu beantragen."),
        ("通知期为三十天。", "通知期为十四天。"),
        ("会員は利用できます。", "会員は利用できません。"),
    ],
)
def test_an_edition_that_says_otherwise_is_no_duplicate(newer: str, older: str) -> None:
    hits = [a_hit(newer, chunk_id="newer"), a_hit(older, chunk_id="older")]
    vectors = {"newer": at(0), "older": at(0)}

    assert names(distinct(hits, vectors, 0.95)) == ["newer", "older"]


def test_given_the_same_text_twice_then_it_is_said_once_even_without_vectors() -> None:
    hits = [a_hit("same", chunk_id="a"), a_hit("same", chunk_id="b"), a_hit("other", chunk_id="c")]
    assert names(distinct(hits, {}, 0.95)) == ["a", "c"]
    assert names(distinct(hits, {}, 1.0)) == ["a", "b", "c"]


def test_given_a_share_for_variety_then_a_different_passage_is_chosen_before_a_like_one() -> None:
    hits, vectors = some(0, 1, 80)
    assert names(diverse(hits, vectors, 0.0, 2)) == ["c0", "c1"]
    assert names(diverse(hits, vectors, 0.5, 2)) == ["c0", "c2"]


@pytest.mark.conforms("Query pipeline", "Step 7", "Sandwich order")
def test_given_a_ranking_then_the_best_stand_at_the_edges() -> None:
    assert best_at_the_edges([1, 2, 3, 4, 5]) == [1, 3, 5, 4, 2]


@given(st.lists(st.floats(0, 360), max_size=8), st.floats(0, 1), st.integers(0, 9))
def test_variety_only_chooses(degrees: list[float], share: float, most: int) -> None:
    hits, vectors = some(*degrees)
    chosen = names(diverse(hits, vectors, share, most))
    assert chosen == [name for name in names(hits) if name in chosen]
    assert len(chosen) == min(most, len(hits))
    assert sorted(best_at_the_edges(degrees)) == sorted(degrees)
