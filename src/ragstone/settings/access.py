"""Who may send requests, and how many."""

import ipaddress
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from ragstone.core.caller import Role
from ragstone.settings.section import Names, Section

Claim = Literal["user", "tenant", "groups", "role", "collections"]

CLAIMS: Mapping[Claim, str] = {"user": "sub", "groups": "groups", "role": "role"}
"""What the claims of a token are called unless the settings say otherwise."""


def _with_usual(given: dict[Claim, str]) -> dict[Claim, str]:
    return {**CLAIMS, **given}


Claims = Annotated[dict[Claim, str], AfterValidator(_with_usual)]


class AuthSettings(Section):
    """Credentials besides API keys, which `ragstone keys` makes."""

    required: bool | None = Field(
        None,
        description="Whether every request needs a credential; empty for as soon as there is an "
        "API key, a JWKS address or a trusted proxy.",
    )
    guests: Literal["ask", "nothing", "everything"] = Field(
        "ask",
        description="What they may who are on this machine and do not show the token that "
        "'ragstone token' prints, as long as there is no credential: ask; nothing; or everything, "
        "as admins.",
    )
    admin_key: SecretStr = Field(
        SecretStr(""),
        description="A secret of 32 characters or more that is an admin's key, for containers; "
        "empty for only those that 'ragstone keys' makes.",
    )
    jwks_url: str = Field(
        "", description="Address of the keys that sign tokens (OIDC); empty for no tokens."
    )
    issuer: str = Field("", description="What a token's iss must be.")
    audience: Names = Field((), description="What a token's aud must contain one of.")
    client_id: str = Field(
        "",
        max_length=255,
        description="What the issuer calls this server's web page: people then sign in there too; "
        "empty for keys alone.",
    )
    client_secret: SecretStr = Field(
        SecretStr(""), description="The secret of AUTH__CLIENT_ID, if the issuer gave it one."
    )
    scopes: str = Field(
        "openid profile email",
        min_length=1,
        description="What the page asks the issuer for, with spaces between them.",
    )
    claims: Claims = Field(
        dict(CLAIMS),
        description="Claims of a token where they are called otherwise, as JSON: user (sub), "
        "groups (groups) and role (role, one or several); tenant and collections, which a token "
        "needs as soon as they are named here, else it has AUTH__TENANT and all collections. Dots "
        'lead inside: {"user": "email", "role": "realm_access.roles"}.',
    )
    tenant: str = Field("default", min_length=1, description="The tenant of who names none.")
    roles: dict[str, Role] = Field(
        {}, description='What roles are called elsewhere, as JSON: {"kb-admins": "admin"}.'
    )

    proxy_secret: SecretStr = Field(
        SecretStr(""), description="What a trusted proxy sends in the header x-proxy-secret."
    )
    proxy_addresses: Names = Field(
        (), description="Addresses or networks of trusted proxies, e.g. 10.0.0.0/8."
    )

    @property
    def is_configured(self) -> bool:
        """Whether the settings have any credential."""
        return self.by_token or self.by_proxy or bool(self.admin_key.get_secret_value())

    @property
    def by_token(self) -> bool:
        """Whether signed tokens are taken."""
        return bool(self.jwks_url)

    @property
    def by_proxy(self) -> bool:
        """Whether a proxy may say who asks."""
        return bool(self.proxy_secret.get_secret_value() or self.proxy_addresses)

    @field_validator("proxy_addresses")
    @classmethod
    def _networks(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            try:
                ipaddress.ip_network(name, strict=False)
            except ValueError as error:
                raise ValueError(f"{name!r} is not an address or network") from error
        return names

    @field_validator("admin_key")
    @classmethod
    def _long(cls, secret: SecretStr) -> SecretStr:
        length = len(secret.get_secret_value())
        if length and (length < 32 or not secret.get_secret_value().isascii()):
            raise ValueError("use 32 ASCII characters or more, e.g. of openssl rand -hex 32")
        return secret

    @model_validator(mode="after")
    def _tokens_are_ours(self) -> "AuthSettings":
        if self.jwks_url and not (self.issuer and self.audience):
            raise ValueError(
                "set AUTH__ISSUER and AUTH__AUDIENCE too, or any token of that issuer would do"
            )
        if self.jwks_url and not self.jwks_url.startswith(("https://", "http://")):
            raise ValueError("jwks_url must begin with https:// or http://")
        if self.client_id and not self.jwks_url:
            raise ValueError("AUTH__CLIENT_ID needs AUTH__JWKS_URL, or no token would be accepted")
        issuer = urlsplit(self.issuer)
        if self.client_id and not (issuer.scheme in ("https", "http") and issuer.hostname):
            raise ValueError("AUTH__CLIENT_ID needs an AUTH__ISSUER that is an address")
        return self


class LimitSettings(Section):
    """What one credential may ask for; the local user and the operator have no such limits.

    With CACHE__URL all servers count together, otherwise each for itself.
    """

    requests_per_minute: int = Field(
        600, ge=0, description="Requests of one credential in a minute; 0 for no limit."
    )
    tokens_per_minute: int = Field(
        0, ge=0, description="Tokens of the chat model in a minute, in and out; 0 for no limit."
    )
