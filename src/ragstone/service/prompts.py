"""What can be asked of the prompts while the server runs."""

from dataclasses import dataclass
from typing import Literal, Protocol

from ragstone.core.records import TemplateVersion
from ragstone.service.bounds import Version

PromptSource = Literal["shipped", "file", "store", "tenant"]


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt as it holds. `version` is that of the store, 0 if it is from elsewhere; `places` are
    the placeholders the text must hold, `allowed` further ones it may hold."""

    name: str
    text: str
    source: PromptSource
    version: int
    help: str
    places: tuple[str, ...]
    allowed: tuple[str, ...]


class PromptService(Protocol):
    """Prompts for all (tenant "") or for one tenant.

    Methods raise UnknownPrompt, InvalidPrompt, StateUnavailable.
    """

    async def list_all(self, tenant: str = "") -> list[PromptText]:
        """Every prompt as it holds, with those of single languages that somebody made."""
        ...

    async def get(self, name: str, tenant: str = "", version: Version = 0) -> PromptText:
        """A prompt as it holds, or an earlier version of it."""
        ...

    async def put(self, name: str, text: str, tenant: str, who: str) -> PromptText:
        """Keep a new version, which holds for the next question."""
        ...

    async def check(self, name: str, text: str) -> None:
        """Raise unless `text` can be the prompt `name`; nothing is kept."""
        ...

    async def versions(self, name: str, tenant: str = "") -> list[TemplateVersion]:
        """Every version in the store, the newest first."""
        ...

    async def diff(self, name: str, tenant: str, old: Version, new: Version) -> str:
        """How two versions differ, as a unified diff; version 0 is what stands below the store."""
        ...

    async def rollback(self, name: str, tenant: str, version: Version, who: str) -> PromptText:
        """Make an earlier version the newest again."""
        ...

    async def reset(self, name: str, tenant: str, who: str) -> PromptText:
        """Go back to what stands below the store, or below the tenant."""
        ...
