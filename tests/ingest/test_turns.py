"""Whoever has the fewest places is next, and nobody's work holds up all others."""

import asyncio
from contextlib import AsyncExitStack, suppress

from hypothesis import given
from hypothesis import strategies as st

from ragstone.ingest.turns import Owner, Turns

ANN, BOB, EVA = Owner("ann", "one"), Owner("bob", "one"), Owner("eva", "one")
ANN_TOO = Owner("ann", "two")


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Crowd:
    """Those who want places, and the order in which they had them."""

    def __init__(self, places: int) -> None:
        self.turns = Turns(places)
        self.had: list[Owner] = []
        self.holding: list[tuple[Owner, asyncio.Task[None]]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def want(self, *owners: Owner) -> None:
        self.tasks += [asyncio.create_task(self._hold(owner)) for owner in owners]
        await settle()

    async def give_back(self, owner: Owner) -> None:
        held = next(item for item in self.holding if item[0] == owner)
        self.holding.remove(held)
        held[1].cancel()
        await settle()

    async def _hold(self, owner: Owner) -> None:
        async with self.turns.place(owner):
            self.had.append(owner)
            task = asyncio.current_task()
            assert task is not None
            self.holding.append((owner, task))
            await asyncio.Event().wait()

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_one_has_all_places_as_long_as_nobody_else_wants_any() -> None:
    crowd = Crowd(2)
    await crowd.want(ANN, ANN, ANN)
    assert crowd.had == [ANN, ANN]
    await crowd.end()


async def test_a_tenant_and_a_collection_without_a_place_get_one_at_once() -> None:
    crowd = Crowd(2)
    await crowd.want(ANN, ANN, ANN, ANN_TOO, BOB)
    assert crowd.had == [ANN, ANN, ANN_TOO, BOB]
    await crowd.end()


async def test_a_place_goes_to_who_has_the_fewest_not_to_who_came_first() -> None:
    crowd = Crowd(1)
    await crowd.want(ANN, BOB, EVA)
    await crowd.want(ANN, ANN, BOB)
    await crowd.give_back(BOB)
    await crowd.give_back(ANN)
    await crowd.give_back(EVA)
    assert crowd.had[:3] == [ANN, BOB, EVA]
    assert sorted(crowd.had[3:]) == [ANN, BOB]
    await crowd.end()


@given(st.lists(st.tuples(st.sampled_from([ANN, ANN_TOO, BOB, EVA]), st.booleans()), max_size=30))
def test_places_are_never_lost_nor_exceeded(steps: list[tuple[Owner, bool]]) -> None:
    async def run() -> None:
        turns, running, most = Turns(2), 0, 0
        tasks: list[asyncio.Task[None]] = []

        async def hold(owner: Owner) -> None:
            nonlocal running, most
            async with turns.place(owner):
                running += 1
                most = max(most, running)
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                running -= 1

        for owner, cancels in steps:
            tasks.append(asyncio.create_task(hold(owner)))
            if cancels:
                tasks[len(tasks) // 2].cancel()
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert most <= 4
        async with asyncio.timeout(1), AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(turns.place(ANN))

    asyncio.run(run())
