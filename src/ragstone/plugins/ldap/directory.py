"""Asks an LDAP server who somebody is, and whether a password is theirs."""

import asyncio
import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ldap3 import NONE, Connection, Server, Tls
from ldap3.core.exceptions import (
    LDAPConstraintViolationResult,
    LDAPException,
    LDAPInappropriateAuthenticationResult,
    LDAPInvalidCredentialsResult,
    LDAPSASLPrepError,
    LDAPUnwillingToPerformResult,
)
from ldap3.utils.conv import escape_filter_chars

from ragstone.core.errors import Unavailable
from ragstone.local.people import normalize_name
from ragstone.plugins.ldap.settings import LdapPlace, LdapSettings
from ragstone.ports.state import DirectoryEntry

log = logging.getLogger(__name__)

SECONDS = 5
"""For which a connection and each answer are waited for."""

AT_ONCE = 8
"""Sign-ins that ask the server at a time; others wait."""

DISPLAY = ("displayName", "cn")
MEMBERS = "(|(member={dn})(uniqueMember={dn})(memberUid={name}))"
"""Groups of a person, as RFC 2307, groupOfNames, groupOfUniqueNames and Active Directory say it."""

REFUSALS = (
    LDAPConstraintViolationResult,
    LDAPInappropriateAuthenticationResult,
    LDAPInvalidCredentialsResult,
    LDAPSASLPrepError,
    LDAPUnwillingToPerformResult,
)
"""What a wrong password ends in, a locked account, and one without a password."""

MAX_GROUP = 255
"""Characters of a group's name."""

Entry = dict[str, Any]


class CheckedTls(Tls):  # type: ignore[misc]
    """TLS as Python checks it: the certificate, its name or address, and who signed it."""

    def __init__(self) -> None:
        # ldap3's own check knows no addresses; it is not needed after Python's.
        super().__init__(validate=ssl.CERT_NONE)

    def wrap_socket(self, connection: Connection, do_handshake: bool = False) -> None:
        """Encrypt a connection; raises OSError for a certificate that is not right."""
        context = ssl.create_default_context()
        host = connection.server.host
        connection.socket = context.wrap_socket(connection.socket, server_hostname=host)


class LdapDirectory:
    """`ports.directories.Directory` on an LDAP server."""

    def __init__(self, place: LdapPlace, settings: LdapSettings) -> None:
        self._place = place
        self._password = settings.password.get_secret_value()
        self._groups = {name.casefold(): group for name, group in settings.groups.items()}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def check(self, name: str, password: str) -> DirectoryEntry | None:
        """Return whose name and password these are."""
        if not password:
            # A server lets anybody in as nobody who gives a name and no password (RFC 4513, 5.1.2).
            return None
        async with self._places:
            return await asyncio.to_thread(self._check, name, password)

    async def find(self, name: str) -> DirectoryEntry | None:
        """Return the entry of this name."""
        async with self._places:
            return await asyncio.to_thread(self._find, name)

    def _check(self, name: str, password: str) -> DirectoryEntry | None:
        with self._connect(self._place.bind_dn, self._password) as connection:
            entry = self._search_person(connection, name)
            if entry is None:
                return None
            try:
                with self._connect(entry["dn"], password):
                    pass
            except REFUSALS:
                return None
            return self._read(connection, entry, name)

    def _find(self, name: str) -> DirectoryEntry | None:
        with self._connect(self._place.bind_dn, self._password) as connection:
            entry = self._search_person(connection, name)
            return self._read(connection, entry, name) if entry else None

    @contextmanager
    def _connect(self, user: str, password: str) -> Iterator[Connection]:
        """A connection of a user, of nobody without one. Raises Unavailable, and
        one of REFUSALS for a person who is not let in."""
        place = self._place
        # A new one each time: ldap3 takes a server that did not answer once for gone.
        server = Server(
            place.host,
            place.port,
            use_ssl=place.encryption == "tls",
            tls=CheckedTls(),
            get_info=NONE,
            connect_timeout=SECONDS,
        )
        connection = Connection(
            server,
            user or None,
            password or None,
            auto_referrals=False,
            raise_exceptions=True,
            receive_timeout=SECONDS,
            read_only=True,
        )
        try:
            connection.open()
            if place.encryption == "starttls" and not connection.start_tls():
                raise OSError("StartTLS was refused")
            connection.bind()
            yield connection
        except (LDAPException, OSError) as error:
            if isinstance(error, REFUSALS) and user != place.bind_dn:
                raise
            log.error("The directory %s does not answer: %s", place.host, error)
            raise Unavailable(UNAVAILABLE) from error
        finally:
            with suppress(LDAPException, OSError):
                connection.unbind()
            if connection.socket:
                connection.socket.close()

    def _search_person(self, connection: Connection, name: str) -> Entry | None:
        place = self._place
        condition = f"(&{place.filter}({place.attribute}={escape_filter_chars(name)}))"
        found = _search(connection, place.base, condition, place.scope, (place.attribute, *DISPLAY))
        if len(found) > 1:
            log.warning("The directory has several entries of one name: nobody signs in with it.")
            return None
        # Servers compare otherwise than we do: another spelling must not be another user here.
        for entry in found:
            if name in map(normalize_name, _values(entry, place.attribute)):
                return entry
        return None

    def _read(self, connection: Connection, entry: Entry, name: str) -> DirectoryEntry:
        dn = escape_filter_chars(entry["dn"])
        condition = MEMBERS.format(dn=dn, name=escape_filter_chars(name))
        groups = []
        for group in _search(connection, self._place.base, condition, "SUBTREE", ("cn",)):
            names = [group["dn"], *_values(group, "cn")]
            if self._groups:
                known = [self._groups.get(item.casefold(), "") for item in names]
                groups += [item for item in known if item]
            else:
                groups += names[1:2]
        shown = [value for key in DISPLAY for value in _values(entry, key) if value.isprintable()]
        made = [item for item in groups if item.isprintable() and 0 < len(item) <= MAX_GROUP]
        return DirectoryEntry(shown[0] if shown else name, tuple(dict.fromkeys(made)))


UNAVAILABLE = "The directory of people does not answer. Try again soon; the server's log says why."


def _search(
    connection: Connection, base: str, condition: str, scope: str, attributes: tuple[str, ...]
) -> list[Entry]:
    connection.search(base, condition, scope, attributes=list(attributes))
    return [item for item in connection.response or [] if item["type"] == "searchResEntry"]


def _values(entry: Entry, attribute: str) -> list[str]:
    """Return the values of an attribute, in whatever case the server names it."""
    for name, values in entry["raw_attributes"].items():
        if name.casefold() == attribute.casefold():
            return [value.decode("utf-8", "replace") for value in values]
    return []
