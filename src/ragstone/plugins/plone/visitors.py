"""Visitors of a Plone site, for whom the site itself asks: signed calls of the add-on
`ragstone-plone`.

The site says who asks, with the groups and roles that Plone found. The signature is that of content
events (`site.SignedEvents`) over the whole body, so a visitor can neither take another's name nor
another's roles; the nonce makes two equal questions of one second two calls. Nothing but this
collection is reached, and nothing but these calls.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragstone.access.proxy import read_user
from ragstone.core.caller import Caller
from ragstone.core.errors import InputError
from ragstone.core.turn import Principal
from ragstone.http.bodies import Text
from ragstone.http.responses import format_fault
from ragstone.plugins.plone.names import ANONYMOUS
from ragstone.plugins.plone.settings import PloneSettings

OWN = "ragstone:"
"""How the groups of the connectors begin, which no visitor is in."""

MAX_GROUPS = 1000

_T = TypeVar("_T", bound="_Signed")
_Name = Annotated[Text, Field(min_length=1, max_length=255)]
_Names = Annotated[list[_Name], Field(max_length=MAX_GROUPS)]


class _Signed(BaseModel):
    """What is signed is written by a program: what it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    nonce: str = Field(min_length=8, max_length=100)


class Visitor(BaseModel):
    """Who asks, as Plone says: no `user` is an anonymous visitor, whom `place` tells from others.
    `indexes` is of who may have content indexed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    user: Text = Field("", max_length=255)
    groups: _Names = Field(default_factory=list)
    roles: _Names = Field(default_factory=list)
    indexes: bool = False
    place: str = Field("", max_length=100)


class VisitorCall(_Signed):
    """What a visitor wants. `path` is below the site; `guidance` is the site's own prompt."""

    visitor: Visitor
    call: Literal["ask", "poll", "status", "index"]
    question: Text = Field("", max_length=5000)
    path: Text = Field("/", max_length=2000, pattern="^/")
    sync: bool = False
    guidance: Text = Field("", max_length=20_000)
    job_id: Text = Field("", max_length=200)
    uid: str = Field("", max_length=200, pattern="^[A-Za-z0-9_-]*$")
    portal_type: Text = Field("", max_length=200)


class SiteSettings(_Signed):
    """Records of the site's registry by their name in Plone's document; null takes one back."""

    records: dict[str, Any] = Field(min_length=1, max_length=50)


def visitor_call(body: bytes) -> VisitorCall:
    """Return the call in a signed body; raises InputError."""
    return _read(VisitorCall, body)


def site_settings(body: bytes) -> SiteSettings:
    """Return the records in a signed body; raises InputError."""
    return _read(SiteSettings, body)


def visitor_caller(visitor: Visitor, settings: PloneSettings) -> Caller:
    """Return the visitor as a caller that reaches the site's collection alone; raises Unauthorized
    for a name that no visitor has."""
    if not visitor.user:
        nobody = Principal(settings.tenant, "", ())
        return Caller(nobody, "reader", (settings.collection,), f"plone:{visitor.place}:anonymous")
    named = (*visitor.roles, *visitor.groups)
    groups = tuple(
        dict.fromkeys(item for item in named if item != ANONYMOUS and not item.startswith(OWN))
    )
    principal = Principal(settings.tenant, read_user(visitor.user), groups)
    role: Literal["editor", "reader"] = "editor" if visitor.indexes else "reader"
    return Caller(principal, role, (settings.collection,), f"plone:user:{visitor.user}")


def _read(kind: type[_T], body: bytes) -> _T:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])[:100] or "body"
        raise InputError(format_fault(place, first)) from error
