"""One end for many waits."""

import asyncio

import pytest

from ragstone.access.interceptor import Deadline


def soon(seconds: float) -> Deadline:
    return Deadline(asyncio.get_running_loop().time() + seconds)


async def test_given_waits_that_end_in_time_then_nothing_happens() -> None:
    deadline = soon(60)
    for _ in range(3):
        with deadline:
            await asyncio.sleep(0)
    deadline.close()


async def test_given_a_wait_that_lasts_too_long_then_it_ends_and_the_task_goes_on() -> None:
    deadline = soon(0.05)
    with deadline:
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError), deadline:
        await asyncio.sleep(60)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_given_that_it_passed_between_two_waits_then_the_next_one_does_not_begin() -> None:
    deadline = soon(0.01)
    await asyncio.sleep(0.05)
    begun = False
    with pytest.raises(TimeoutError), deadline:
        begun = True
    assert not begun


async def test_given_waits_of_several_tasks_then_the_one_that_waits_is_ended() -> None:
    deadline = soon(0.05)

    async def wait(seconds: float) -> str:
        with deadline:
            await asyncio.sleep(seconds)
            return "done"

    assert await asyncio.create_task(wait(0)) == "done"
    with pytest.raises(TimeoutError):
        await asyncio.create_task(wait(60))


async def test_given_who_waits_is_cancelled_then_it_is_not_taken_for_the_end() -> None:
    deadline = soon(60)

    async def wait() -> None:
        with deadline:
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_given_both_at_once_then_the_cancellation_is_not_swallowed() -> None:
    deadline = soon(0.02)

    async def wait() -> None:
        with deadline:
            try:
                await asyncio.sleep(60)
            finally:
                task.cancel()

    task = asyncio.create_task(wait())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_given_it_was_closed_then_it_never_ends_anything() -> None:
    deadline = soon(0.01)
    with deadline:
        deadline.close()
        await asyncio.sleep(0.05)
