"""The port that keeps the templates which replace the shipped ones."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.records import TemplateVersion


class Templates(Protocol):
    """Templates by name, in versions. Methods raise StateUnavailable, `put` StorageFull too."""

    async def texts(self) -> Mapping[str, str]:
        """The newest text of every template that replaces a shipped one."""
        ...

    async def put(self, name: str, text: str) -> int:
        """Keep a new version of a template and return its number; an empty text brings the
        shipped one back. Raises InputError for a text that cannot be that template."""
        ...

    async def versions(self, name: str) -> Sequence[TemplateVersion]:
        """Every version of a template, the newest first."""
        ...
