"""Directories of people: who knows passwords that are not kept here."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """Somebody in a directory: what others see, and the groups here that this makes."""

    display: str
    groups: tuple[str, ...]


class Directory(Protocol):
    """Methods raise Unavailable while it does not answer. Names are as accounts have them."""

    async def check(self, name: str, password: str) -> DirectoryEntry | None:
        """Tell whose name and password these are; None for nobody, and for who may not sign in."""
        ...

    async def find(self, name: str) -> DirectoryEntry | None:
        """Return the entry of this name, None for nobody, and for who may not sign in any more."""
        ...
