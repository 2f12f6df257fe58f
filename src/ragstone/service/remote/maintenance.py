"""Backups and examinations by the server that holds the data."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from ragstone.service import wire
from ragstone.service.maintenance import Upkeep

Events = Callable[[str, dict[str, Any]], AsyncGenerator[Any, None]]


class RemoteMaintenance:
    """`service.Maintenance` over HTTP."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def back_up(self, file: str) -> AsyncGenerator[Upkeep, None]:
        return self._steps("backup", {"file": file})

    def restore(self, file: str) -> AsyncGenerator[Upkeep, None]:
        return self._steps("restore", {"file": file})

    def examine(self, mend: bool) -> AsyncGenerator[Upkeep, None]:
        return self._steps("doctor", {"mend": mend})

    async def _steps(self, what: str, body: dict[str, Any]) -> AsyncGenerator[Upkeep, None]:
        async with aclosing(self._events(f"/local/{what}", body)) as items:
            async for item in items:
                yield wire.load(Upkeep, item)
