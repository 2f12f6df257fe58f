"""Provisioned groups, as this server asks itself."""

from dataclasses import dataclass
from typing import Annotated, Protocol

from ragstone.service.added import AddedService
from ragstone.service.routes import text

Id = Annotated[str, text(64, 1)]


@dataclass(frozen=True, slots=True)
class ProvisionedGroup:
    """A group that an identity provider has made; who is in it is told by the accounts. Times are
    seconds since 1970."""

    id: str
    name: str
    external_id: str
    created_at: float
    changed_at: float


class ScimService(Protocol):
    """The provisioned groups of a tenant. All raise StateUnavailable."""

    async def groups(self, tenant: str) -> list[ProvisionedGroup]:
        """The groups by name."""
        ...

    async def put_group(self, tenant: str, group: ProvisionedGroup) -> None:
        """Keep a group, instead of the one of its id. Raises Conflict for the name of another."""
        ...

    async def remove_group(self, tenant: str, id: Id) -> None:
        """Forget a group."""
        ...


SCIM: AddedService[ScimService] = AddedService(
    "scim", ScimService, "ragstone.plugins.scim.store:open_service"
)
