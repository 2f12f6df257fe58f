"""API keys on a key store: making them, ending them, and telling whose a secret is."""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, get_args

from ragstone.access.secrets import (
    digest,
    is_same_digest,
    is_session,
    key_id,
    new_id,
    new_secret,
    parse_session,
    sign_session,
)
from ragstone.core.caller import OF_A_KEY, Role
from ragstone.core.clock import state_time
from ragstone.core.errors import (
    InputError,
    RagstoneError,
    StateUnavailable,
    Unauthorized,
    UnknownKey,
)
from ragstone.core.records import ApiKey, Person
from ragstone.local.collections import identify_all_granted
from ragstone.ports import CollectionNames, KeyStore, StoredKey
from ragstone.service.keys import GRACE_SECONDS, IssuedKey, KeyGrant, WidgetSession

log = logging.getLogger(__name__)

FRESH = 1.0
"""Seconds after which a key is read again: another server may have revoked it."""

USED_SECONDS = 60.0
"""How exactly the time of the last use is kept, so that not every request writes."""

MAX_REMEMBERED = 10_000
MAX_CHARACTERS, MAX_NAMES, MAX_SITES = 255, 1000, 50
LONGEST_SECONDS = 100 * 365 * 86_400.0

SESSION_SECONDS = 3600.0
"""How long a page of a widget asks with one session; then it gets another."""

T = TypeVar("T", ApiKey, Person)

NOBODYS = ApiKey("accounts", "", "", "", (), (), "reader", 0.0, revoked_at=0.0)
"""A key that is nobody's and opens nothing. Because there is one, requests need a credential."""

_SITE = re.compile(r"https?://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?", re.ASCII)
"""The origin of a page, or of those of all names below one. It goes into a content policy."""


@dataclass(frozen=True, slots=True)
class _Seen:
    stored: StoredKey | None
    until: float


class LocalKeys:
    """`service.keys.Keys` in this process. `clock` is in seconds since 1970.

    The store has the ids of the collections that a key reaches, `names` what they are called now.
    """

    def __init__(
        self, store: KeyStore, names: CollectionNames, clock: Callable[[], float] = state_time
    ) -> None:
        self._store = store
        self._names = names
        self._clock = clock
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._sessions: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        """Whether each session has ended, and until when that need not be looked up again."""
        self._any = False
        self._asked = False
        self._any_until = 0.0
        self._writing: set[asyncio.Task[None]] = set()

    async def create(self, grant: KeyGrant) -> IssuedKey:
        _check(grant)
        now = self._clock()
        reached = grant.collections
        if reached is not None:
            reached = await identify_all_granted(self._names, grant.tenant, reached)
        id = new_id()
        key = ApiKey(
            id=id,
            name=grant.name,
            tenant=grant.tenant,
            user=grant.user or f"{OF_A_KEY}{id}",
            groups=grant.groups,
            collections=reached,
            role=grant.role,
            created_at=now,
            expires_at=None if grant.seconds is None else now + grant.seconds,
            sites=grant.sites,
        )
        secret = new_secret(key.id)
        await self._store_key(StoredKey(key, digest(secret)))
        self._any = True
        return IssuedKey(replace(key, collections=grant.collections), secret)

    async def list_all(self, tenant: str | None) -> list[ApiKey]:
        return await name_collections(self._names, await self._store.list_all(tenant))

    async def rotate(self, tenant: str | None, id: str, grace: float = GRACE_SECONDS) -> IssuedKey:
        if not 0 <= grace <= LONGEST_SECONDS:
            raise InputError("The grace period must be 0 seconds or more, and at most 100 years.")
        stored = await self._find_key(tenant, id)
        if stored.key.revoked_at is not None:
            raise InputError(f"The key {id} was revoked. Make a new one instead.")
        secret = new_secret(id)
        until = self._clock() + grace
        await self._store_key(StoredKey(stored.key, digest(secret), stored.digest, until))
        [key] = await name_collections(self._names, [stored.key])
        return IssuedKey(key, secret)

    async def revoke(self, tenant: str | None, id: str) -> ApiKey:
        stored = await self._find_key(tenant, id)
        if stored.key.revoked_at is None:
            key = replace(stored.key, revoked_at=self._clock())
            stored = StoredKey(key, stored.digest)
            await self._store_key(stored)
        [named] = await name_collections(self._names, [stored.key])
        return named

    async def whose(self, secret: str) -> ApiKey:
        if parts := parse_session(secret):
            return await self._whose_session(secret, *parts)
        stored = await self._read(key_id(secret))
        now = self._clock()
        if stored is None or not _matches_secret(stored, digest(secret), now):
            raise Unauthorized("This API key is not known here. Check it, or ask for another one.")
        return await self._check_valid(stored, now)

    async def widget(self, id: str) -> ApiKey:
        return (await self._widget(id)).key

    async def session(self, id: str) -> WidgetSession:
        stored = await self._widget(id)
        until = self._clock() + SESSION_SECONDS
        if stored.key.expires_at is not None:
            until = min(until, stored.key.expires_at)
        return WidgetSession(sign_session(id, stored.digest, int(until)), float(int(until)))

    async def _widget(self, id: str) -> StoredKey:
        stored = await self._read(id)
        if stored is None or stored.key.sites is None:
            raise UnknownKey(id[:MAX_CHARACTERS])
        try:
            key = await self._check_valid(stored, self._clock())
        except Unauthorized as error:
            raise UnknownKey(id) from error
        return replace(stored, key=key)

    async def _whose_session(self, secret: str, id: str, until: int) -> ApiKey:
        stored, now = await self._read(id), self._clock()
        if stored is None or stored.key.sites is None or not is_session(secret, stored.digest):
            raise Unauthorized("This session is not known here. Load the page again.")
        if now >= until:
            raise Unauthorized("This session has ended. Load the page again.")
        return await self._check_valid(stored, now)

    async def _check_valid(self, stored: StoredKey, now: float) -> ApiKey:
        """The key, with the names of its collections; raises Unauthorized unless it holds now."""
        key = stored.key
        if key.revoked_at is not None:
            raise Unauthorized(f"The API key {key.id} was revoked. Ask for another one.")
        if key.expires_at is not None and now >= key.expires_at:
            raise Unauthorized(f"The API key {key.id} has ended. Ask for another one.")
        self._note_use(stored, now)
        [named] = await name_collections(self._names, [key])
        return named

    async def exist(self) -> bool:
        # Keys are never deleted, so the answer changes once.
        if not self._any and self._clock() >= self._any_until:
            try:
                self._any = await self._store.any()
            except StateUnavailable:
                # While the store is away nobody makes a first key either.
                if not self._asked:
                    raise
            self._asked = True
            self._any_until = self._clock() + FRESH
        return self._any

    async def require_credentials(self) -> None:
        """From now on let nobody in without a credential, as with the first key."""
        if not await self.exist():
            await self._store_key(StoredKey(NOBODYS, ""))
            self._any = True

    async def end_session(self, name: str, until: float) -> None:
        await self._store.end_session(name, until, self._clock())
        self._sessions.pop(name, None)

    async def has_ended(self, name: str) -> bool:
        now = self._clock()
        ended, fresh_until = self._sessions.get(name, (False, 0.0))
        if not 0 <= fresh_until - now <= FRESH:
            ended = await self._store.has_ended(name)
            self._sessions[name] = (ended, now + FRESH)
            while len(self._sessions) > MAX_REMEMBERED:
                self._sessions.popitem(last=False)
        return ended

    async def aclose(self) -> None:
        """Wait for what is being written."""
        if self._writing:
            await asyncio.wait(self._writing)

    async def _store_key(self, stored: StoredKey) -> None:
        await self._store.put(stored)
        self._seen.pop(stored.key.id, None)

    async def _find_key(self, tenant: str | None, id: str) -> StoredKey:
        stored = await self._store.find(id)
        if stored is None or tenant not in (None, stored.key.tenant):
            raise UnknownKey(id)
        return stored

    async def _read(self, id: str) -> StoredKey | None:
        """Return the key as it was at most FRESH seconds ago."""
        if not id:
            return None
        seen = self._seen.get(id)
        if seen is None or not 0 <= seen.until - self._clock() <= FRESH:
            asked = self._clock()
            seen = _Seen(await self._store.find(id), asked + FRESH)
            self._seen[id] = seen
            while len(self._seen) > MAX_REMEMBERED:
                self._seen.popitem(last=False)
        return seen.stored

    def _note_use(self, stored: StoredKey, now: float) -> None:
        key, used = stored.key, stored.key.used_at
        if used is not None and now - used < USED_SECONDS:
            return
        seen = self._seen.get(key.id)
        if seen is not None:
            noted = replace(stored, key=replace(key, used_at=now))
            self._seen[key.id] = replace(seen, stored=noted)
        task = asyncio.create_task(self._touch(key.id, now))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _touch(self, id: str, now: float) -> None:
        try:
            await self._store.touch(id, now)
        except RagstoneError as error:
            log.warning("The last use of key %s was not noted: %s", id, error)


async def name_collections(source: CollectionNames, records: Sequence[T]) -> list[T]:
    """Return keys or people with the names of the collections that they reach; those that are gone
    are in none of them."""
    ids: dict[str, set[str]] = {}
    for record in records:
        if record.collections:
            ids.setdefault(record.tenant, set()).update(record.collections)
    names = {tenant: await source.names(tenant, some) for tenant, some in ids.items()}
    return [_with_collection_names(record, names.get(record.tenant, {})) for record in records]


def _with_collection_names(record: T, names: Mapping[str, str]) -> T:
    if record.collections is None:
        return record
    return replace(record, collections=tuple(names[id] for id in record.collections if id in names))


def _matches_secret(stored: StoredKey, given: str, now: float) -> bool:
    old = now < stored.old_until and is_same_digest(given, stored.old_digest)
    return is_same_digest(given, stored.digest) or old


def _check(grant: KeyGrant) -> None:
    """Raise InputError unless a key may be made of this."""
    names = {"name": grant.name, "tenant": grant.tenant, "user": grant.user or "its own"}
    if grant.user.startswith(OF_A_KEY):
        raise InputError(f"The key's user must not begin with {OF_A_KEY!r}: leave the user out.")
    for what, text in names.items():
        if not text.strip() or len(text) > MAX_CHARACTERS:
            raise InputError(f"The key's {what} must have 1 to {MAX_CHARACTERS} characters.")
    for what, texts in (("groups", grant.groups), ("collections", grant.collections or ())):
        if len(texts) > MAX_NAMES or not all(0 < len(t) <= MAX_CHARACTERS for t in texts):
            raise InputError(
                f"The key's {what} must be at most {MAX_NAMES:,} names "
                f"of 1 to {MAX_CHARACTERS} characters."
            )
    if grant.role not in get_args(Role):
        raise InputError(f"The key's role must be one of {', '.join(get_args(Role))}.")
    _check_sites(grant)
    if grant.seconds is not None and not 0 < grant.seconds <= LONGEST_SECONDS:
        raise InputError("A key must end in the future, and within 100 years.")


def _check_sites(grant: KeyGrant) -> None:
    """Raise InputError unless these can be the sites of a widget."""
    if grant.sites is None:
        return
    if grant.role != "reader" or grant.user:
        raise InputError(
            "The key of a widget only asks, for whoever opens the page: give it the role reader, "
            "and no user."
        )
    if not 0 < len(grant.sites) <= MAX_SITES:
        raise InputError(f"A widget stands on 1 to {MAX_SITES} sites. Name them.")
    for site in grant.sites:
        if len(site) > MAX_CHARACTERS or not _SITE.fullmatch(site):
            raise InputError(
                f"{site[:100]!r} is not a site: write it as https://www.example.org, with small "
                "letters, without a path and a slash at the end."
            )
