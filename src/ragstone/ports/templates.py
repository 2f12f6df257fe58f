"""The port that keeps the prompts which replace the shipped ones."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ragstone.core.records import TemplateVersion


class Templates(Protocol):
    """Prompts by name, in versions, for all (tenant "") or for one tenant."""

    async def texts(self, tenant: str = "default") -> Mapping[str, str]:
        """What replaces the shipped prompts for a tenant: its own before those of all.

        It is in memory: nothing is read for it, and a store that fails does not change it.
        """
        ...

    async def put(self, name: str, text: str, tenant: str = "", who: str = "") -> int:
        """Keep a new version of a prompt and return its number; an empty text brings back what
        stands below it. Raises UnknownPrompt, InvalidPrompt, StateUnavailable, StorageFull."""
        ...

    async def versions(self, name: str, tenant: str = "") -> Sequence[TemplateVersion]:
        """Every version of a prompt, the newest first; raises StateUnavailable."""
        ...

    async def current(self) -> Sequence[TemplateVersion]:
        """The newest version of every prompt that was ever changed; raises StateUnavailable."""
        ...

    async def refresh(self) -> None:
        """Read anew what another process may have changed; raises StateUnavailable."""
        ...
