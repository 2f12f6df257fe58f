"""How a window is shared out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.language.tokens import Budget, Tier, share_budget

TIERS: tuple[Tier, ...] = ("tiny", "small", "medium", "large")


def test_given_8000_tokens_then_the_shares_of_the_query_pipeline_document() -> None:
    assert share_budget(8000, "small") == Budget(800, 1200, 4800, 1200, 6)


@pytest.mark.parametrize(("tier", "turns"), list(zip(TIERS, (3, 6, 10, 15), strict=True)))
def test_given_a_larger_model_then_more_turns_are_kept(tier: Tier, turns: int) -> None:
    assert share_budget(8000, tier).turns == turns


def test_given_a_long_answer_then_passages_give_way_and_a_short_one_leaves_them_their_share() -> (
    None
):
    assert share_budget(8000, "small", answer=3000).passages == 3000
    assert share_budget(8000, "small", answer=100).passages == 4800


@given(st.integers(512, 2_000_000), st.sampled_from(TIERS), st.none() | st.integers(1, 10**9))
def test_given_any_window_then_its_parts_fit_in_it(
    window: int, tier: Tier, answer: int | None
) -> None:
    parts = share_budget(window, tier, answer)
    assert parts.system + parts.history + parts.passages + parts.answer <= window
    assert min(parts.system, parts.history, parts.passages, parts.answer) > 0
