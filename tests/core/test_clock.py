"""The clock that all servers of one state go by."""

import time
from collections.abc import Iterator

import pytest

from ragstone.core import clock
from ragstone.core.clock import compare, state_time


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = clock._ahead
    yield
    clock._ahead = before


@pytest.mark.parametrize("ahead", [7200.0, -7200.0])
def test_given_a_database_whose_clock_is_hours_apart_then_its_time_counts(ahead: float) -> None:
    now = time.time()
    assert compare(now + ahead, now, now) == ahead
    assert state_time() - time.time() == pytest.approx(ahead, abs=0.1)
    assert compare(now + ahead + 0.4, now, now) == 0.0
    assert state_time() - time.time() == pytest.approx(ahead, abs=0.1)


def test_given_clocks_that_are_set_then_this_machine_s_counts_again() -> None:
    now = time.time()
    compare(now + 7200, now, now)
    compare(now + 0.2, now, now)
    assert state_time() == pytest.approx(time.time(), abs=0.1)


def test_given_a_database_that_answers_late_then_that_is_no_difference() -> None:
    now = time.time()
    assert compare(now + 20.0, now, now + 30.0) == 0.0
    assert state_time() == pytest.approx(time.time(), abs=0.1)
