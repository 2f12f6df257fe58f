"""Late interaction: token vectors survive packing, and the passage that says it scores best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.late_interaction import TokenVectors, maxsim, packed, phrases, unpacked

WIDTH = 8
SCALE = np.full(WIDTH, WIDTH**-0.5, np.float32)


def tokens(*ids: int) -> TokenVectors:
    """Every id has its own direction, always the same."""
    rows = [np.random.default_rng(one).normal(size=WIDTH) for one in ids]
    array = np.array(rows, np.float32).reshape(-1, WIDTH)
    unit = array / np.linalg.norm(array, axis=1, keepdims=True)
    return TokenVectors(np.array(ids, np.uint16), unit)


@given(st.lists(st.integers(0, 2**16 - 1), max_size=30))
def test_given_tokens_when_packed_then_they_come_back_to_within_half_a_step(ids: list[int]) -> None:
    before = tokens(*ids)
    after = unpacked(packed(before, SCALE), SCALE)
    assert after.ids.tolist() == ids
    assert after.vectors.shape == before.vectors.shape
    inside = np.abs(before.vectors) <= 7 * 0.4 * SCALE
    assert np.all(np.abs(after.vectors - before.vectors)[inside] <= 0.2 * SCALE.max() + 1e-6)


def test_given_packed_tokens_then_a_number_takes_half_a_byte() -> None:
    assert len(packed(tokens(1, 2, 3), SCALE)) == 2 + 3 * 2 + 3 * WIDTH // 2


def test_given_passages_then_the_one_with_the_questions_tokens_scores_1() -> None:
    question = tokens(1, 2)
    passages = [tokens(3, 4, 5), tokens(9, 2, 7, 1), tokens(1, 8)]
    scores = maxsim(question, np.ones(2, np.float32), passages)
    assert scores[1] == pytest.approx(1.0)
    assert scores[1] > scores[2] > scores[0]


def test_given_weights_then_the_rare_token_decides() -> None:
    scores = maxsim(tokens(1, 2), np.array([5, 1], np.float32), [tokens(1, 3), tokens(2, 3)])
    assert scores[0] > scores[1]


def test_given_empty_passages_or_weights_then_nothing_is_alike() -> None:
    ones = np.ones(1, np.float32)
    assert maxsim(tokens(1), ones, []).tolist() == []
    assert maxsim(tokens(1), ones, [tokens(), tokens(1), tokens()]).tolist() == pytest.approx(
        [0, 1, 0]
    )
    assert maxsim(tokens(1), np.zeros(1, np.float32), [tokens(1)]).tolist() == [0]


def test_given_neighbouring_tokens_then_passages_that_keep_their_order_score_more() -> None:
    weights = np.array([1, 1, 4], np.float32)
    shares = phrases(tokens(1, 2, 3), weights, [tokens(1, 2, 3), tokens(3, 2, 1), tokens(2, 3)])
    assert shares.tolist() == pytest.approx([1.0, 0.0, 5 / 7])
    assert phrases(tokens(1), weights[:1], [tokens(1)]).tolist() == [0]
