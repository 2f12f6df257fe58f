"""Backups, and the examination of what disagrees."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.service.routes import text

File = Annotated[str, text(4096, 1)]
Files = Annotated[tuple[File, ...], Field(max_length=1000)]


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How far a backup, restore or examination is: `done` of `total` of what is gone through now,
    None where that is not known. The last one has `finished`, and `notes` for the user: of an
    examination what was found, a sentence each, and `models` says which ones are in use."""

    phase: str
    done: int = 0
    total: int | None = None
    finished: bool = False
    notes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class MaintenanceService(Protocol):
    """Looks after the whole of a Ragstone. Files are those of the machine that has the data."""

    def back_up(self, file: File, since: File | None = None) -> AsyncGenerator[Upkeep, None]:
        """Write a backup to `file`, which must not exist; with `since` an incremental one, of what
        that backup and those that it continues lack. Raises InputError, StorageFull."""
        ...

    def restore(self, file: File, earlier: Files = ()) -> AsyncGenerator[Upkeep, None]:
        """Put a backup in the place of everything. The backups that an incremental one continues
        are beside it, or `earlier` says where. Raises InputError, and nothing has changed."""
        ...

    def examine(self, mend: bool, forget: bool = False) -> AsyncGenerator[Upkeep, None]:
        """Find what disagrees, and mend it if `mend`. What can only be forgotten stays unless
        `forget`."""
        ...
