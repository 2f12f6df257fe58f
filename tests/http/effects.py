"""What a field of a request changes: two values are sent to the whole of Ragstone, and what can be
seen from outside must differ."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

if TYPE_CHECKING:
    from tests.http.conftest import Server

COMPATIBLE = "accepted for compatibility"
"""What the description of a field says that changes nothing."""

ROOM = "ROOM"
"""In a request: what is another text each time, such as the name of a conversation."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Observed:
    """What can be seen of a request: its response as JSON or as events, the calls of the chat model
    that it took, what each stage decided, and the calls of the chat model for the request after
    it."""

    status: int
    body: Any
    calls: list[Json]
    stages: list[tuple[str, str, str]]
    after: list[Json]
    response_after: Any


Part = Callable[[Observed], Any]


@dataclass(frozen=True)
class Case:
    """A field with two requests that differ in it, and the part of what is seen that must differ
    too: None where the field changes nothing, as its description says.

    `before` and `after` are fields of requests around it, which go to the same address unless they
    have `route`; `ways` are those of the chat model, and `approves` decides calls of tools that
    wait.
    """

    field: str
    first: Json
    second: Json
    differs: Part | None
    before: Sequence[Json] = ()
    after: Json | None = None
    ways: Sequence[str] = ()
    approves: bool | None = None


def case(name: str, first: Any, second: Any, differs: Part | None, **rest: Any) -> Case:
    """The case of a field with two values; `rest` is what a `Case` has besides, and `beside` the
    other fields of both requests."""
    beside = rest.pop("beside", {})
    return Case(name, {**beside, name: first}, {**beside, name: second}, differs, **rest)


def with_cases(common: Iterable[Case], *others: Case) -> dict[str, Case]:
    """The cases by their fields; later ones take the place of earlier ones."""
    return {item.field: item for item in (*common, *others)}


def status(seen: Observed) -> int:
    return seen.status


def body(seen: Observed) -> Any:
    return seen.body


def kinds(seen: Observed) -> list[str]:
    """The types of the events, or the names of the response."""
    if isinstance(seen.body, list):
        return [item.get("type", "") for item in seen.body]
    return list(seen.body)


def prompts(seen: Observed) -> list[Any]:
    """What the chat model was told."""
    return [call["messages"] for call in seen.calls]


def temperatures(seen: Observed) -> list[Any]:
    return [call.get("temperature") for call in seen.calls if call.get("stream")]


def stages(seen: Observed) -> list[tuple[str, str, str]]:
    return seen.stages


def prompts_after(seen: Observed) -> list[Any]:
    return [call["messages"] for call in seen.after]


def ranking(seen: Observed) -> list[tuple[str, Any]]:
    """The names and scores of what was found, wherever they stand in the response."""
    found: list[tuple[str, Any]] = []

    def look(value: Any) -> None:
        if isinstance(value, list):
            for inner in value:
                look(inner)
        elif isinstance(value, dict):
            named = ("p_id", "chunk_id", "score", "relevance_score", "similarity_score")
            found.extend((name, value[name]) for name in named if name in value)
            look(list(value.values()))

    look(seen.body)
    return found


def everything(seen: Observed) -> Any:
    fixed = (seen.status, kinds(seen), prompts(seen), temperatures(seen))
    return (*fixed, seen.stages, ranking(seen))


class World:
    """The whole of Ragstone at a port, with a chat model and tools beside it."""

    def __init__(self, server: "Server", http: httpx2.AsyncClient) -> None:
        assert server.model is not None
        assert server.service is not None
        self._server, self._http = server, http
        self._model, self._service = server.model, server.service
        self._sent = 0

    async def see(self, route: str, request: Json, item: Case) -> Observed:
        """Send a request as the case says."""
        self._sent += 1
        fresh = f"room{self._sent}"
        await self._service.clear_cache()
        for earlier in item.before:
            other = {k: v for k, v in earlier.items() if k != "route"}
            whole = other if "route" in earlier else {**request, **other}
            await self._post(earlier.get("route", route), _with_room(whole, fresh))
        self._model.calls.clear()
        self._model.ways = list(item.ways)
        code, answer = await self._post(route, _with_room(request, fresh), item.approves)
        calls = list(self._model.calls)
        self._model.ways = []
        traces = (await self._http.get("/api/v1/traces?limit=1")).json()["traces"]
        ran = traces[0]["stages"] if traces else []
        decided = [(stage["stage"], stage["status"], stage["decision"]) for stage in ran]
        self._model.calls.clear()
        after = None
        if item.after is not None:
            later = _with_room({**request, **item.after}, fresh)
            _, after = await self._post(route, later)
        return Observed(code, answer, calls, decided, list(self._model.calls), after)

    async def _post(
        self, route: str, request: Json, approves: bool | None = None
    ) -> tuple[int, Any]:
        method, path = route.split()
        for name, value in request.items():
            path = path.replace("{" + name.removeprefix("path:") + "}", str(value))
        query = {k.removeprefix("query:"): v for k, v in request.items() if k.startswith("query:")}
        sent = {k: v for k, v in request.items() if ":" not in k}
        events: list[Json] = []
        files = [
            (name.removeprefix("file:"), file)
            for name, given in request.items()
            if name.startswith("file:")
            for file in given
        ]
        rest: Json = {"data": sent, "files": files} if files else {}
        if method == "POST" and not files:
            rest = {"json": sent}
        async with self._http.stream(method, path, params=query, **rest) as response:
            if response.headers["content-type"].startswith("text/event-stream"):
                async for line in response.aiter_lines():
                    if not line.startswith("data: {"):
                        continue
                    events.append(json.loads(line.removeprefix("data: ")))
                    step = events[-1].get("tool") or {}
                    if step.get("state") == "waiting" and approves is not None:
                        where = path.rpartition("/")[0] + f"/approvals/{step['id']}"
                        await self._http.post(where, json={"approved": approves})
                answer: Any = events
            else:
                answer = json.loads(await response.aread())
        await self._server.settled()
        return response.status_code, answer

    async def set(self, key: str, value: Any) -> None:
        """Set a setting for all, while the server runs."""
        body = {"value": value, "scope": "global"}
        (await self._http.put(f"/api/v1/settings/{key}", json=body)).raise_for_status()

    async def unset(self, key: str) -> None:
        where = {"scope": "global"}
        (await self._http.delete(f"/api/v1/settings/{key}", params=where)).raise_for_status()

    async def check_all(
        self, subtests: pytest.Subtests, route: str, base: Json, cases: Mapping[str, Case]
    ) -> None:
        """Check the cases of an address, which are those of all its fields; each that fails is
        named."""
        fields = documented_fields((await self._http.get("/openapi.json")).json(), route)
        assert set(cases) == set(fields)
        for name, item in cases.items():
            with subtests.test(field=name):
                await self.check(route, base, item, fields[name])

    async def check_options(
        self, route: str, base: Json, name: str, options: Sequence[str]
    ) -> None:
        """Fail where two values of a field, among all that it has, look alike from outside."""
        seen = {
            option: await self.see(route, {**base, name: option}, Case(name, {}, {}, None))
            for option in options
        }
        alike = [
            (one, other)
            for one, other in combinations(options, 2)
            if everything(seen[one]) == everything(seen[other])
        ]
        assert not alike, alike

    async def check(self, route: str, base: Json, item: Case, description: str) -> None:
        """Fail where the two requests of a case look alike from outside, or the same one twice
        does not."""
        first = await self.see(route, {**base, **item.first}, item)
        second = await self.see(route, {**base, **item.second}, item)
        if item.differs is None:
            assert everything(first) == everything(second), "it has an effect"
            assert COMPATIBLE in description.lower(), f"it changes nothing: {description!r}"
            return
        again = await self.see(route, {**base, **item.first}, item)
        assert item.differs(first) == item.differs(again), "it differs by itself"
        assert item.differs(first) != item.differs(second), f"it changes nothing: {item.field}"


def _with_room(value: Any, fresh: str) -> Any:
    if isinstance(value, str):
        return value.replace(ROOM, fresh)
    if isinstance(value, Mapping):
        return {name: _with_room(inner, fresh) for name, inner in value.items()}
    return value


def documented_fields(spec: Json, route: str) -> dict[str, str]:
    """The fields of a request with their descriptions, as OpenAPI has them: parameters as
    `query:name` and `path:name`, fields of fields with dots."""
    method, path = route.split()
    operation = spec["paths"][path][method.lower()]
    found = {
        f"{item['in']}:{item['name']}": item.get("description", "")
        for item in operation.get("parameters", ())
    }
    for content in operation.get("requestBody", {}).get("content", {}).values():
        found |= _fields(spec["components"]["schemas"], content["schema"], "")
    return found


def _fields(schemas: Json, schema: Json, prefix: str) -> dict[str, str]:
    if "$ref" in schema:
        return _fields(schemas, schemas[schema["$ref"].rpartition("/")[2]], prefix)
    found: dict[str, str] = {}
    for name, inner in schema.get("properties", {}).items():
        found[prefix + name] = inner.get("description", "")
        found |= _fields(schemas, inner, f"{prefix}{name}.")
    for inner in (*schema.get("anyOf", ()), *filter(None, [schema.get("items")])):
        found |= _fields(schemas, inner, prefix)
    return found


def routes_below(spec: Json, *prefixes: str) -> set[str]:
    """The addresses of a dialect that take anything."""
    return {
        f"{method.upper()} {path}"
        for path, operations in spec["paths"].items()
        if path.startswith(prefixes)
        for method in operations
        if documented_fields(spec, f"{method.upper()} {path}")
    }
