"""Who is taken for dead."""

import pytest

from ragstone.core.errors import StateUnavailable
from ragstone.jobs.runner import Others


class Beats:
    """Beats that the test sets."""

    def __init__(self) -> None:
        self.now: dict[str, int] = {}
        self.away = False

    async def enter(self, worker: str, host: str) -> None: ...
    async def beat(self, worker: str) -> bool:
        return True

    async def beats(self) -> dict[str, int]:
        if self.away:
            raise StateUnavailable("Away.")
        return dict(self.now)

    async def leave(self, *workers: str) -> None: ...


async def test_who_does_not_beat_for_long_enough_is_dead() -> None:
    beats, seconds = Beats(), 0.0
    others = Others(beats, 10, lambda: seconds)
    for seconds in range(0, 30, 5):
        beats.now = {"lives": int(seconds), "still": 7}
        assert await others.dead() == ({"still"} if seconds >= 10 else set())
    beats.now = {"lives": 99, "still": 8}
    assert await others.dead() == set()


async def test_after_an_outage_of_the_database_nobody_is_dead() -> None:
    beats, seconds = Beats(), 0.0
    others = Others(beats, 10, lambda: seconds)
    beats.now = {"w": 1}
    await others.dead()
    seconds, beats.away = 8.0, True
    with pytest.raises(StateUnavailable):
        await others.dead()
    seconds, beats.away = 60.0, False
    assert await others.dead() == set()
    seconds = 70.0
    assert await others.dead() == {"w"}
