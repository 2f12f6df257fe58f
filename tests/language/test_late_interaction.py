"""Late interaction: token vectors survive packing, and the passage that says it scores best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.late_interaction import (
    TokenVectors,
    maxsim,
    pack_tokens,
    score_word_order,
    unpack_deviations,
    unpack_tokens,
)

WIDTH = 8
SCALE = np.full(WIDTH, WIDTH**-0.5, np.float32)

FORMER = bytes.fromhex("0200 0500 0700 8f1f08f1 79869786")
"""Two tokens of 8 numbers in 4 bits each, as versions before 2-bit codes kept them."""

FORMER_STEPS = [[0, 7, -7, 7, -8, 0, 7, -7], [-1, 1, 0, -2, 1, -1, 0, -2]]
"""Its numbers in steps of .4 deviations; only damage makes one of -8."""


def tokens(*ids: int, width: int = WIDTH) -> TokenVectors:
    """Every id has its own direction, always the same."""
    rows = [np.random.default_rng(item).normal(size=width) for item in ids]
    array = np.array(rows, np.float32).reshape(-1, width)
    unit = array / np.linalg.norm(array, axis=1, keepdims=True)
    return TokenVectors(np.array(ids, np.uint16), unit)


@given(st.lists(st.integers(0, 2**16 - 1), max_size=30), st.integers(0, 5), st.integers(1, 9))
def test_given_tokens_when_packed_then_their_ids_and_nearly_their_vectors_come_back(
    ids: list[int], first: int, width: int
) -> None:
    """`first` of them have no vectors; `width` is not a multiple of what fits in a byte."""
    with_vectors = list(range(min(first, len(ids)), len(ids)))
    scale = np.full(width, width**-0.5, np.float32)
    before = TokenVectors(
        np.array(ids, np.uint16), tokens(*(ids[i] for i in with_vectors), width=width).vectors
    )
    after = unpack_tokens(pack_tokens(before, scale, with_vectors), scale)
    assert after.ids.tolist() == ids
    assert after.vectors.shape == before.vectors.shape
    assert np.allclose(np.linalg.norm(after.vectors, axis=1), 1, atol=1e-3)
    if len(before.vectors):
        assert (before.vectors * after.vectors).sum(axis=1).mean() > 0.75


def test_given_many_tokens_when_packed_then_their_vectors_are_as_near_as_two_bits_allow() -> None:
    width = 128
    scale = np.full(width, width**-0.5, np.float32)
    before = tokens(*range(200), width=width)
    after = unpack_tokens(pack_tokens(before, scale, range(200)), scale)
    assert (before.vectors * after.vectors).sum(axis=1).min() > 0.9
    length = len(pack_tokens(before, scale, range(200)))
    assert length == 9 + 200 * 2 + 200 // 8 + width + 200 * width // 4


def test_given_a_word_that_comes_again_then_both_have_the_mean_of_their_vectors() -> None:
    said = tokens(1, 2, 3)
    again = TokenVectors(np.array([7, 9, 7], np.uint16), said.vectors)
    bytes_ = pack_tokens(again, SCALE, (0, 1, 2))
    after = unpack_tokens(bytes_, SCALE).vectors
    assert after[0].tolist() == after[2].tolist() != after[1].tolist()
    mean = said.vectors[0] + said.vectors[2]
    assert after[0] @ (mean / np.linalg.norm(mean)) > 0.9
    assert len(bytes_) == len(pack_tokens(said, SCALE, (0, 1, 2))) - WIDTH // 4


def test_given_vectors_of_no_token_then_they_stand_before_those_of_tokens() -> None:
    before = TokenVectors(np.array([5, 5], np.uint16), tokens(1, 2, 3).vectors)
    after = unpack_tokens(pack_tokens(before, SCALE, [1]), SCALE)
    assert after.ids.tolist() == [5, 5]
    assert ((before.vectors * after.vectors).sum(axis=1) > 0.75).all()


def test_given_packed_tokens_then_their_deviations_are_the_same_vectors() -> None:
    bytes_ = pack_tokens(tokens(1, 2, 3), SCALE, (0, 1, 2))
    rows = unpack_deviations(bytes_, WIDTH) * SCALE
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(unit, unpack_tokens(bytes_, SCALE).vectors, atol=1e-6)


def test_given_tokens_of_the_former_kind_then_they_are_read() -> None:
    found = unpack_tokens(FORMER, SCALE)
    assert found.ids.tolist() == [5, 7]
    assert np.allclose(found.vectors, np.array(FORMER_STEPS) * 0.4 * SCALE)
    assert np.allclose(unpack_deviations(FORMER, WIDTH), np.array(FORMER_STEPS) * 0.4)


def test_given_tokens_of_another_width_then_they_are_refused() -> None:
    bytes_ = pack_tokens(tokens(1, 2, 3), SCALE, (0, 1, 2))
    for width in (WIDTH - 4, WIDTH + 1, 2 * WIDTH):
        with pytest.raises(ValueError, match="packed tokens"):
            unpack_tokens(bytes_, np.ones(width, np.float32))


@given(st.data())
def test_given_damaged_bytes_then_they_are_refused_or_are_vectors(data: st.DataObject) -> None:
    whole = pack_tokens(tokens(1, 2, 3, 2), SCALE, (0, 1, 3))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(whole)))])
    for item in (bytes(damaged), cut):
        try:
            found = unpack_tokens(item, SCALE)
        except ValueError:
            continue
        assert found.vectors.shape[1] == WIDTH
        assert np.isfinite(found.vectors).all()


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
    shares = score_word_order(
        tokens(1, 2, 3), weights, [tokens(1, 2, 3), tokens(3, 2, 1), tokens(2, 3)]
    )
    assert shares.tolist() == pytest.approx([1.0, 0.0, 5 / 7])
    assert score_word_order(tokens(1), weights[:1], [tokens(1)]).tolist() == [0]
