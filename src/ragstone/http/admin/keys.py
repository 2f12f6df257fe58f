"""API keys over HTTP: an admin's for the own tenant, the operator's for all of them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import Response

from ragstone.core.caller import Caller, Role
from ragstone.core.errors import Forbidden, UnknownKey
from ragstone.core.records import ApiKey
from ragstone.http.bodies import ClosedBody, Text
from ragstone.http.identity import Who, request_tenant
from ragstone.http.middleware import require_key
from ragstone.http.openapi import document_responses
from ragstone.http.responses import Json
from ragstone.service import Service, wire
from ragstone.service.keys import GRACE_SECONDS, IssuedKey, KeyGrant

Name = Annotated[Text, Field(min_length=1, max_length=255)]
Names = Annotated[list[Name], Field(max_length=1000)]
_CENTURY = 100 * 365 * 86_400


class CreateKey(ClosedBody):
    """The body of POST /api/v1/keys."""

    name: Name = Field(description="What it is for.")
    tenant: Name | None = Field(None, description="The operator may name any; else the own one.")
    user: Name | None = Field(None, description="Who asks with it; null for the key itself.")
    groups: Names = Field([], description="The groups that this user is in.")
    collections: Names | None = Field(None, description="What it reaches; null for all.")
    role: Role = Field("reader", description="reader, editor or admin.")
    sites: Annotated[list[Name], Field(max_length=50)] | None = Field(
        None,
        description="The pages on which its widget stands, as https://www.example.org; null for "
        "a key that is not a widget's.",
    )
    expires_in: float | None = Field(
        None, gt=0, le=_CENTURY, description="In how many seconds it ends; null for never."
    )


class RotateKey(ClosedBody):
    """The body of POST /api/v1/keys/{id}/rotate."""

    grace_seconds: float = Field(
        GRACE_SECONDS, ge=0, le=_CENTURY, description="How long the old secret still holds."
    )


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/keys."""
    routes = APIRouter(prefix="/api/v1/keys", tags=["API keys"])
    allowed = [Depends(require_key)]

    @routes.get("/self", response_model=None)
    async def self(caller: Who) -> Response:
        """What the credential of this request allows."""
        return Json(_caller(caller))

    @routes.get("", response_model=None, dependencies=allowed)
    async def list_keys(caller: Who, tenant: Annotated[str | None, Query()] = None) -> Response:
        """The keys of the tenant by the time they were made; the operator sees those of all."""
        whose = tenant if caller.operator else request_tenant(caller, tenant)
        found = await service.keys.list_all(whose)
        return Json({"keys": [wire.dump(key) for key in found if _covers(caller, key)]})

    @routes.post(
        "",
        response_model=None,
        dependencies=allowed,
        status_code=201,
        responses=document_responses("application/json", status=201),
    )
    async def create(body: CreateKey, caller: Who) -> Response:
        """A new key; its secret is in this answer alone."""
        return Json(_format_issued(await service.keys.create(_grant(body, caller))), 201)

    @routes.post("/{id}/rotate", response_model=None, dependencies=allowed)
    async def rotate(id: str, caller: Who, body: RotateKey | None = None) -> Response:
        """A new secret for a key; the old one holds for the grace period."""
        tenant = await _key_tenant(service, caller, id)
        grace = (body or RotateKey()).grace_seconds
        return Json(_format_issued(await service.keys.rotate(tenant, id, grace)))

    @routes.delete("/{id}", response_model=None, dependencies=allowed)
    async def revoke(id: str, caller: Who) -> Response:
        """End a key, in every server within two seconds."""
        tenant = await _key_tenant(service, caller, id)
        return Json({"key": wire.dump(await service.keys.revoke(tenant, id))})

    return routes


def _grant(body: CreateKey, caller: Caller) -> KeyGrant:
    """The rights of the new key, within those of the caller's credential."""
    collections = caller.collections if body.collections is None else tuple(body.collections)
    if not all(caller.reaches(name) for name in collections or ()):
        raise Forbidden("A key cannot reach collections that your own credential does not.")
    return KeyGrant(
        body.name,
        request_tenant(caller, body.tenant),
        body.user or "",
        tuple(body.groups),
        collections,
        body.role,
        body.expires_in,
        None if body.sites is None else tuple(body.sites),
    )


async def _key_tenant(service: Service, caller: Caller, id: str) -> str | None:
    """The tenant in which the caller may change this key; raises UnknownKey."""
    tenant = None if caller.operator else caller.principal.tenant
    if caller.collections is not None:
        keys = await service.keys.list_all(tenant)
        if not any(key.id == id and _covers(caller, key) for key in keys):
            raise UnknownKey(id)
    return tenant


def _covers(caller: Caller, key: ApiKey) -> bool:
    """Whether the caller reaches every collection of a key."""
    if caller.collections is None:
        return True
    return key.collections is not None and all(map(caller.reaches, key.collections))


def _format_issued(issued: IssuedKey) -> dict[str, Any]:
    return {"key": wire.dump(issued.key), "secret": issued.secret}


def _caller(caller: Caller) -> dict[str, Any]:
    reach = caller.collections
    return {
        "key": caller.key,
        "tenant": caller.principal.tenant,
        "user": caller.principal.user,
        "groups": list(caller.principal.groups),
        "role": caller.role,
        "collections": None if reach is None else list(reach),
        "operator": caller.operator,
    }
