"""The ports that keep what was set at run time, and that say when another process changed it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.core.records import SettingChange, SettingEdit, StoredSetting


class Marks(Protocol):
    """Numbers that are others after every change of what they stand for."""

    async def marks(self) -> Mapping[str, int]:
        """The mark of each thing that ever changed; raises StateUnavailable."""
        ...


class SettingsStore(Marks, Protocol):
    """Settings by scope, with a log. Methods raise StateUnavailable, `edit` StorageFull too."""

    async def list_stored(self) -> Sequence[StoredSetting]:
        """Everything that is set."""
        ...

    async def edit(self, edits: Sequence[SettingEdit], who: str) -> None:
        """Make all of these changes, or none; what changes nothing is not logged."""
        ...

    async def changes(self, limit: int, key: str = "", scope: str = "") -> Sequence[SettingChange]:
        """The latest changes, the newest first; of one key or scope if it is given."""
        ...
