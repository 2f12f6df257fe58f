"""The administrator's API of prompts: texts, versions, differences, and back again."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import AfterValidator, Field
from starlette.responses import Response

from ragstone.http.admin.reach import log_name, of_scope, of_tenant
from ragstone.http.bodies import ClosedBody, Text
from ragstone.http.identity import Who, at_least
from ragstone.http.responses import Json, well_formed
from ragstone.language.templates import LONGEST
from ragstone.service import Service, wire

MOST_VERSION = 2**31 - 1

Tenant = Annotated[
    str,
    Query(max_length=255, description="Whose prompt; empty for all tenants."),
    AfterValidator(lambda value: well_formed(value).replace("\0", "")),
]
Version = Annotated[int, Query(ge=0, le=MOST_VERSION)]


class _Body(ClosedBody):
    tenant: Text = Field("", max_length=255, description="Whose prompt; empty for all tenants.")


class PutPrompt(_Body):
    """The body of PUT /api/v1/prompts/{name}."""

    text: str = Field(min_length=1, max_length=LONGEST, description="The whole prompt.")


class CheckPrompt(ClosedBody):
    """The body of POST /api/v1/prompts/{name}/check."""

    text: str = Field(description="The whole prompt.")


class Rollback(_Body):
    """The body of POST /api/v1/prompts/{name}/rollback."""

    version: int = Field(ge=1, le=MOST_VERSION, description="The version to be the newest again.")


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/prompts."""
    allowed = [Depends(at_least("admin"))]
    routes = APIRouter(prefix="/api/v1/prompts", tags=["Prompts"], dependencies=allowed)
    _add_reading(routes, service)
    _add_changing(routes, service)
    return routes


def _add_reading(routes: APIRouter, service: Service) -> None:
    @routes.get("", response_model=None)
    async def list_prompts(who: Who, tenant: Tenant = "") -> Response:
        """Every prompt as it holds."""
        of_tenant(who, tenant)
        return Json(
            {"prompts": [wire.dump(item) for item in await service.prompts.list_all(tenant)]}
        )

    @routes.get("/{name}", response_model=None)
    async def one(name: Text, who: Who, tenant: Tenant = "", version: Version = 0) -> Response:
        """A prompt as it holds, or an earlier version of it."""
        of_tenant(who, tenant)
        return Json(wire.dump(await service.prompts.get(name, tenant, version)))

    @routes.get("/{name}/versions", response_model=None)
    async def versions(name: Text, who: Who, tenant: Tenant = "") -> Response:
        """Every version of a prompt, the newest first."""
        of_tenant(who, tenant)
        found = await service.prompts.versions(name, tenant)
        return Json({"versions": [wire.dump(item) for item in found]})

    @routes.get("/{name}/diff", response_model=None)
    async def diff(
        name: Text, who: Who, old: Version, new: Version, tenant: Tenant = ""
    ) -> Response:
        """How two versions differ; version 0 is what stands below the store."""
        of_tenant(who, tenant)
        return Json({"diff": await service.prompts.diff(name, tenant, old, new)})


def _add_changing(routes: APIRouter, service: Service) -> None:
    @routes.put("/{name}", response_model=None)
    async def put(name: Text, body: PutPrompt, who: Who) -> Response:
        """Keep a new version, which holds for the next question."""
        of_scope(who, body.tenant, "")
        found = await service.prompts.put(name, body.text, body.tenant, log_name(who))
        return Json(wire.dump(found))

    @routes.post("/{name}/check", response_model=None)
    async def check(name: Text, body: CheckPrompt) -> Response:
        """Whether a text can be this prompt; nothing is kept."""
        await service.prompts.check(name, body.text)
        return Json({"valid": True})

    @routes.post("/{name}/rollback", response_model=None)
    async def rollback(name: Text, body: Rollback, who: Who) -> Response:
        """Make an earlier version the newest again."""
        of_scope(who, body.tenant, "")
        changed = await service.prompts.rollback(name, body.tenant, body.version, log_name(who))
        return Json(wire.dump(changed))

    @routes.delete("/{name}", response_model=None)
    async def reset(name: Text, who: Who, tenant: Tenant = "") -> Response:
        """Go back to what stands below the store, or below the tenant."""
        of_scope(who, tenant, "")
        return Json(wire.dump(await service.prompts.reset(name, tenant, log_name(who))))
