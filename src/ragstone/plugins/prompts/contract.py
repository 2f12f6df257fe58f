"""What can be asked of the prompts while the server runs."""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from ragstone.core.records import TemplateVersion
from ragstone.language.templates import MAX_PROMPT_CHARS
from ragstone.service.added import AddedService
from ragstone.service.routes import Version, route

Tenant = Annotated[
    str, Field("", max_length=255, description="Whose prompt; empty for all tenants.")
]
Text = Annotated[str, Field(description="The whole prompt.")]
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

    @route("GET", "/prompts", "prompts", role="admin")
    async def list_all(self, tenant: Tenant = "") -> list[PromptText]:
        """Every prompt as it holds, with those of single languages that somebody made."""
        ...

    @route("GET", "/prompts/{name}", role="admin")
    async def get(self, name: str, tenant: Tenant = "", version: Version = 0) -> PromptText:
        """A prompt as it holds, or an earlier version of it."""
        ...

    @route(
        "PUT",
        "/prompts/{name}",
        role="admin",
        text=Field(min_length=1, max_length=MAX_PROMPT_CHARS),
    )
    async def put(self, name: str, text: Text, tenant: Tenant, who: str) -> PromptText:
        """Keep a new version, which holds for the next question."""
        ...

    @route("POST", "/prompts/{name}/check", {"valid": True}, role="admin")
    async def check(self, name: str, text: Text) -> None:
        """Check whether a text can be this prompt; nothing is kept. Raises InvalidPrompt."""
        ...

    @route("GET", "/prompts/{name}/versions", "versions", role="admin")
    async def versions(self, name: str, tenant: Tenant = "") -> list[TemplateVersion]:
        """Every version of a prompt in the store, the newest first."""
        ...

    @route("GET", "/prompts/{name}/diff", "diff", role="admin")
    async def diff(self, name: str, tenant: Tenant, old: Version, new: Version) -> str:
        """How two versions differ, as a unified diff; version 0 is what stands below the store."""
        ...

    @route(
        "POST",
        "/prompts/{name}/rollback",
        role="admin",
        version=Field(ge=1, description="The version to be the newest again."),
    )
    async def rollback(self, name: str, tenant: Tenant, version: Version, who: str) -> PromptText:
        """Make an earlier version the newest again."""
        ...

    @route("DELETE", "/prompts/{name}", role="admin")
    async def reset(self, name: str, tenant: Tenant, who: str) -> PromptText:
        """Go back to what stands below the store, or below the tenant."""
        ...


PROMPTS: AddedService[PromptService] = AddedService(
    "prompts", PromptService, "ragstone.plugins.prompts.service:open_service"
)
