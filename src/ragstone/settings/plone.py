"""The Plone site whose content is indexed."""

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.section import Names, Section

CONTENT_TYPES = ("ContentPage", "News", "File", "Contact", "Book", "Chapter")

STATE_ROLES = {
    "private": ("Reader", "Editor", "Contributor", "Owner"),
    "pending": ("Reader", "Editor", "Contributor", "Owner", "Reviewer"),
    "internal": ("Reader", "Editor", "Contributor", "Owner", "Member"),
    "internally_published": ("Reader", "Editor", "Contributor", "Owner", "Member"),
}
"""The states of Plone's own workflows that are not for everyone. Two of these have `pending`: the
roles are those of the narrower one."""


class PloneSettings(Section):
    """Where the site is, what of it is indexed, and who may tell of changes."""

    # Other programs use the prefix PLONE__ too.
    model_config = ConfigDict(frozen=True, extra="ignore")

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
    site_id: str = Field(
        "Plone",
        pattern="^[^/]*$",
        description="The site's name inside Zope, which paths may begin with.",
    )
    token: SecretStr = Field(SecretStr(""), description="Bearer token of a user who sees it all.")
    login: str = Field("", description="Name of a user who sees it all, instead of a token.")
    password: SecretStr = Field(SecretStr(""), description="Password of that user.")
    basic: bool = Field(
        False,
        description="Whether name and password go with each request, instead of once for a token.",
    )
    anonymous: bool = Field(
        False,
        description="Whether visitors without a credential ask, and read what Anonymous may view, "
        "where others need one.",
    )
    collection: str = Field("plone", min_length=1, description="Where its documents go.")
    tenant: str = Field("default", min_length=1, description="Whose documents they are.")
    content_types: Names = Field(
        CONTENT_TYPES, min_length=1, description="What is indexed (rag_content_types)."
    )
    state_roles: dict[str, Names] = Field(
        STATE_ROLES,
        description="Roles, local and global, that may view what is in a workflow state; what is "
        "in another state, and not for visitors, is for managers alone.",
    )
    timeout: float = Field(30.0, gt=0, description="Seconds that the site may be silent.")
    max_file_mb: int = Field(64, ge=1, description="Largest file, or page of objects, fetched.")
    webhook_secret: SecretStr = Field(
        SecretStr(""), description="Signs content events; without it none are taken."
    )
