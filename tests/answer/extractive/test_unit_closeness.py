"""How near units are to a question, token by token."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ragstone.answer.extractive.unit_closeness import NAMES, OwnedVectors, closeness
from ragstone.language.late_interaction import TokenVectors

EYE = np.eye(4, dtype=np.float32)
QUESTION = TokenVectors(np.array([1, 2, 3], np.uint16), EYE[[0, 1, 2]])
WEIGHTS = np.array([2, 1, 0], np.float32)


def column(rows: "np.typing.NDArray[np.float32]", name: str) -> list[float]:
    return [round(float(value), 3) for value in rows[:, NAMES.index(name)]]


def test_each_unit_has_the_best_match_of_its_own_tokens() -> None:
    [rows] = closeness(QUESTION, WEIGHTS, [OwnedVectors(EYE[[0, 1, 3]], np.array([0, 1, 1]), 2)])
    assert column(rows, "match") == [0.667, 0.333]
    assert column(rows, "with_previous") == [0, 0.667]
    assert column(rows, "passage_match") == [1, 1]
    assert column(rows, "best_of_passage") == [0.667, 0.667]


def test_the_heading_adds_what_the_unit_lacks() -> None:
    [rows] = closeness(QUESTION, WEIGHTS, [OwnedVectors(EYE[[0, 1]], np.array([-1, 0]), 1)])
    assert column(rows, "match") == [0.333]
    assert column(rows, "with_heading") == [0.667]


def test_frequent_tokens_of_the_question_are_matched_apart() -> None:
    [rows] = closeness(QUESTION, WEIGHTS, [OwnedVectors(EYE[[2]], np.array([0]), 1)])
    assert column(rows, "match") == [0]
    assert column(rows, "frame_match") == [1]


def test_passages_do_not_mix_and_units_without_tokens_match_nothing() -> None:
    first, second, third = closeness(
        QUESTION,
        WEIGHTS,
        [
            OwnedVectors(EYE[[0]], np.array([1]), 3),
            OwnedVectors(EYE[:0], np.array([], np.int64), 1),
            OwnedVectors(EYE[[1]], np.array([0]), 1),
        ],
    )
    assert column(first, "match") == [0, 0.667, 0]
    assert column(second, "match") == [0]
    assert column(third, "match") == [0.333]


@given(
    arrays(np.float32, (3, 4), elements=st.floats(-1, 1, width=32)),
    st.lists(st.integers(-1, 3), max_size=8),
)
def test_any_vectors_give_finite_features(
    asked: "np.typing.NDArray[np.float32]", owners: list[int]
) -> None:
    owned = OwnedVectors(EYE[[0] * len(owners)], np.array(sorted(owners), np.int64), 4)
    [rows] = closeness(TokenVectors(QUESTION.ids, asked), WEIGHTS * 0, [owned])
    assert rows.shape == (4, len(NAMES))
    assert np.isfinite(rows).all()
