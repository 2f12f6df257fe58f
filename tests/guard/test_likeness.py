"""Likeness grows with the cosine, and its steps mean the same for every embedder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.guard.likeness import likeness


def one(cosine: float, scale: tuple[float, float]) -> float:
    return float(likeness(np.array([cosine], np.float32), scale)[0])


@pytest.mark.parametrize("scale", [(0.0, 0.8), (0.75, 0.95)])
def test_the_ends_of_the_scale(scale: tuple[float, float]) -> None:
    assert one(1.0, scale) == pytest.approx(1.0)
    assert one(scale[1], scale) == pytest.approx(0.8)
    assert one(scale[0], scale) == 0.0


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_a_higher_cosine_is_never_less_alike(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0 <= one(low, (0.0, 0.8)) <= one(high, (0.0, 0.8)) <= 1
