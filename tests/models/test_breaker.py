"""Calls that are let through, and those that are not."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import Busy
from ragstone.models.breaker import Breaker, CallQueue, Resting


class Clock:
    """A clock that stands still until it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def call(breaker: Breaker, good: bool) -> None:
    with breaker.call() as one:
        if good:
            one.mark_succeeded()
        else:
            one.mark_failed()


def opened(failures: int = 3, recovery: float = 10.0) -> tuple[Breaker, Clock]:
    clock = Clock()
    breaker = Breaker(failures, recovery, clock)
    for _ in range(failures):
        call(breaker, good=False)
    return breaker, clock


def test_given_so_many_failures_in_a_row_then_it_opens_and_says_how_long() -> None:
    breaker, clock = opened()
    assert breaker.state == "open"
    clock.now = 4.0
    with pytest.raises(Resting) as resting:
        call(breaker, good=True)
    assert resting.value.seconds == 6.0


def test_given_a_success_between_then_the_count_begins_again() -> None:
    breaker = Breaker(2, 10.0)
    for good in (False, True, False):
        call(breaker, good)
    assert breaker.state == "closed"


def test_given_the_rest_is_over_then_one_call_only_tries() -> None:
    breaker, clock = opened()
    clock.now = 10.0
    assert breaker.state == "half open"
    with breaker.call() as probe:
        with pytest.raises(Resting):
            call(breaker, good=True)
        probe.mark_failed()
    assert breaker.state == "open"
    clock.now = 20.0
    call(breaker, good=True)
    assert breaker.state == "closed"


def test_given_a_probe_that_begins_to_answer_then_others_come_through_until_one_fails() -> None:
    breaker, clock = opened()
    clock.now = 10.0
    with breaker.call() as probe:
        probe.mark_begun()
        call(breaker, good=True)
        assert breaker.state == "closed"
    breaker, clock = opened()
    clock.now = 10.0
    with breaker.call() as probe:
        probe.mark_begun()
        call(breaker, good=False)
    assert breaker.state == "open"


def test_given_a_caller_who_leaves_then_the_next_one_tries() -> None:
    breaker, clock = opened()
    clock.now = 10.0
    with pytest.raises(asyncio.CancelledError), breaker.call():
        raise asyncio.CancelledError
    assert breaker.state == "half open"
    call(breaker, good=True)
    assert breaker.state == "closed"


def test_given_a_late_failure_of_a_call_from_before_then_the_rest_is_not_longer() -> None:
    clock = Clock()
    breaker = Breaker(1, 10.0, clock)
    with breaker.call() as late:
        call(breaker, good=False)
        clock.now = 9.0
        late.mark_failed()
    assert breaker.seconds == 1.0


def test_given_no_limit_then_it_never_opens() -> None:
    breaker = Breaker(0, 10.0)
    for _ in range(100):
        call(breaker, good=False)
    assert breaker.state == "closed"


@given(st.integers(1, 4), st.lists(st.tuples(st.floats(0, 20), st.booleans()), max_size=40))
def test_given_any_calls_then_it_is_open_after_that_many_failures_and_never_otherwise(
    most: int, calls: list[tuple[float, bool]]
) -> None:
    clock = Clock()
    breaker = Breaker(most, 10.0, clock)
    failed = 0
    for pause, good in calls:
        clock.now += pause
        probing = breaker.state == "half open"
        try:
            call(breaker, good)
        except Resting:
            assert failed >= most
            continue
        failed = 0 if good else failed + 1
        assert (breaker.state == "open") == (failed >= most or (probing and not good))


async def test_given_a_full_model_then_the_others_come_in_turn() -> None:
    turns, order = CallQueue("m", 1, 5.0), []

    async def visit(number: int) -> None:
        async with turns.turn():
            order.append(number)
            await asyncio.sleep(0.01)

    await asyncio.gather(*map(visit, range(5)))
    assert order == [0, 1, 2, 3, 4]


async def test_given_a_caller_who_leaves_the_queue_then_no_turn_is_lost() -> None:
    turns = CallQueue("m", 1, 5.0)
    async with turns.turn():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02), turns.turn():
                raise AssertionError("there is no turn to have")
    impatient = CallQueue("m", 1, 0.01)
    async with turns.turn(), impatient.turn():
        with pytest.raises(Busy, match="no turn came within"):
            async with impatient.turn():
                raise AssertionError("there is no turn to have")
    async with impatient.turn():
        pass
