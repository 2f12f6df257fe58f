"""Finds the caller of a request by the credential in its headers.

A credential is an API key, a signed token, the operator's token, or what a trusted proxy says; it
comes as a bearer token or in the header `x-api-key` or `api-key`, never in an address, which logs
keep. Who has an account has the session of a browser. Where nothing of this is set up, the token in
the data directory shows the local user, as does the session of a browser that has shown it, and who
lacks both is a guest; where none is required, who has none is anonymous, and reads what is for
everyone.
"""

import hmac
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ragstone.access.proxy import TrustedProxy
from ragstone.access.secrets import PREFIX, digest, is_session, new_id, parse_session, sign_session
from ragstone.core.caller import ANONYMOUS, GUEST, LOCAL, LOCAL_USER, OF_A_KEY, OPERATOR, Caller
from ragstone.core.clock import state_time
from ragstone.core.errors import Unauthorized
from ragstone.core.records import ApiKey, Person
from ragstone.core.turn import Principal
from ragstone.service.keys import KeyService
from ragstone.service.people import PeopleService
from ragstone.settings import AuthSettings

if TYPE_CHECKING:
    from ragstone.access.tokens import Tokens

KEY_HEADERS = ("x-api-key", "api-key")
MAX_CREDENTIAL_CHARACTERS = 8192
"""Of a credential; a token with hundreds of groups has fewer."""


LOCAL_USER_HELP = (
    "This needs the token of the user who runs Ragstone, which 'ragstone token' prints. "
    "Send it as 'Authorization: Bearer TOKEN'."
)

ADMIN_KEY = f"{OF_A_KEY}settings"
"""The user of the key in the settings."""

OF_A_PERSON = "person:"
"""How the credential of a person's session begins."""

COOKIE = "ragstone_token"
"""What a browser sends by itself, once it has opened the address with the token."""

SESSION_SECONDS = 30 * 86_400
"""How long such a cookie counts, in a browser that never ends."""

OWN_PAGES = ("same-origin", "none")
"""What browsers say of a request (Sec-Fetch-Site) that a page of ours makes, or its user by hand. A
page at another port of this machine says `same-site`, and the cookie comes with it."""


@dataclass(frozen=True, slots=True)
class KnownTokens:
    """Tokens of the data directory: the operator's, and the local user's, which counts as long as
    no credentials are set; None lets everyone be that user."""

    operator: str
    local: str | None = None


class HeaderValues(Protocol):
    """The headers of a request, by name in small letters; a name may come several times."""

    def getlist(self, key: str) -> list[str]: ...


class Gate:
    """Finds the caller of a request. `tokens` and `proxy` are None where not set up."""

    def __init__(
        self,
        settings: AuthSettings,
        keys: KeyService,
        known: KnownTokens,
        tokens: "Tokens | None",
        proxy: TrustedProxy | None,
        people: PeopleService | None = None,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._known = known
        self._tokens = tokens
        self._proxy = proxy
        self._people = people

    async def aclose(self) -> None:
        """Close what fetches keys."""
        if self._tokens:
            await self._tokens.aclose()

    async def is_credential_required(self) -> bool:
        """Tell whether a request without a credential is refused."""
        if self._settings.required is not None:
            return self._settings.required
        return await self.has_credentials()

    async def has_credentials(self) -> bool:
        """Tell whether there is any credential besides the operator's token."""
        return self._settings.is_configured or await self._keys.exist()

    async def admits_guests(self) -> bool:
        """Tell whether no credentials are set up yet, and whoever reaches this machine may ask."""
        return await self._by_local_token() and self._settings.guests != "nothing"

    async def caller(
        self, headers: HeaderValues, address: str, visited: Callable[[], str | None] = lambda: None
    ) -> Caller:
        """Return the caller at `address`; raises Unauthorized, Unavailable. `visited` tells the
        tenant whose visitors need no credential here, None where they need one; it is asked where
        no credential counts."""
        given = read_credential(headers)
        if given and hmac.compare_digest(given.encode(), self._known.operator.encode()):
            return OPERATOR
        if self._is_admin(given):
            return Caller(Principal(self._settings.tenant, ADMIN_KEY), key=ADMIN_KEY)
        if await self._by_local_token():
            is_local = self._is_local(given) or await self._is_local_session(_cookie(headers))
            return self._local_user(is_local, given, visited)
        if given and (given.startswith(PREFIX) or self._tokens):
            return await self.check_credential(given)
        if self._proxy:
            named = self._proxy.caller(headers, address)
            if named:
                return await find_named(self._people, named)
        person = None if given else await self.session_person(headers)
        if person:
            return caller_of_person(person)
        return await self._without_credential(given, address, visited())

    async def check_credential(self, given: str) -> Caller:
        """Return who an API key or a signed token is of; raises Unauthorized, Unavailable."""
        if len(given) > MAX_CREDENTIAL_CHARACTERS:
            raise Unauthorized(
                f"The credential is longer than {MAX_CREDENTIAL_CHARACTERS:,} characters. Check it."
            )
        if given.startswith(PREFIX) or self._tokens is None:
            return caller_of_key(await self._keys.whose(given))
        caller = await self._tokens.caller(given)
        if await self._keys.has_ended(self._tokens.session(given)[0]):
            raise Unauthorized("You have signed out. Sign in again.")
        return await find_named(self._people, caller)

    async def session_person(self, headers: HeaderValues) -> Person | None:
        """Return the person whose session a browser shows."""
        cookie = _cookie(headers)
        return await self._people.whose(cookie) if self._people and cookie else None

    def new_session(self) -> str:
        """Return what stands for the local token in a browser, until somebody signs out there."""
        until = int(state_time() + SESSION_SECONDS)
        return sign_session(new_id(), digest(self._known.local or ""), until)

    async def end_sessions(self, headers: HeaderValues) -> None:
        """End the sessions that a request shows. A key is not a session: others may use it too."""
        cookie, given = _cookie(headers), read_credential(headers)
        if await self._is_local_session(cookie):
            id, until = parse_session(cookie) or ("", 0)
            await self._keys.end_session(id, until)
        if cookie and self._people:
            await self._people.end_session(cookie)
        if given and self._tokens and not given.startswith(PREFIX):
            with suppress(Unauthorized):
                await self.check_credential(given)
                await self._keys.end_session(*self._tokens.session(given))

    async def is_local_token(self, given: str) -> bool:
        """Tell whether this is the token of the local user, and counts now."""
        return self._is_local(given) and await self._by_local_token()

    async def _by_local_token(self) -> bool:
        return self._settings.required is None and not await self.has_credentials()

    def _is_admin(self, given: str) -> bool:
        expected = self._settings.admin_key.get_secret_value()
        return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())

    def _is_local(self, given: str) -> bool:
        expected = self._known.local or ""
        return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())

    async def _is_local_session(self, given: str) -> bool:
        id, until = parse_session(given) or ("", 0)
        if not self._known.local or not is_session(given, digest(self._known.local)):
            return False
        return state_time() < until and not await self._keys.has_ended(id)

    def _local_user(self, is_local: bool, given: str, visited: Callable[[], str | None]) -> Caller:
        if self._known.local is None:
            return LOCAL
        if is_local:
            return LOCAL_USER
        if self._settings.guests == "nothing" and (given or visited() is None):
            raise Unauthorized(LOCAL_USER_HELP)
        # Clients of OpenAI's interface send a key even where none is asked for.
        return GUEST

    async def _without_credential(self, given: str, address: str, visited: str | None) -> Caller:
        if given and await self.has_credentials():
            raise Unauthorized("This credential is not known here. Check it, or ask for one.")
        if visited is not None and not given:
            return self._anonymous(address, visited)
        if not await self.is_credential_required():
            return self._anonymous(address, self._settings.tenant)
        raise Unauthorized(
            "This needs a credential. Send an API key as 'Authorization: Bearer KEY'."
        )

    def _anonymous(self, address: str, tenant: str) -> Caller:
        """Make the caller of who has no credential; its address tells it apart in limits."""
        principal = replace(ANONYMOUS.principal, tenant=tenant)
        return replace(ANONYMOUS, principal=principal, key=f"{ANONYMOUS.key}:{address}")


def read_credential(headers: HeaderValues) -> str:
    """The credential that a request carries, empty for none; raises Unauthorized for several."""
    for name in (*KEY_HEADERS, "authorization"):
        if len(headers.getlist(name)) > 1:
            raise Unauthorized(f"The header {name} came twice. Send it once.")
    found = {value.strip() for name in KEY_HEADERS for value in headers.getlist(name)}
    for value in headers.getlist("authorization"):
        scheme, _, rest = value.strip().partition(" ")
        if scheme.lower() == "bearer":
            found.add(rest.strip())
    found.discard("")
    if len(found) > 1:
        raise Unauthorized("The request carries different credentials. Send one of them.")
    return found.pop() if found else ""


def _cookie(headers: HeaderValues) -> str:
    """The token that a browser sends by itself, empty for none, or for a page that is not ours."""
    if headers.getlist("sec-fetch-site") not in ([place] for place in OWN_PAGES):
        return ""
    pairs = [item.strip() for line in headers.getlist("cookie") for item in line.split(";")]
    found = {pair.removeprefix(f"{COOKIE}=") for pair in pairs if pair.startswith(f"{COOKIE}=")}
    return found.pop() if len(found) == 1 else ""


async def check_named(people: PeopleService | None, caller: Caller) -> Person | None:
    """Return the provisioned account of whom others name, None without. Raises Unauthorized where
    another account has the name, and where it is not active."""
    whose = caller.principal
    person = await people.find_account(whose.tenant, whose.user) if people else None
    if person and person.origin != "provisioned":
        raise Unauthorized("An account here has your name. Sign in with its password.")
    if person and not person.active:
        raise Unauthorized("Your account is deactivated. Ask an administrator.")
    return person


async def find_named(people: PeopleService | None, caller: Caller) -> Caller:
    """Return the caller whom others name: with the rights of the provisioned account, within the
    same collections, where there is one. Raises Unauthorized as `check_named`."""
    person = await check_named(people, caller)
    if person is None:
        return caller
    named, reach = caller_of_person(person), person.collections
    if caller.collections is not None:
        reach = tuple(name for name in caller.collections if named.reaches(name))
    return replace(named, collections=reach, key=caller.key)


def caller_of_person(person: Person) -> Caller:
    """Return the caller of a person's session."""
    principal = Principal(person.tenant, person.name, person.groups)
    return Caller(
        principal, person.role, person.collections, f"{OF_A_PERSON}{person.tenant}:{person.name}"
    )


def caller_of_key(key: ApiKey) -> Caller:
    """Return the caller of an API key."""
    principal = Principal(key.tenant, key.user, key.groups)
    widget = key.sites is not None
    return Caller(principal, key.role, key.collections, f"key:{key.id}", only_asks=widget)
