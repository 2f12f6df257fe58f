"""The addresses of SCIM 2 (RFC 7644) over accounts and groups."""

import hmac
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import ValidationError
from scim2_models import (
    Context,
    Error,
    InvalidSyntaxException,
    ListResponse,
    NotFoundException,
    PatchOp,
    ResourceType,
    ResponseParameters,
    Schema,
    SCIMException,
    SearchRequest,
)
from starlette.responses import Response

from ragstone.access.asking import ASKING
from ragstone.access.gate import read_credential
from ragstone.core.caller import Caller
from ragstone.core.errors import Unauthorized
from ragstone.core.turn import Principal
from ragstone.http.addresses import base_address
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import open_to_all
from ragstone.http.responses import Refusal
from ragstone.plugins.scim.contract import SCIM
from ragstone.plugins.scim.directory import Groups, Users
from ragstone.plugins.scim.models import MAX_RESULTS, PROVIDER, Group, User

ROOT = "/scim/v2"
MEDIA_TYPE = "application/scim+json"
PAGE = 100
"""Resources of a listing whose request does not say how many."""

Object = dict[str, Any]
Work = Callable[[Request], Awaitable[Response]]


def respond(body: Object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response of SCIM, in pure ASCII."""
    return Response(json.dumps(body).encode(), status, headers, MEDIA_TYPE)


def respond_error(error: Error, headers: dict[str, str] | None = None) -> Response:
    """Return a refusal of SCIM."""
    return respond(error.model_dump(), error.status or 400, headers)


class ScimRoute(APIRoute):
    """A route whose refusals have SCIM's shape."""

    @staticmethod
    def format_refusal(refusal: Refusal) -> Response:
        return respond_error(Error(status=refusal.status, detail=refusal.message), refusal.headers)


Add = Callable[[str, str, Work], None]
"""Adds a route by method and path; `Work` knows that who asks has the token."""


def make_routes(parts: DialectParts, token: str) -> APIRouter:
    """Return the routes for who has the token."""
    routes = APIRouter(prefix=ROOT, route_class=ScimRoute, include_in_schema=False)
    caller = Caller(Principal(parts.settings.auth.tenant, "scim"), "admin", key="scim")

    def add(method: str, path: str, work: Work) -> None:
        @open_to_all
        async def endpoint(request: Request) -> Response:
            given = read_credential(request.headers)
            if not hmac.compare_digest(given.encode(), token.encode()):
                raise Unauthorized(
                    "This needs the token of SCIM__TOKEN. Send it as a bearer token."
                )
            ASKING.set(caller)
            with PROVIDER:
                try:
                    return await work(request)
                except SCIMException as error:
                    return respond_error(error.to_error())
                except ValidationError as error:
                    return respond_error(Error.from_validation_errors(error)[0])

        routes.add_api_route(path, endpoint, methods=[method], response_model=None)

    users, groups = ResourceRoutes(Users, parts), ResourceRoutes(Groups, parts)
    for kind in (users, groups):
        kind.add(add)
    _add_discovery(add, parts)

    async def search_all(request: Request) -> Response:
        asked = SearchRequest[User | Group].model_validate(await _read_body(request))
        # Each kind is read whole, and the limits hold for both together.
        found = [await kind.open(request).list(asked) for kind in (users, groups)]
        together = asked.sort([item for page in found for item in page])
        return respond_list(together, asked, User | Group)

    async def nothing(request: Request) -> Response:
        raise NotFoundException(detail="There is nothing at this address.")

    add("POST", "/.search", search_all)
    add("GET", "/{path:path}", nothing)
    return routes


def respond_list(resources: Sequence[Any], asked: SearchRequest[Any], kind: Any) -> Response:
    """Return the part of a listing that is asked for."""
    count = min(PAGE if asked.count is None else asked.count, MAX_RESULTS)
    start = asked.start_index or 1
    chosen = list(resources[start - 1 : start - 1 + count])
    listed = ListResponse[kind](
        total_results=len(resources),
        start_index=start,
        items_per_page=len(chosen),
        resources=chosen,
    )
    context = Context.RESOURCE_QUERY_RESPONSE
    return respond(listed.model_dump(scim_ctx=context, response_parameters=asked))


class ResourceRoutes:
    """The addresses of the resources of one kind."""

    def __init__(self, kind: type[Users] | type[Groups], parts: DialectParts) -> None:
        self._kind = kind
        self._model: Any = kind.model
        self._parts = parts
        model = self._model
        self._search_request: Any = SearchRequest.__class_getitem__(model)
        self._patch_op: Any = PatchOp.__class_getitem__(model)
        self._parameters: Any = ResponseParameters.__class_getitem__(model)

    def add(self, add: Add) -> None:
        """Add the routes."""
        path = f"/{self._model.__name__}s"
        add("GET", path, self._list)
        add("POST", path, self._create)
        add("POST", f"{path}/.search", self._search)
        add("GET", f"{path}/{{id}}", self._get)
        add("PUT", f"{path}/{{id}}", self._replace)
        add("PATCH", f"{path}/{{id}}", self._patch)
        add("DELETE", f"{path}/{{id}}", self._remove)

    def open(self, request: Request) -> Any:
        """Return the accounts or the groups."""
        service, settings = self._parts.service, self._parts.settings
        base = base_address(request, settings.server) + ROOT
        return self._kind(service.people, SCIM.of(service), settings.auth, base)

    async def _list(self, request: Request) -> Response:
        return await self._find(request, dict(request.query_params))

    async def _search(self, request: Request) -> Response:
        return await self._find(request, await _read_body(request))

    async def _find(self, request: Request, query: Object) -> Response:
        asked = self._search_request.model_validate(query)
        found = asked.sort(await self.open(request).list(asked))
        return respond_list(found, asked, self._model)

    async def _get(self, request: Request) -> Response:
        found = await self.open(request).get(request.path_params["id"])
        return self._show(request, found, Context.RESOURCE_QUERY_RESPONSE)

    async def _create(self, request: Request) -> Response:
        body = await _read_body(request)
        given = self._model.model_validate(body, scim_ctx=Context.RESOURCE_CREATION_REQUEST)
        made = await self.open(request).create(given)
        return self._show(request, made, Context.RESOURCE_CREATION_RESPONSE, 201)

    async def _replace(self, request: Request) -> Response:
        directory, body = self.open(request), await _read_body(request)
        before = await directory.get(request.path_params["id"])
        given = self._model.model_validate(body, scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST)
        given.replace(before)
        after = await directory.change(before, given)
        return self._show(request, after, Context.RESOURCE_REPLACEMENT_RESPONSE)

    async def _patch(self, request: Request) -> Response:
        directory, body = self.open(request), await _read_body(request)
        before = await directory.get(request.path_params["id"])
        asked = self._patch_op.model_validate(body, scim_ctx=Context.RESOURCE_PATCH_REQUEST)
        after = before.model_copy(deep=True)
        if asked.patch(after):
            after = await directory.change(before, after)
        return self._show(request, after, Context.RESOURCE_PATCH_RESPONSE)

    async def _remove(self, request: Request) -> Response:
        await self.open(request).remove(request.path_params["id"])
        return Response(status_code=204)

    def _show(
        self, request: Request, resource: Any, context: Context, status: int = 200
    ) -> Response:
        chosen = self._parameters.model_validate(dict(request.query_params))
        body = resource.model_dump(scim_ctx=context, response_parameters=chosen)
        return respond(body, status, {"location": resource.meta.location})


def _add_discovery(add: Add, parts: DialectParts) -> None:
    """What the server announces of itself."""

    def locate(request: Request, resource: Any, path: str) -> Object:
        body: Object = resource.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE)
        base = base_address(request, parts.settings.server) + ROOT
        kind = type(resource).__name__
        return {**body, "meta": {"resourceType": kind, "location": f"{base}{path}"}}

    async def config(request: Request) -> Response:
        return respond(locate(request, PROVIDER.config, "/ServiceProviderConfig"))

    add("GET", "/ServiceProviderConfig", config)

    def add_list(path: str, resources: list[Any], kind: Any) -> None:
        def show(request: Request, resource: Any) -> Object:
            return locate(request, resource, f"{path}/{resource.id}")

        async def list_all(request: Request) -> Response:
            shown = [show(request, item) for item in resources]
            listed = ListResponse[kind](
                total_results=len(shown), start_index=1, items_per_page=len(shown)
            )
            return respond({**listed.model_dump(), "Resources": shown})

        async def get(request: Request) -> Response:
            for item in resources:
                if item.id == request.path_params["id"]:
                    return respond(show(request, item))
            raise NotFoundException(detail="There is nothing of this id.")

        add("GET", path, list_all)
        add("GET", f"{path}/{{id}}", get)

    add_list("/ResourceTypes", list(PROVIDER.resource_types), ResourceType)
    add_list("/Schemas", list(PROVIDER.schemas), Schema)


async def _read_body(request: Request) -> Object:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise InvalidSyntaxException(detail="The body is not valid JSON.") from error
    if not isinstance(body, dict):
        raise InvalidSyntaxException(detail="The body must be a JSON object.")
    return body
