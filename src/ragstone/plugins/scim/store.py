"""Provisioned groups on the state store."""

from dataclasses import asdict

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ragstone.core.errors import Conflict
from ragstone.local.added import ServiceParts, StateStore
from ragstone.plugins.scim.contract import ProvisionedGroup
from ragstone.store.sql.rows import put
from ragstone.store.sql.tables import directory_groups


class SqlGroups(StateStore):
    """`ScimService` on the state database."""

    name = "scim"

    async def groups(self, tenant: str) -> list[ProvisionedGroup]:
        """Return the groups by name."""
        table = directory_groups
        own = [column for column in table.c if column.name != "tenant"]
        wanted = select(*own).where(table.c.tenant == tenant).order_by(table.c.name)
        return await self._database.read(
            lambda connection: [
                ProvisionedGroup(**row) for row in connection.execute(wanted).mappings()
            ]
        )

    async def put_group(self, tenant: str, group: ProvisionedGroup) -> None:
        """Keep a group. Raises Conflict."""
        table = directory_groups
        other = select(table.c.id).where(
            table.c.tenant == tenant, table.c.name == group.name, table.c.id != group.id
        )

        async def work(connection: AsyncConnection) -> bool:
            if (await connection.execute(other)).first() is not None:
                return False
            await put(connection, table, {**asdict(group), "tenant": tenant})
            return True

        if not await self._database.write(work):
            raise Conflict(f"There is a group {group.name!r} already. Choose another name.")

    async def remove_group(self, tenant: str, id: str) -> None:
        """Forget a group."""
        table = directory_groups
        gone = delete(table).where(table.c.tenant == tenant, table.c.id == id)
        await self._database.write(lambda connection: connection.execute(gone))


def open_service(parts: ServiceParts) -> SqlGroups:
    """Make the operations of this process."""
    groups: SqlGroups = parts.adapters.added["scim"]
    return groups
