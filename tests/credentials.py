"""Credentials for tests: API keys on any service, and where they are kept without a database."""

from collections.abc import Sequence
from dataclasses import replace

from ragstone.core.caller import Role
from ragstone.core.records import ApiKey, Person
from ragstone.ports import StoredKey
from ragstone.service import Service
from ragstone.service.keys import KeyGrant


class MemoryKeys:
    """`ports.KeyStore` in memory. `reads` counts how often a key was looked up."""

    def __init__(self) -> None:
        self.stored: dict[str, StoredKey] = {}
        self.reads = 0
        self.ended: dict[str, float] = {}

    async def put(self, stored: StoredKey) -> None:
        before = self.stored.get(stored.key.id)
        used = before.key.used_at if before else None
        self.stored[stored.key.id] = replace(stored, key=replace(stored.key, used_at=used))

    async def find(self, id: str) -> StoredKey | None:
        self.reads += 1
        return self.stored.get(id)

    async def list_all(self, tenant: str | None) -> Sequence[ApiKey]:
        keys = [stored.key for stored in self.stored.values()]
        return [key for key in keys if tenant in (None, key.tenant)]

    async def touch(self, id: str, at: float) -> None:
        stored = self.stored[id]
        self.stored[id] = replace(stored, key=replace(stored.key, used_at=at))

    async def any(self) -> bool:
        return bool(self.stored)

    async def end_session(self, name: str, until: float, now: float) -> None:
        self.ended = {item: end for item, end in self.ended.items() if end >= now} | {name: until}

    async def has_ended(self, name: str) -> bool:
        return name in self.ended


async def a_key(
    service: Service,
    role: Role = "reader",
    tenant: str = "default",
    user: str = "eva",
    groups: Sequence[str] = (),
    collections: Sequence[str] | None = None,
    seconds: float | None = None,
) -> str:
    """The secret of a new key. From then on every request to the service needs one."""
    reach = None if collections is None else tuple(collections)
    grant = KeyGrant(f"{user}'s", tenant, user, tuple(groups), reach, role, seconds)
    return (await service.keys.create(grant)).secret


def bearer(secret: str) -> dict[str, str]:
    """The header of a request that carries a credential."""
    return {"authorization": f"Bearer {secret}"}


class NoPeople:
    """`service.people.PeopleService` without an account."""

    async def exist(self) -> bool:
        return False

    async def find_account(self, tenant: str, name: str) -> Person | None:
        return None

    async def whose(self, session: str) -> Person | None:
        return None

    async def end_session(self, session: str) -> None:
        return None
