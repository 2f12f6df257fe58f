"""Which chunks can be among the best: no condition leaves out one that is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.plugins.postgres.impacts import (
    CLAUSES,
    COMMON,
    CONDITIONS,
    LEVELS,
    MAX_ALONE,
    MAX_SCORE,
    MAX_WORDS,
    SHARES,
    STEP,
    Impact,
    Impacts,
)

weight = st.floats(0.01, MAX_SCORE)
rarities = st.dictionaries(st.integers(0, 10**9), st.floats(0.01, 15), min_size=1, max_size=20)


def impacts(chunk: dict[int, float]) -> Impacts:
    """What the index holds of a chunk."""
    return frozenset(
        word * LEVELS + min(LEVELS - 1, int(weight / STEP)) for word, weight in chunk.items()
    )


@given(rarities, st.data())
def test_given_any_chunk_then_it_meets_every_condition_of_its_score(
    weights: dict[int, float], data: st.DataObject
) -> None:
    held = {word: data.draw(st.integers(1, 10**6)) for word in weights}
    chunk = data.draw(st.dictionaries(st.sampled_from(sorted(weights)), weight, min_size=1))
    score = sum(weights[word] * weight for word, weight in chunk.items())
    conditions = Impact(weights, held).conditions(score)
    assert len(conditions) <= CONDITIONS
    for condition in conditions:
        assert condition & impacts(chunk)
        assert not any(condition > other for other in conditions)


def test_given_rare_and_common_words_then_a_good_chunk_holds_a_rare_one() -> None:
    conditions = Impact({1: 9.0, 2: 0.5}, {1: 10, 2: 10**6}).conditions(5.0)
    assert all(impact // LEVELS == 1 for impact in conditions[0])


def test_given_words_alike_then_a_good_chunk_holds_several() -> None:
    weights = dict.fromkeys(range(4), 1.0)
    conditions = Impact(weights, dict.fromkeys(weights, 1000)).conditions(4.5)
    alone = frozenset(1 * LEVELS + level for level in range(LEVELS))
    assert len(conditions) > 1
    assert not all(condition & alone for condition in conditions)


@given(st.dictionaries(st.integers(0, 10**9), st.integers(1, 10**6), min_size=1, max_size=9))
def test_a_chunk_with_two_words_of_the_question_is_never_left_out(held: dict[int, int]) -> None:
    impact = Impact(dict.fromkeys(held, 1.0), held)
    others = impact.others(impact.heaviest(2000))
    assert len(others) <= CLAUSES
    for found in others:
        # It is asked for in the words of the question but one: of two words one is among them.
        assert len(found) == len(held) - 1
        assert set(found) < set(held)
        [left_out] = set(held) - set(found)
        assert held[left_out] > MAX_ALONE


def test_given_a_rare_word_then_a_chunk_with_it_needs_no_other_word() -> None:
    impact = Impact({1: 9.0, 2: 2.0, 3: 1.0}, {1: MAX_ALONE, 2: 10**5, 3: 10**5})
    assert [2, 3] not in [sorted(found) for found in impact.others(impact.heaviest(4000))]


def test_given_one_word_then_no_other_is_asked_for() -> None:
    impact = Impact({1: 2.0}, {1: 10**6})
    assert impact.others(impact.heaviest(4000)) == []


@pytest.mark.parametrize("chunks", [1, 1000, 10**5])
def test_given_a_number_of_chunks_then_the_heaviest_are_about_so_many(chunks: int) -> None:
    held = {1: 10, 2: 10**5, 3: 10**6}
    found = Impact({1: 9.0, 2: 2.0, 3: 0.5}, held).heaviest(chunks)
    estimated = sum(held[impact // LEVELS] * SHARES[impact % LEVELS] for impact in found)
    assert chunks <= estimated <= max(20, 3 * chunks)


def test_given_hardly_any_chunks_with_a_word_then_no_others_are_excluded() -> None:
    assert Impact({1: 9.0}, {1: 10}).heaviest(1000) == frozenset()


def test_the_shares_of_levels_are_all_chunks_with_a_word() -> None:
    assert len(SHARES) == LEVELS
    assert sum(SHARES) == pytest.approx(1)
    assert COMMON < MAX_WORDS
