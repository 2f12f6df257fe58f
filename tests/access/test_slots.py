"""Places for questions."""

import asyncio
from contextlib import suppress

import pytest

from ragstone.access.interceptor import Slots
from ragstone.core.errors import TooManyRequests


async def hold(slots: Slots, key: str, until: asyncio.Event) -> None:
    async with slots.place(key):
        await until.wait()


@pytest.mark.conforms("RAG engine v1", "Environment", "MAX_CONCURRENT_QUERIES")
async def test_given_no_free_place_then_some_wait_and_the_next_is_sent_away() -> None:
    slots, until = Slots(2, 1, 5, 0), asyncio.Event()
    running = [asyncio.create_task(hold(slots, "", until)) for _ in range(3)]
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests) as caught:
        await hold(slots, "", until)
    assert caught.value.retry_after
    until.set()
    await asyncio.gather(*running)
    await hold(slots, "", until)


async def test_given_a_long_wait_then_it_ends_with_429_and_no_place_is_lost() -> None:
    slots, until = Slots(1, 5, 0.05, 0), asyncio.Event()
    running = asyncio.create_task(hold(slots, "", until))
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests):
        await hold(slots, "", until)
    until.set()
    await running
    for _ in range(5):
        await hold(slots, "", until)


async def test_given_one_credential_with_many_questions_then_others_still_get_in() -> None:
    slots, until = Slots(10, 10, 1, 2), asyncio.Event()
    running = [asyncio.create_task(hold(slots, "a", until)) for _ in range(2)]
    await asyncio.sleep(0.01)
    with pytest.raises(TooManyRequests, match="2 questions"):
        await hold(slots, "a", until)
    others = [asyncio.create_task(hold(slots, key, until)) for key in ("b", "", "", "")]
    await asyncio.sleep(0.01)
    until.set()
    await asyncio.gather(*running, *others)
    await hold(slots, "a", until)


async def test_given_waiting_questions_that_are_cancelled_then_no_place_is_lost() -> None:
    slots, until = Slots(1, 50, 5, 0), asyncio.Event()
    running = [asyncio.create_task(hold(slots, "a", until)) for _ in range(20)]
    await asyncio.sleep(0.01)
    for task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    until.set()
    await hold(slots, "a", until)
