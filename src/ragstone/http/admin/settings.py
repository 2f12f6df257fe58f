"""The administrator's API of settings: what holds and why, changes of one or several, their log."""

from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.errors import InvalidSetting
from ragstone.http.bodies import ClosedBody
from ragstone.http.identity import Who, at_least, log_name, of_scope, of_tenant
from ragstone.http.responses import Json, well_formed
from ragstone.service import Service, wire
from ragstone.service.settings import SettingValue
from ragstone.settings.scope import GLOBAL, place

Tenant = Annotated[str, Query(max_length=255, description="As it holds for this tenant.")]
Collection = Annotated[str, Query(max_length=255, description="And for this collection of it.")]
Dialect = Annotated[
    str, Query(max_length=40, description="For questions that come through this dialect.")
]
Scope = Annotated[
    str,
    Query(
        max_length=600,
        description="global, dialect:<name>, tenant:<name> or collection:<tenant>/<name>.",
    ),
]


class _Body(ClosedBody):
    scope: str = Field("global", max_length=600, description="Where the change holds.")


class PutOne(_Body):
    """The body of PUT /api/v1/settings/{key}."""

    value: Any = Field(description="The new value.")


class PutSettings(_Body):
    """The body of PUT /api/v1/settings."""

    values: dict[str, Any] = Field(description="New values by key; all are set, or none.")


class Unset(_Body):
    """The body of POST /api/v1/settings/unset."""

    keys: list[str] = Field(min_length=1, max_length=200, description="Settings to take out.")


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/settings."""
    allowed = [Depends(at_least("admin"))]
    routes = APIRouter(prefix="/api/v1/settings", tags=["Settings"], dependencies=allowed)
    _add_reading(routes, service)
    _add_changing(routes, service)
    return routes


def _add_reading(routes: APIRouter, service: Service) -> None:
    @routes.get("", response_model=None)
    async def list_settings(
        who: Who, tenant: Tenant = "", collection: Collection = "", dialect: Dialect = ""
    ) -> Response:
        """Every setting by section: its value, where that comes from, and what it may be."""
        of_tenant(who, tenant, collection)
        found = await service.settings.list_all(tenant, collection, dialect)
        sections = [
            {"name": name, "settings": [wire.dump(item) for item in inside]}
            for name, inside in groupby(found, lambda item: item.key.rpartition(".")[0])
        ]
        return Json({"sections": sections})

    @routes.get("/audit", response_model=None)
    async def audit(
        who: Who,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
        key: Annotated[str, Query(max_length=200)] = "",
        scope: Annotated[str, Query(max_length=600)] = "",
    ) -> Response:
        """Who changed what, the newest first."""
        _check_reach(who, scope or GLOBAL)
        found = await service.settings.log(limit, key, scope)
        return Json({"changes": [wire.dump(item) for item in found]})

    @routes.get("/{key:path}", response_model=None)
    async def one(
        key: str, who: Who, tenant: Tenant = "", collection: Collection = "", dialect: Dialect = ""
    ) -> Response:
        """One setting with every place that has a value for it."""
        of_tenant(who, tenant, collection)
        value = await service.settings.get(key, tenant, collection, dialect)
        layers = await service.settings.explain(key, tenant, collection, dialect)
        return Json({**wire.dump(value), "layers": [wire.dump(layer) for layer in layers]})


def _add_changing(routes: APIRouter, service: Service) -> None:
    @routes.put("", response_model=None)
    async def put(body: PutSettings, who: Who) -> Response:
        """Change several settings; all of them or, if one cannot be, none."""
        _check_reach(who, body.scope)
        changed = await service.settings.put(_check_scope(body.scope), body.values, log_name(who))
        return Json({"settings": _dump_values(changed)})

    @routes.post("/unset", response_model=None)
    async def unset(body: Unset, who: Who) -> Response:
        """Take several settings out of a scope."""
        _check_reach(who, body.scope)
        changed = await service.settings.unset(_check_scope(body.scope), body.keys, log_name(who))
        return Json({"settings": _dump_values(changed)})

    @routes.put("/{key:path}", response_model=None)
    async def put_one(key: str, body: PutOne, who: Who) -> Response:
        """Change one setting."""
        _check_reach(who, body.scope)
        values = {key: body.value}
        [changed] = await service.settings.put(_check_scope(body.scope), values, log_name(who))
        return Json(wire.dump(changed))

    @routes.delete("/{key:path}", response_model=None)
    async def delete(key: str, who: Who, scope: Scope = "global") -> Response:
        """Take a setting out of a scope: what stands below it holds again."""
        _check_reach(who, scope)
        [changed] = await service.settings.unset(_check_scope(scope), [key], log_name(who))
        return Json(wire.dump(changed))


def _dump_values(changed: list[SettingValue]) -> list[Any]:
    return [wire.dump(value) for value in changed]


def _check_reach(who: Caller, scope: str) -> None:
    """Refuse a scope that is not the caller's to change."""
    here = place(scope)
    of_scope(who, here.tenant, here.collection)


def _check_scope(scope: str) -> str:
    if well_formed(scope) != scope or "\0" in scope:
        raise InvalidSetting("Not a valid scope: leave out characters that are no text.")
    return scope
