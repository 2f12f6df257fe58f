"""Sees what another process changed in the store, within a second."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from ragstone.core.errors import RagstoneError
from ragstone.ports import Marks

log = logging.getLogger(__name__)

SECONDS = 1.0
"""How often the marks are read: one small SELECT."""

Refresh = Callable[[], Awaitable[None]]


class Watch:
    """Calls what must be read anew when its mark is another one. A store that does not answer
    changes nothing: what was read last holds until it does."""

    def __init__(
        self, marks: Marks, refreshes: Mapping[str, Refresh], seconds: float = SECONDS
    ) -> None:
        self._marks = marks
        self._refreshes = refreshes
        self._seconds = seconds
        self._seen: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._failing = False

    async def start(self) -> None:
        """Read everything once, then look for changes until `aclose`."""
        self._seen = dict(await self._marks.marks())
        for refresh in self._refreshes.values():
            await refresh()
        self._task = asyncio.create_task(self._run())

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self._refresh_changed()
            except RagstoneError as error:
                if not self._failing:
                    log.warning("Settings and prompts stay as they are: %s", error)
                self._failing = True
            except Exception:
                log.exception("What another server changed could not be read")
            else:
                self._failing = False

    async def _refresh_changed(self) -> None:
        for name, mark in (await self._marks.marks()).items():
            if self._seen.get(name) != mark and name in self._refreshes:
                await self._refreshes[name]()
                self._seen[name] = mark
