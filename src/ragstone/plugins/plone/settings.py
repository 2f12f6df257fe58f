"""Settings of the Plone site whose content is indexed."""

from typing import ClassVar

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.added import AddedSection
from ragstone.settings.aliases import PLONE, RECORD, Alias
from ragstone.settings.section import Names

CONTENT_TYPES = ("ContentPage", "News", "File", "Contact", "Book", "Chapter")

BASIC = "basic:"

STATE_ROLES = {
    "private": ("Reader", "Editor", "Contributor", "Owner"),
    "pending": ("Reader", "Editor", "Contributor", "Owner", "Reviewer"),
    "internal": ("Reader", "Editor", "Contributor", "Owner", "Member"),
    "internally_published": ("Reader", "Editor", "Contributor", "Owner", "Member"),
}
"""The states of Plone's own workflows that are not for everyone. Two of these have `pending`: the
roles are those of the narrower one."""


class PloneSettings(AddedSection):
    """Where the site is, what of it is indexed, and who may tell of changes."""

    # Other programs use the prefix PLONE__ too.
    model_config = ConfigDict(frozen=True, extra="ignore")

    aliases: ClassVar[tuple[Alias, ...]] = (
        Alias("RAG_ENABLED", "plone.enabled", PLONE),
        Alias(f"{RECORD}content_types", "plone.content_types", PLONE),
        Alias(f"{RECORD}error_message", "plone.error_message", PLONE),
    )

    enabled: bool = Field(True, description="Whether the site's content is asked and indexed.")
    error_message: str = Field(
        "The answer could not be made. Please try again later.",
        min_length=1,
        description="What is said when an answer fails.",
    )

    url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="The site's address, such as https://x.org/Plone.",
    )
    token: SecretStr = Field(
        SecretStr(""),
        description="Bearer token of a user who sees it all; or name:password of one, for which "
        "the site gives a token, or basic:name:password, which goes with each request.",
    )
    anonymous: bool = Field(
        False,
        description="Whether visitors without a credential ask, and read what Anonymous may view, "
        "where others need one.",
    )
    collection: str = Field("plone", min_length=1, description="Where its documents go.")
    tenant: ClassVar[str] = "default"
    """Whose documents they are: a server has one site, and is that site's."""

    content_types: Names = Field(
        CONTENT_TYPES, min_length=1, description="What is indexed (rag_content_types)."
    )
    state_roles: dict[str, Names] = Field(
        STATE_ROLES,
        description="Roles, local and global, that may view what is in a workflow state; what is "
        "in another state, and not for visitors, is for managers alone.",
    )
    webhook_secret: SecretStr = Field(
        SecretStr(""), description="Signs content events; without it none are taken."
    )

    @property
    def basic(self) -> bool:
        """Whether name and password go with each request."""
        return self.token.get_secret_value().startswith(BASIC)

    @property
    def _pair(self) -> str:
        return self.token.get_secret_value().removeprefix(BASIC)

    @property
    def login(self) -> str:
        """The name of the user; empty with a bearer token, which has no colon."""
        name, colon, _ = self._pair.partition(":")
        return name if colon else ""

    @property
    def password(self) -> str:
        """The user's password."""
        return self._pair.partition(":")[2]

    @property
    def bearer(self) -> str:
        """The bearer token; empty with a name and password."""
        return "" if self.login else self.token.get_secret_value()
