"""Rows of vectors are cut into runs of neighbours that are alike."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.plugins.graph.summaries.tree import MAX_RUN, MEAN, MIN_RUN, means, runs


def rows(seed: int, n: int) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def spread(vectors: np.ndarray, cut: list[tuple[int, int]]) -> float:
    parts = [vectors[begin:end].astype(np.float64) for begin, end in cut]
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


@given(st.integers(0, 1_000), st.integers(1, 120))
@settings(deadline=None)
def test_runs_follow_each_other_and_are_neither_short_nor_long(seed: int, n: int) -> None:
    cut = runs(rows(seed, n))
    assert [begin for begin, _ in cut] == [0, *(end for _, end in cut[:-1])]
    assert cut[-1][1] == n
    lengths = [end - begin for begin, end in cut]
    assert max(lengths) <= MAX_RUN
    assert n <= MAX_RUN or min(lengths) >= MIN_RUN
    assert cut == runs(rows(seed, n))


@given(st.integers(0, 1_000), st.integers(MAX_RUN + 1, 16))
@settings(deadline=None, max_examples=30)
def test_no_other_cut_into_as_many_runs_is_closer(seed: int, n: int) -> None:
    vectors = rows(seed, n)
    cut = runs(vectors)
    others = []
    for inner in combinations(range(1, n), len(cut) - 1):
        edges = [0, *inner, n]
        one = list(pairwise(edges))
        if all(MIN_RUN <= end - begin <= MAX_RUN for begin, end in one):
            others.append(spread(vectors, one))
    assert spread(vectors, cut) == pytest.approx(min(others))


def test_given_three_subjects_then_the_runs_are_theirs() -> None:
    lengths = (5, 7, MEAN)
    vectors = np.concatenate(
        [np.tile(np.eye(3, dtype=np.float32)[i], (n, 1)) for i, n in enumerate(lengths)]
    )
    cut = runs(vectors)
    assert cut == [(0, 5), (5, 12), (12, 18)]
    assert means(vectors, cut) == pytest.approx(np.eye(3))
