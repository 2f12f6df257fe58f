"""Settings of the directory."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, field_validator

from ragstone.settings.added import AddedSection

SCOPES = {"": "SUBTREE", "sub": "SUBTREE", "one": "LEVEL"}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class LdapPlace:
    """Where people are in a directory, as an address of RFC 4516 says."""

    host: str
    port: int
    encryption: Literal["tls", "starttls", "none"]
    base: str
    attribute: str
    scope: str
    filter: str
    bind_dn: str


def parse_place(url: str) -> LdapPlace:
    """Read an address such as `ldaps://dc1/ou=people,dc=x,dc=org?uid?sub?(objectClass=person)`.
    Raises ValueError."""
    parts = urlsplit(url)
    base, *rest = [unquote(part) for part in url.partition("://")[2].partition("/")[2].split("?")]
    attribute, scope, condition, extensions = (*rest, "", "", "", "")[:4]
    if parts.scheme not in ("ldap", "ldaps") or not parts.hostname or not base:
        raise ValueError("write it as ldaps://HOST/BASE?NAME-ATTRIBUTE?sub?(FILTER)?bindname=DN")
    if scope not in SCOPES:
        raise ValueError("the scope is sub or one")
    key, _, bind_dn = extensions.lstrip("!").partition("=")
    if extensions and key.lower() != "bindname":
        raise ValueError("the only extension is bindname")
    attribute = attribute or "uid"
    if not attribute.replace("-", "").isalnum() or not attribute.isascii():
        raise ValueError(f"{attribute!r} is not the name of one attribute")
    encryption: Literal["tls", "starttls", "none"] = "tls"
    if parts.scheme == "ldap":
        # A password never goes over a network in the clear.
        encryption = "none" if parts.hostname in LOOPBACK else "starttls"
    return LdapPlace(
        parts.hostname,
        parts.port or (636 if encryption == "tls" else 389),
        encryption,
        base,
        attribute,
        SCOPES[scope],
        condition or "(objectClass=person)",
        bind_dn,
    )


class LdapSettings(AddedSection):
    """The directory in which people are looked up when they sign in."""

    url: str = Field(
        "",
        description="Where people are, in RFC 4516: ldaps://HOST/BASE?ATTRIBUTE?sub?(FILTER)?"
        "bindname=DN, with the attribute of the name to sign in with (uid) and the DN that "
        "searches; with ldap:// by StartTLS. Empty for no directory.",
    )
    password: SecretStr = Field(SecretStr(""), description="The password of the DN that searches.")
    groups: dict[str, str] = Field(
        {},
        description="Groups of the directory, by their DN or cn, and the group here that each "
        'makes, as {"cn=hr,ou=groups,dc=example,dc=org": "hr"}. Empty: each by its cn.',
    )

    @field_validator("url")
    @classmethod
    def _readable(cls, url: str) -> str:
        if url:
            parse_place(url)
        return url
