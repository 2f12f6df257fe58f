"""Accounts on a store: inviting people, what they may, and signing them in."""

import logging
import re
import secrets
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from ragstone.access.secrets import (
    Passwords,
    check_password,
    digest,
    factor_address,
    find_step,
    needs_rehash,
    new_factor_secret,
    new_recovery_codes,
    recovery_digest,
)
from ragstone.core.caller import SCHEDULE, Role
from ragstone.core.clock import state_time
from ragstone.core.errors import (
    Conflict,
    Forbidden,
    InputError,
    RagstoneError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnknownPerson,
)
from ragstone.core.records import Origin, Person
from ragstone.core.turn import Principal
from ragstone.local.collections import identify_all_granted
from ragstone.local.keys import FRESH, MAX_CHARACTERS, USED_SECONDS, LocalKeys, name_collections
from ragstone.ports import CollectionNames, PeopleStore, PersonToken, StoredPerson, TokenKind
from ragstone.ports.state import Directory, DirectoryEntry
from ragstone.service.people import (
    INVITATION_DAYS,
    Invitation,
    OpenedSession,
    PersonSession,
    PersonView,
    SecondFactor,
    SignInTry,
)

log = logging.getLogger(__name__)

DAY = 86_400.0
SESSION_SECONDS, DEVICE_SECONDS = 30 * DAY, 365 * DAY
AGENT_CHARACTERS = 200
ID_CHARACTERS = 16
"""Of a digest, by which a session is named: it opens nothing."""

FREE_TRIES, FREE_TRIES_AT_ADDRESS = 5, 50
"""Passwords that may be wrong before there are pauses: for a name or a browser, and for an address,
which everyone behind a proxy shares."""

MAX_PAUSE = 300.0

RESERVED = frozenset({"local", "guest", "anonymous", "operator", SCHEDULE})
"""Names of users that stand for no person."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,99}", re.ASCII)
"""No letters beyond these: some of other alphabets look like them. A person is shown by another
name, which may have all."""

_SECRET = re.compile(r"[A-Z2-7]{32}", re.ASCII)

WRONG = "Name, password or code is not right. Try again."
NOT_INVITED = "This invitation does not count any more. Ask an administrator for another."


CHECK_SECONDS = 300.0
"""After which a directory is asked again whether it knows who has a session."""

CHECKED, TRIED = "checked_at", "tried_at"
"""Keys of the profile: when a directory last knew the person, and when it was last asked."""


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in RESERVED


def normalize_name(name: str) -> str:
    """Return a name as it is stored, whatever width and case it is typed in."""
    return unicodedata.normalize("NFKC", name).strip().lower()


def split_name(name: str, tenant: str) -> tuple[str, str]:
    """Tenant and name of what somebody signs in with; `tenant` is that of names without one."""
    given, _, name = name.rpartition("/")
    return given or tenant, normalize_name(name)


class LocalPeople:
    """`service.people.PeopleService` in this process. `tenant` is that of names without one,
    `clock` is in seconds since 1970.

    The store has the ids of the collections that people reach, `names` what they are called now.
    """

    def __init__(
        self,
        store: PeopleStore,
        names: CollectionNames,
        keys: LocalKeys,
        tenant: str,
        clock: Callable[[], float] = state_time,
        directories: Sequence[Directory] = (),
    ) -> None:
        self._store = store
        self._names = names
        self._keys = keys
        self._tenant = tenant
        self._clock = clock
        self._directories = directories
        self._passwords = Passwords()
        self._any, self._any_until = False, 0.0

    async def invite(
        self,
        principal: Principal,
        name: str,
        *,
        display: str | None = None,
        role: Role | None = None,
        groups: Sequence[str] | None = None,
        collections: Sequence[str] | None = None,
        days: float = INVITATION_DAYS,
        same_user: bool = False,
    ) -> Invitation:
        name, tenant = normalize_name(name), principal.tenant
        stored = await self._store.find(tenant, name)
        if stored is None:
            stored = await self._make(
                principal, name, display, role, groups, collections, same_user
            )
        elif (display, role, groups, collections) != (None,) * 4:
            raise Conflict(
                f"There is an account {name!r} already. Leave rights out to invite it anew, or "
                "change them with 'ragstone people change'."
            )
        else:
            await self._find(principal, name, admin=True)
        if stored.person.origin != "here":
            raise Conflict(f"{name!r} has no password here: a directory knows this account.")
        await self._store.end_tokens(tenant, name, ("invitation",))
        secret = await self._add_token("invitation", stored, days * DAY)
        view = await self._view(stored)
        return Invitation(view, secret, view.invited_until or 0.0)

    async def _make(
        self,
        principal: Principal,
        name: str,
        display: str | None,
        role: Role | None,
        groups: Sequence[str] | None,
        collections: Sequence[str] | None,
        same_user: bool,
        origin: Origin = "here",
    ) -> StoredPerson:
        if not _is_name(name):
            raise InputError(
                "Not a valid name: use 1 to 100 letters from a to z, digits and any of . _ @ + - "
                f"behind the first, and none of {', '.join(sorted(RESERVED))}."
            )
        if not same_user and await self._store.is_used(principal.tenant, name):
            raise Conflict(
                f"A key, a token or what was done here has the user {name!r} already. Choose "
                "another name, or say that it is the same user: the account then has what is that "
                "user's."
            )
        reach = principal.collections if collections is None else tuple(collections)
        _check(principal, display, role, groups, reach)
        person = Person(
            principal.tenant,
            name,
            display or name,
            tuple(groups or ()),
            await self._collection_ids(principal.tenant, reach),
            role or "reader",
            self._clock(),
            origin,
        )
        if not await self._store.add(StoredPerson(person)):
            raise Conflict(f"There is an account {name!r} already. Choose another name.")
        self._any = True
        return StoredPerson(person)

    async def list(self, principal: Principal) -> Sequence[PersonView]:
        views = [await self._view(s) for s in await self._store.list_all(principal.tenant)]
        return [view for view in views if _covers(principal, view)]

    async def show(self, principal: Principal, name: str, *, admin: bool = False) -> PersonView:
        return await self._view(await self._find(principal, name, admin))

    async def change(
        self,
        principal: Principal,
        name: str,
        *,
        display: str | None = None,
        role: Role | None = None,
        groups: Sequence[str] | None = None,
        collections: Sequence[str] | None = None,
        all_collections: bool = False,
    ) -> PersonView:
        stored = await self._find(principal, name, admin=True)
        gives_reach = all_collections or collections is not None
        reach = principal.collections if all_collections else collections
        _check(principal, display, role, groups, reach if gives_reach else ())
        values = {
            "display": display,
            "role": role,
            "groups": None if groups is None else tuple(groups),
        }
        changes: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
        if gives_reach:
            changes["collections"] = await self._collection_ids(principal.tenant, reach)
        ends: Sequence[TokenKind] = ("session",) if role not in (None, stored.person.role) else ()
        changed = await self._edit(
            stored, lambda old: replace(old, person=replace(old.person, **changes)), ends
        )
        if changed is None:
            raise UnknownPerson(name)
        return await self._view(changed)

    async def remove(self, principal: Principal, name: str) -> int:
        person = (await self._find(principal, name, admin=True)).person
        # Before the account: what is cut off in between can be done again.
        revoked = await self._revoke_keys(person)
        await self._store.remove(person.tenant, person.name)
        return revoked

    async def _revoke_keys(self, person: Person) -> int:
        keys = [
            key
            for key in await self._keys.list_all(person.tenant)
            if key.user == person.name and key.revoked_at is None
        ]
        for key in keys:
            await self._keys.revoke(person.tenant, key.id)
        return len(keys)

    async def provide(
        self,
        principal: Principal,
        name: str,
        origin: Origin,
        *,
        new: bool = False,
        display: str | None = None,
        role: Role | None = None,
        joins: Sequence[str] = (),
        leaves: Sequence[str] = (),
        active: bool | None = None,
        profile: Mapping[str, Any] | None = None,
    ) -> PersonView:
        name = normalize_name(name)
        _check(principal, display, role, joins, None)
        stored = await self._store.find(principal.tenant, name)
        if stored is not None and (new or stored.person.origin != origin):
            raise Conflict(f"There is an account {name!r} already. Choose another name.")
        if stored is None:
            stored = await self._make(principal, name, display, role, joins, None, True, origin)
        given = {"display": display, "role": role, "active": active}
        values: dict[str, Any] = {key: value for key, value in given.items() if value is not None}

        def change(old: StoredPerson) -> StoredPerson:
            kept = [group for group in old.person.groups if group not in leaves]
            groups = tuple(dict.fromkeys((*kept, *joins)))
            person = replace(old.person, groups=groups, **values)
            return replace(old, person=person, profile=old.profile if profile is None else profile)

        ends: Sequence[TokenKind] = ()
        if active is False:
            await self._revoke_keys(stored.person)
            ends = ("session", "device")
        elif role not in (None, stored.person.role):
            ends = ("session",)
        changed = await self._edit(stored, change, ends)
        if changed is None:
            raise UnknownPerson(name)
        return await self._view(changed)

    async def sessions(
        self, principal: Principal, name: str, *, admin: bool = False
    ) -> Sequence[PersonSession]:
        person = (await self._find(principal, name, admin)).person
        return [
            PersonSession(
                token.digest[:ID_CHARACTERS],
                token.begun_at,
                token.used_at,
                token.ends_at,
                token.agent,
            )
            for token in await self._store.tokens(person.tenant, person.name, self._clock())
            if token.kind == "session"
        ]

    async def sign_out(
        self, principal: Principal, name: str, *, session: str = "", admin: bool = False
    ) -> int:
        person = (await self._find(principal, name, admin)).person
        return await self._store.end_tokens(person.tenant, person.name, ("session",), session)

    async def set_password(self, principal: Principal, name: str, current: str, new: str) -> None:
        stored = await self._confirm(principal, name, current)
        check_password(new, stored.person.name, stored.person.display)
        hashed = await self._passwords.hash(new)
        await self._edit(stored, lambda old: replace(old, password=hashed), ("session", "device"))

    async def begin_second_factor(
        self, principal: Principal, name: str, password: str
    ) -> SecondFactor:
        import segno

        stored = await self._confirm(principal, name, password)
        secret = new_factor_secret()
        address = factor_address(secret, self._sign_in_name(stored.person))
        picture = segno.make(address, micro=False).svg_data_uri(scale=5, light="white")
        return SecondFactor(secret, address, picture)

    async def set_second_factor(
        self, principal: Principal, name: str, password: str, secret: str, code: str
    ) -> Sequence[str]:
        stored = await self._confirm(principal, name, password)
        step = find_step(secret, code, self._clock()) if _SECRET.fullmatch(secret) else 0
        if not step:
            raise InputError("This is not the code that the authenticator shows now. Try again.")
        codes = new_recovery_codes()
        kept = tuple(map(recovery_digest, codes))
        await self._edit(
            stored, lambda old: replace(old, totp=secret, totp_step=step, recovery=kept)
        )
        return codes

    async def end_second_factor(
        self, principal: Principal, name: str, password: str = "", *, admin: bool = False
    ) -> None:
        if admin and normalize_name(name) != principal.user:
            stored = await self._find(principal, name, admin)
        else:
            stored = await self._confirm(principal, name, password)
        await self._edit(stored, lambda old: replace(old, totp="", recovery=()))

    async def exist(self) -> bool:
        if self._directories:
            return True
        now = self._clock()
        if not 0 <= self._any_until - now <= FRESH:
            self._any = await self._store.any()
            self._any_until = now + FRESH
        return self._any

    async def find_account(self, tenant: str, name: str) -> Person | None:
        stored = (
            await self._store.find(tenant, normalize_name(name)) if await self.exist() else None
        )
        if stored is None:
            return None
        [person] = await name_collections(self._names, [stored.person])
        return person

    async def sign_in(self, given: SignInTry) -> OpenedSession:
        (tenant, name), now = split_name(given.name, self._tenant), self._clock()
        device = await self._store.find_token(digest(given.device), "device", now)
        is_known = device is not None and (device[0].tenant, device[0].user) == (tenant, name)
        counter = _counter("device", given.device) if is_known else _counter("name", tenant, name)
        at_address = _counter("address", given.address)
        # Who guesses from elsewhere must not keep somebody out of the own browser.
        await self._count_try(
            {counter: FREE_TRIES}
            if is_known
            else {counter: FREE_TRIES, at_address: FREE_TRIES_AT_ADDRESS}
        )
        stored = await self._store.find(tenant, name)
        # The same for a name that nobody has: neither words nor time tell.
        is_right = await self._passwords.match(given.password, stored.password if stored else "")
        if stored is None or stored.person.origin == "directory":
            stored = await self._check_directories(tenant, name, given.password)
            is_right = stored is not None
        if stored is None or not is_right or not stored.person.active:
            raise Unauthorized(WRONG)
        if stored.totp:
            if not given.code:
                return OpenedSession(person=stored.person)
            if await self._edit(stored, lambda old: _use_code(old, given.code, now)) is None:
                raise Unauthorized(WRONG)
        await self._store.forgive(counter, "" if is_known else at_address)
        if stored.password and needs_rehash(stored.password):
            hashed = await self._passwords.hash(given.password)
            await self._edit(stored, lambda old: replace(old, password=hashed))
            stored = replace(stored, password=hashed)
        return await self._open(stored, given.agent, given.device if is_known else "")

    async def read_invitation(self, secret: str) -> PersonView:
        stored = await self._find_invited(secret)
        return replace(await self._view(stored), name=self._sign_in_name(stored.person))

    async def accept(self, secret: str, password: str, agent: str = "") -> OpenedSession:
        person = (await self._find_invited(secret)).person
        check_password(password, person.name, person.display)
        hashed = await self._passwords.hash(password)
        # An account without this would leave everything open to who has no credential.
        await self._keys.require_credentials()
        changed = await self._store.edit(
            person.tenant,
            person.name,
            lambda old: replace(old, password=hashed),
            takes=digest(secret),
            ends=("session", "invitation", "device"),
        )
        if changed is None:
            raise InputError(NOT_INVITED)
        if changed.totp:
            return OpenedSession(person=changed.person)
        return await self._open(changed, agent, "")

    async def whose(self, session: str) -> Person | None:
        now = self._clock()
        found = await self._store.find_token(digest(session), "session", now)
        if found is None or not found[1].person.active:
            return None
        token, stored = found
        if stored.person.origin == "directory":
            checked = await self._check_again(stored, now)
            if checked is None:
                return None
            stored = checked
        if now - token.used_at >= USED_SECONDS:
            try:
                await self._store.touch(token.digest, now)
            except RagstoneError as error:
                log.warning("The last use of a session was not noted: %s", error)
        [person] = await name_collections(self._names, [stored.person])
        return person

    async def end_session(self, session: str) -> None:
        found = await self._store.find_token(digest(session), "session", self._clock())
        if found is not None:
            token = found[0]
            await self._store.end_tokens(token.tenant, token.user, ("session",), token.digest)

    async def _check_directories(
        self, tenant: str, name: str, password: str
    ) -> StoredPerson | None:
        """Return the account of whom a directory knows by this password, as it is known there now.
        Raises Unavailable."""
        if tenant != self._tenant or not password or not _is_name(name):
            return None
        for directory in self._directories:
            entry = await directory.check(name, password)
            if entry is not None:
                # As with a first password: else all stays open to who has no credential.
                await self._keys.require_credentials()
                return await self._keep_entry(name, entry)
        return None

    async def _check_again(self, stored: StoredPerson, now: float) -> StoredPerson | None:
        """Return the account of a session whose directory still knows it; None, and no session and
        key of it counts, where it does not. While none answers, what was known counts for a day."""
        person = stored.person
        checked, tried = (stored.profile.get(key, 0.0) for key in (CHECKED, TRIED))
        if now - tried < CHECK_SECONDS:
            return stored
        try:
            for directory in self._directories:
                entry = await directory.find(person.name)
                if entry is not None:
                    return await self._keep_entry(person.name, entry)
        except Unavailable as error:
            log.warning("A session was not checked: %s", error)
            if now - checked > DAY:
                return None
            profile = {CHECKED: checked, TRIED: now}
            return await self._edit(stored, lambda old: replace(old, profile=profile))
        whose = Principal(person.tenant)
        await self.provide(whose, person.name, "directory", active=False)
        return None

    async def _keep_entry(self, name: str, entry: DirectoryEntry) -> StoredPerson | None:
        """Keep what a directory says of somebody. Groups that others gave do not stay."""
        known = await self._store.find(self._tenant, name)
        had = known.person.groups if known else ()
        now = self._clock()
        await self.provide(
            Principal(self._tenant),
            name,
            "directory",
            display=entry.display,
            joins=entry.groups,
            leaves=[group for group in had if group not in entry.groups],
            active=True,
            profile={CHECKED: now, TRIED: now},
        )
        return await self._store.find(self._tenant, name)

    async def _find_invited(self, secret: str) -> StoredPerson:
        found = await self._store.find_token(digest(secret), "invitation", self._clock())
        if found is None:
            raise InputError(NOT_INVITED)
        return found[1]

    async def _find(self, principal: Principal, name: str, admin: bool) -> StoredPerson:
        """Return an account that the principal may see; raises UnknownPerson."""
        name = normalize_name(name)
        stored = await self._store.find(principal.tenant, name)
        if stored is None or not (admin or name == principal.user):
            raise UnknownPerson(name)
        if name != principal.user and not _covers(principal, await self._view(stored)):
            raise UnknownPerson(name)
        return stored

    async def _confirm(self, principal: Principal, name: str, password: str) -> StoredPerson:
        """Return the principal's own account, whose password this is. Raises UnknownPerson,
        InputError, TooManyRequests."""
        stored = await self._find(principal, name, admin=False)
        counter = _counter("own", principal.tenant, stored.person.name)
        await self._count_try({counter: FREE_TRIES})
        if not await self._passwords.match(password, stored.password):
            raise InputError("This is not your password. Try again.")
        await self._store.forgive(counter, "")
        return stored

    async def _count_try(self, counters: dict[str, int]) -> None:
        """Raise TooManyRequests while one of these has to wait."""
        wait = await self._store.begin_try(
            counters,
            lambda more: min(2.0**more, MAX_PAUSE) if more < 10 else MAX_PAUSE,
            self._clock(),
        )
        if wait:
            raise TooManyRequests("Too many wrong passwords. Wait a moment, then try again.", wait)

    async def _edit(
        self,
        stored: StoredPerson,
        change: Callable[[StoredPerson], StoredPerson | None],
        ends: Sequence[TokenKind] = (),
    ) -> StoredPerson | None:
        return await self._store.edit(stored.person.tenant, stored.person.name, change, ends=ends)

    async def _open(self, stored: StoredPerson, agent: str, device: str) -> OpenedSession:
        """Begin a session in a browser, which is new unless it has shown its `device`."""
        agent = "".join(char for char in agent if char.isprintable())[:AGENT_CHARACTERS]
        session = await self._add_token("session", stored, SESSION_SECONDS, agent)
        device = device or await self._add_token("device", stored, DEVICE_SECONDS)
        return OpenedSession(session, device, stored.person)

    async def _add_token(
        self, kind: TokenKind, stored: StoredPerson, seconds: float, agent: str = ""
    ) -> str:
        """Return the secret of a new token, with 256 random bits. Raises Unauthorized where the
        account has got another password meanwhile, or is gone."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        whose = stored.person.tenant, stored.person.name
        token = PersonToken(digest(secret), kind, *whose, now, now + seconds, now, agent)
        if not await self._store.add_token(token, stored.password):
            raise Unauthorized(WRONG)
        return secret

    async def _collection_ids(
        self, tenant: str, names: Sequence[str] | None
    ) -> tuple[str, ...] | None:
        return None if names is None else await identify_all_granted(self._names, tenant, names)

    def _sign_in_name(self, person: Person) -> str:
        if person.tenant == self._tenant:
            return person.name
        return f"{person.tenant}/{person.name}"

    async def _view(self, stored: StoredPerson) -> PersonView:
        [person] = await name_collections(self._names, [stored.person])
        tokens = await self._store.tokens(person.tenant, person.name, self._clock())
        invited = [token.ends_at for token in tokens if token.kind == "invitation"]
        used = [token.used_at for token in tokens if token.kind == "session"]
        return PersonView(
            person.name,
            person.display,
            person.tenant,
            person.role,
            person.groups,
            person.collections,
            person.created_at,
            bool(stored.password),
            bool(stored.totp),
            max(invited, default=None),
            max(used, default=None),
            person.origin,
            person.active,
            stored.profile,
        )


def _use_code(stored: StoredPerson, code: str, now: float) -> StoredPerson | None:
    """Return the account after a code of its second factor, None for one that does not count."""
    step = find_step(stored.totp, "".join(code.split()), now)
    if step > stored.totp_step:
        return replace(stored, totp_step=step)
    spent = recovery_digest(code)
    if spent not in stored.recovery:
        return None
    return replace(stored, recovery=tuple(kept for kept in stored.recovery if kept != spent))


def _counter(*parts: str) -> str:
    return digest("\n".join(parts))


def _covers(principal: Principal, view: PersonView) -> bool:
    """Tell whether the principal reaches every collection that an account does."""
    if principal.collections is None:
        return True
    return view.collections is not None and set(view.collections) <= set(principal.collections)


def _check(
    principal: Principal,
    display: str | None,
    role: str | None,
    groups: Sequence[str] | None,
    collections: Sequence[str] | None,
) -> None:
    """Raise InputError for what no account may have, Forbidden for what is not the principal's to
    give."""
    if display is not None and not (display.strip() and display.isprintable()):
        raise InputError("Not a valid name to show: use letters, digits, spaces and signs.")
    if role is not None and role not in get_args(Role):
        raise InputError(f"The role must be one of {', '.join(get_args(Role))}.")
    for group in groups or ():
        if not (group.strip() and group.isprintable() and len(group) <= MAX_CHARACTERS):
            raise InputError(f"Not a valid group: use 1 to {MAX_CHARACTERS} letters and signs.")
    reach = principal.collections
    if reach is not None and (collections is None or not set(collections) <= set(reach)):
        raise Forbidden("An account cannot reach collections that you do not.")
