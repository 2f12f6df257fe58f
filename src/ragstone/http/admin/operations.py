"""The routes that the contract declares: one for each operation with a `HttpRoute`."""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.http.bodies import ClosedBody
from ragstone.http.identity import (
    Who,
    at_least,
    log_name,
    narrow_principal,
    of_scope,
    of_tenant,
    request_tenant,
)
from ragstone.http.middleware import operator_only, require_key
from ragstone.http.permitted import restrict_result
from ragstone.http.responses import Json, unless_left, well_formed
from ragstone.service import Service, wire
from ragstone.service.contract import Operation
from ragstone.service.routes import HttpRoute

TAGS: Mapping[str, str] = {
    "stats": "Statistics",
    "topics": "Forbidden topics",
    "traces": "Statistics",
}
"""Groups of the OpenAPI document by the first part of the address, where they differ from it."""

PATH_NAMES: Mapping[str, str] = {"collection": "name"}
"""What arguments are called in addresses, where that differs."""

OwnTenant = Annotated[
    str | None, Field(None, max_length=255, description="Whose; the own tenant's if absent.")
]
COLLECTION_NAMES = frozenset({"collection", "old"})
"""Arguments that name a collection of the principal's."""

FROM_CALLER = frozenset({"principal", "admin", "operator", "who"})
"""Arguments that follow from who asks."""


def router(service: Service, operations: Iterable[Operation]) -> APIRouter:
    """The routes of operations, those with a fixed last part before those with an argument."""
    routes = APIRouter(prefix="/api/v1")
    declared = [(item.route, item) for item in operations if item.route is not None]
    # "{" sorts behind all letters.
    for route, operation in sorted(declared, key=lambda item: item[0].path):
        first = route.path.split("/")[1]
        routes.add_api_route(
            route.path,
            _endpoint(service, operation, route),
            methods=[route.method],
            tags=[TAGS.get(first, first.title())],
            response_model=None,
            dependencies=[Depends(_guard(operation, route))],
        )
    return routes


def _guard(operation: Operation, route: HttpRoute) -> Callable[..., Any]:
    if route.keyed:
        return require_key
    if route.role:
        return at_least(route.role)
    return at_least(operation.allowed.role) if operation.allowed else operator_only


def _endpoint(service: Service, operation: Operation, route: HttpRoute) -> Callable[..., Any]:
    async def endpoint(request: Request, caller: Who, **given: Any) -> Response:
        body = given.pop("body", ())
        arguments = _arguments(operation, route, caller, {**given, **dict(body)})

        async def answer() -> Response:
            result = await operation.of(service)(**arguments)
            if isinstance(result, list | tuple):
                result = restrict_result(caller, result)
            return Json(_format(route, arguments, wire.dump(result, operation.result)))

        return await unless_left(request, answer())

    called: Any = endpoint
    called.__name__ = operation.name.rpartition(".")[2]
    # What a method raises is for programs in Python: here they are statuses.
    doc = re.sub(r"\s*\bRaises [^.]*\.", "", operation.doc).strip()
    called.__doc__ = doc.replace("the principal", "the caller")
    called.__signature__ = _signature(operation, route)
    return endpoint


def _signature(operation: Operation, route: HttpRoute) -> Signature:
    """The parameters by which FastAPI reads a request."""
    keyword = Parameter.KEYWORD_ONLY
    parameters = [
        Parameter("request", keyword, annotation=Request),
        Parameter("caller", keyword, annotation=Who),
    ]
    in_path = set(re.findall(r"{(\w+)", route.path))
    fields: dict[str, Any] = {}
    given = FROM_CALLER | ({"tenant"} if "principal" in operation.types else set())
    for name, parameter in operation.signature.parameters.items():
        if name in given:
            continue
        kind = OwnTenant if _is_own_tenant(operation, name) else operation.types[name]
        info = _field(kind, parameter, route.fields.get(name, ()))
        called = info.alias or PATH_NAMES.get(name, name)
        if called in in_path:
            in_path.remove(called)
            place = Path(description=info.description, alias=called)
            parameters.append(Parameter(name, keyword, annotation=_annotate(info, place)))
        elif route.method in ("GET", "DELETE"):
            query = Query(description=info.description)
            default = Parameter.empty if info.is_required() else info.default
            parameters.append(
                Parameter(name, keyword, annotation=_annotate(info, query), default=default)
            )
        else:
            fields[name] = (info.annotation, info)
    if fields:
        name = operation.name.title().replace(".", "").replace("_", "")
        doc = f"The body of {route.method} /api/v1{route.path.replace(':path', '')}."
        body: Any = create_model(name, __base__=ClosedBody, __doc__=doc, **fields)
        parameters.append(Parameter("body", keyword, annotation=body))
    return Signature(parameters)


def _is_own_tenant(operation: Operation, name: str) -> bool:
    """Whether an argument is the tenant of who asks, unless the operator names another."""
    return name == "tenant" and operation.types[name] is str


def _annotate(info: FieldInfo, place: Any) -> Any:
    return Annotated[info.annotation, *info.metadata, place]


def _field(kind: Any, parameter: Parameter, changes: tuple[Any, ...]) -> FieldInfo:
    """The type of an argument, its limits, description and default."""
    given: Any = Annotated[kind, *changes] if changes else kind
    info = FieldInfo.from_annotation(given)
    if info.default is PydanticUndefined and parameter.default is not Parameter.empty:
        info.default = parameter.default
    return info


def _arguments(
    operation: Operation, route: HttpRoute, caller: Caller, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments as this caller may give them. Raises Forbidden, UnknownCollection."""
    arguments = {name: _clean(value) for name, value in given.items()}
    if "principal" in operation.types:
        arguments["principal"] = caller.principal
        for name in arguments.keys() & COLLECTION_NAMES:
            arguments["principal"] = narrow_principal(caller, arguments[name])
        if "tenant" in operation.types:
            arguments["tenant"] = caller.principal.tenant
    elif "tenant" in arguments and _is_own_tenant(operation, "tenant"):
        arguments["tenant"] = request_tenant(caller, arguments["tenant"])
    elif "tenant" in arguments:
        check = of_tenant if route.method == "GET" else of_scope
        check(caller, arguments["tenant"], "")
    if "admin" in operation.types:
        arguments["admin"] = caller.may("admin")
    if "operator" in operation.types:
        arguments["operator"] = caller.operator
    if "who" in operation.types:
        arguments["who"] = log_name(caller)
    return arguments


def _clean(value: Any) -> Any:
    """Texts without what a store cannot keep: half characters and NUL."""
    if isinstance(value, str):
        return well_formed(value).replace("\0", "")
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value


def _format(route: HttpRoute, arguments: Mapping[str, Any], result: Any) -> Any:
    if isinstance(route.answer, str):
        return {route.answer: result} if route.answer else result
    return {
        name: arguments[value] if isinstance(value, str) else value
        for name, value in route.answer.items()
    }
