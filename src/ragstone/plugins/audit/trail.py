"""The files of the audit trail: a line of JSON for each event, appended and never moved.

Each process appends whole lines to the file of the day, so several write at once; when that is
large, all go on in the next one. Nothing but an erased user's name is ever changed, in place.
"""

import asyncio
import json
import logging
import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ragstone.core.errors import ConfigError, InputError, StorageFull
from ragstone.local.added import AdapterParts
from ragstone.plugins.audit.events import (
    ERASED,
    count_repetitions,
    encode,
    encode_erased,
    find_repetition,
    pseudonymise,
)
from ragstone.plugins.audit.settings import AuditSettings
from ragstone.plugins.audit.syslog import Syslog
from ragstone.ports import Adapters

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 16_000_000
"""A file that is larger is followed by the next one of its day."""

MAX_REPEATED = 100
"""Kinds of events that are counted apart in a minute, rather than all written."""

DAY = "%Y-%m-%d"


class Trail:
    """Appends events to the files of a folder, by a thread of its own. `lost` counts what could not
    be written."""

    def __init__(self, settings: AuditSettings) -> None:
        self._folder = Path(settings.folder).expanduser().absolute()
        self._days = settings.days
        self._required = settings.required
        self._syslog = Syslog(settings.syslog) if settings.syslog else None
        self._thread = ThreadPoolExecutor(1, "audit")
        self._file = -1
        self._day = ""
        self._number = 1
        self._torn = False
        self._failing = False
        self._minute = 0
        self._repeated: dict[tuple[str, ...], dict[str, Any]] = {}
        self.lost = 0
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open(time.strftime(DAY, time.gmtime()))
        except OSError as error:
            raise ConfigError(f"The audit trail cannot be written: {error}.") from error

    @property
    def unsent(self) -> int:
        """Events that the syslog server did not get."""
        return self._syslog.unsent if self._syslog else 0

    async def check(self) -> None:
        """Raise StorageFull where the trail is required, and could not be written last."""
        if self._required and self._failing:
            await self._run(self._probe)
            self._check_written()

    async def write(self, event: dict[str, Any]) -> None:
        """Append an event; of those that repeat another within a minute only how many they were, at
        its end. Raises StorageFull where that is required and cannot be done."""
        await self._write(*self._end_minute(), *self._count(event))
        self._check_written()

    async def flush(self) -> None:
        """Append what was counted in a minute that has ended."""
        await self._write(*self._end_minute())

    async def _write(self, *events: dict[str, Any]) -> None:
        for event in events:
            if self._syslog:
                self._syslog.send(event)
            await self._run(self._append, event)

    def _end_minute(self, closes: bool = False) -> list[dict[str, Any]]:
        """Return what was counted in the last minute, if that has ended."""
        minute = int(time.time() // 60)
        if minute == self._minute and not closes:
            return []
        counted = [event for event in self._repeated.values() if "count" in event]
        self._minute, self._repeated = minute, {}
        return counted

    def _count(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the event, unless it repeats another one."""
        kind = find_repetition(event)
        if kind is None:
            return [event]
        if kind not in self._repeated and len(self._repeated) >= MAX_REPEATED:
            # From very many addresses the rest counts as one, of nobody.
            kind, event = (), pseudonymise(event, "")
        if kind not in self._repeated:
            self._repeated[kind] = {}
            return [event]
        self._repeated[kind] = count_repetitions(self._repeated[kind], event)
        return []

    def _check_written(self) -> None:
        if self._required and self._failing:
            raise StorageFull(
                "The audit trail cannot be written, so nothing is done. The server's log says why."
            )

    async def erase(self, tenant: str, user: str) -> None:
        """Put a pseudonym in the place of a user, in every file."""
        await self._write(*self._end_minute(closes=True))
        await self._run(self._erase, tenant, user)

    def read_back(self, before: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the events and their places, the last one first, from `before` a place on. Raises
        InputError for what is not a place."""
        name, _, given = before.partition(":")
        if before and not (given.isdecimal() and len(given) < 12):
            raise InputError("Not the id of an event: give the one that a page ended with.")
        for file in reversed(self._files()):
            if before and _order(file) > _order(Path(name)):
                continue
            try:
                data = file.read_bytes()
            except FileNotFoundError:  # Another process has just deleted what is too old.
                continue
            place = int(given) if before and file.name == name else len(data)
            for line in reversed(data[:place].splitlines(keepends=True)):
                place -= len(line)
                if record := _parse(line):
                    yield f"{file.name}:{place}", record

    async def aclose(self) -> None:
        """Write what waits."""
        await self._write(*self._end_minute(closes=True))
        await asyncio.to_thread(self._thread.shutdown)
        if self._syslog:
            await asyncio.to_thread(self._syslog.close)
        os.close(self._file)

    async def _run(self, work: Any, *arguments: Any) -> None:
        # What has begun is done, even if the request that it is about is cancelled.
        await asyncio.shield(asyncio.wrap_future(self._thread.submit(work, *arguments)))

    def _probe(self) -> None:
        self._write_bytes(b"\n")

    def _append(self, event: dict[str, Any]) -> None:
        line = encode(event)
        if not self._write_bytes(line):
            self.lost += 1

    def _write_bytes(self, line: bytes) -> bool:
        """Append a line, with one call, so that other processes' lines stay whole."""
        try:
            self._rotate()
            start = b"\n" if self._torn else b""
            written = os.write(self._file, start + line)
            self._torn = 0 < written < len(start + line) or (self._torn and not written)
            if written < len(start + line):
                raise OSError("only a part of an event was written: is the disk full?")
        except OSError as error:
            if not self._failing:
                log.error("Events are lost, as the audit trail cannot be written: %s", error)
            self._failing = True
            return False
        if self._failing:
            log.warning("The audit trail is written again; %d events were lost.", self.lost)
        self._failing = False
        return True

    def _rotate(self) -> None:
        day = time.strftime(DAY, time.gmtime())
        if day != self._day:
            self._open(day)
        while os.fstat(self._file).st_size >= MAX_FILE_BYTES:
            self._number += 1
            self._reopen()

    def _open(self, day: str) -> None:
        numbers = [_order(file)[1] for file in self._files() if _order(file)[0] == day]
        self._day, self._number = day, max(numbers, default=1)
        self._reopen()
        if self._days:
            oldest = time.strftime(DAY, time.gmtime(time.time() - self._days * 86_400))
            for file in self._files():
                if _order(file)[0] < oldest:
                    file.unlink(missing_ok=True)

    def _reopen(self) -> None:
        path = self._folder / f"audit-{self._day}.{self._number}.jsonl"
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if self._file >= 0:
            os.close(self._file)
        self._file = opened

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("audit-????-??-??.*.jsonl"), key=_order)

    def _erase(self, tenant: str, user: str) -> None:
        pseudonym = ERASED + secrets.token_hex(6)
        for path in self._files():
            with path.open("r+b") as file:
                place = 0
                for line in file.read().splitlines(keepends=True):
                    record = _parse(line)
                    if record and record["metadata"]["tenant_uid"] == tenant:
                        erased = encode_erased(record, user, pseudonym, len(line))
                        if erased != line:
                            # As long as before: others append to the file meanwhile.
                            file.seek(place)
                            file.write(erased)
                    place += len(line)
                file.flush()
                os.fsync(file.fileno())


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return an event; None for a line that a full disk cut off."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _order(file: Path) -> tuple[str, int]:
    """Return the day and the number of a file."""
    day, _, number = file.name.removeprefix("audit-").removesuffix(".jsonl").partition(".")
    return day, int(number) if number.isdecimal() else 0


def open_trail(parts: AdapterParts) -> Trail | None:
    """The trail of the settings, None for none."""
    settings = AuditSettings.of(parts.settings)
    return Trail(settings) if settings.folder else None


def find_trail(adapters: Adapters) -> Trail | None:
    """Return the trail of this process."""
    found = adapters.added.get("audit")
    return found if isinstance(found, Trail) else None
