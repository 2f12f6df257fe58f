"""Which of the processes that share a queue have died."""

import time
from collections.abc import Callable

from ragstone.core.errors import RagstoneError
from ragstone.ports.jobs import Beats


class Others:
    """The other workers, judged by this process's clock alone: the clocks of two machines differ.

    One is dead when its beat has stood still for `timeout` seconds during which this process could
    read it all the time: after an outage of the database nobody is dead, everybody was silent.
    """

    def __init__(
        self, beats: Beats, timeout: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._beats = beats
        self._timeout = timeout
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    async def dead(self) -> set[str]:
        """Look, and say who is dead. Raises StateUnavailable."""
        try:
            beats = await self._beats.beats()
        except RagstoneError:
            self._seen.clear()
            raise
        now = self._clock()
        before, self._seen = self._seen, {}
        for worker, beat in beats.items():
            known = before.get(worker)
            self._seen[worker] = known if known and known[0] == beat else (beat, now)
        return {w for w, (_, since) in self._seen.items() if now - since >= self._timeout}
