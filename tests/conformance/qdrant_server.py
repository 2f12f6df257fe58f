"""The part of Qdrant's REST interface that `QdrantIndex` uses, over the engine of Qdrant itself.

Requests are parsed here and answered by `qdrant_edge`, which is the server's own storage and search
compiled into a Python module. What a request may hold is as strict as in the server: an unknown
field is status 400, a missing point or collection 404, a wrong key 401.
"""

import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge as edge
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.conformance.qdrant_json import (
    BadRequest,
    change_of,
    check_keys,
    filter_of,
    payload_of,
    query_of,
    record_json,
    scored_json,
    vector_of,
)
from tests.http_server import running

SCHEMAS = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
}

PARAMS = {
    "shard_number": 1,
    "replication_factor": 1,
    "write_consistency_factor": 1,
    "on_disk_payload": True,
}
"""What a collection has beside its vectors, with a server's defaults."""


@dataclass
class Held:
    """One Qdrant collection."""

    shard: edge.EdgeShard
    config: dict[str, Any]
    fields: dict[str, str] = field(default_factory=dict)
    hnsw: dict[str, int] = field(
        default_factory=lambda: {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}
    )
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class QdrantServer:
    """`trouble` answers in place of the engine while it is set; `seen` lists path and bytes, and
    `bodies` each request's content while it is a list."""

    root: Path
    key: str = ""
    version: str = "1.19.0"
    trouble: Callable[[Request], Awaitable[Response | None]] | None = None
    seen: list[tuple[str, str, int]] = field(default_factory=list)
    bodies: list[tuple[str, str, Any]] | None = None
    collections: dict[str, Held] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def app(self) -> Starlette:
        """The server's routes."""
        one = "/collections/{name}"
        table: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", f"{one}/exists", self.exists),
            ("GET", one, self.info),
            ("PUT", one, self.create),
            ("PATCH", one, self.change),
            ("DELETE", one, self.remove),
            ("PUT", f"{one}/index", self.index_field),
            ("PUT", f"{one}/points", self.upsert),
            ("POST", f"{one}/points/batch", self.batch),
            ("POST", f"{one}/points", self.retrieve),
            ("POST", f"{one}/points/delete", self.delete),
            ("POST", f"{one}/points/scroll", self.scroll),
            ("POST", f"{one}/points/count", self.count),
            ("POST", f"{one}/points/query/batch", self.query_batch),
            ("POST", f"{one}/facet", self.facet),
        ]
        routes = [Route(p, self._handler(f), methods=[m]) for m, p, f in table]
        return Starlette(routes=[Route("/", self.about), *routes])

    async def about(self, request: Request) -> Response:
        return JSONResponse({"title": "qdrant - vector search engine", "version": self.version})

    def _handler(self, work: Callable[..., Any]) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            raw = await request.body()
            self.seen.append((request.method, request.url.path, len(raw)))
            if self.trouble and (answer := await self.trouble(request)):
                return answer
            if self.key and request.headers.get("api-key") != self.key:
                return Response("Must provide an API key", 401)
            body = await request.json() if raw else {}
            if self.bodies is not None:
                self.bodies.append((request.method, request.url.path, body))
            name, options = request.path_params["name"], dict(request.query_params)
            return await run_in_threadpool(answered, work, name, body, options)

        return handle

    def _held(self, name: str) -> Held:
        if name not in self.collections:
            raise LookupError(f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def _update(self, name: str, options: dict[str, str], operation: Any) -> dict[str, Any]:
        if options != {"wait": "true"}:
            raise BadRequest("this server wants to be waited for")
        held = self._held(name)
        with held.lock:
            held.shard.update(operation)
        return {"operation_id": 1, "status": "completed"}

    def exists(self, name: str, body: Any, options: Any) -> Any:
        return {"exists": name in self.collections}

    def create(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"vectors", "sparse_vectors", "hnsw_config", *PARAMS})
        with self.guard:
            if name in self.collections:
                raise FileExistsError(f"Wrong input: Collection `{name}` already exists!")
            dense = {
                key: edge.EdgeVectorParams(size=p["size"], distance=edge.Distance.Cosine)
                for key, p in body["vectors"].items()
                if p["distance"] == "Cosine"
            }
            sparse = {
                key: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
                for key, p in body["sparse_vectors"].items()
                if p == {"modifier": "idf"}
            }
            path = self.root / name
            path.mkdir(parents=True)
            config = edge.EdgeConfig(vectors=dense, sparse_vectors=sparse)
            held = Held(edge.EdgeShard.create(str(path), config), {**PARAMS, **body})
            held.hnsw.update(held.config.pop("hnsw_config", {}))
            self.collections[name] = held
        return True

    def change(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"vectors", "params", "hnsw_config"})
        held = self._held(name)
        params = body.get("params", {})
        check_keys(params, PARAMS.keys() - {"shard_number"})
        held.config.update(params)
        held.hnsw.update(body.get("hnsw_config", {}))
        for vector, changes in body.get("vectors", {}).items():
            kept = held.config["vectors"][vector]
            kept.update(changes)
            if kept.get("quantization_config") == "Disabled":
                del kept["quantization_config"]
        return True

    def remove(self, name: str, body: Any, options: Any) -> Any:
        with self.guard:
            held = self.collections.pop(name, None)
            if held:
                held.shard.close()
                shutil.rmtree(self.root / name)
        return held is not None

    def clear(self, prefix: str = "") -> None:
        """Remove every collection whose name begins so."""
        for name in [name for name in self.collections if name.startswith(prefix)]:
            self.remove(name, None, None)

    def info(self, name: str, body: Any, options: Any) -> Any:
        held = self._held(name)
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "config": {
                "params": held.config,
                "hnsw_config": held.hnsw,
                "optimizer_config": {"default_segment_number": 0, "flush_interval_sec": 5},
            },
            "payload_schema": {f: {"data_type": t, "points": 0} for f, t in held.fields.items()},
        }

    def index_field(self, name: str, body: dict[str, Any], options: dict[str, str]) -> Any:
        check_keys(body, {"field_name", "field_schema"})
        key, kind = body["field_name"], body["field_schema"]
        if isinstance(kind, dict):
            check_keys(kind, {"type", "is_tenant"})
            kind = kind["type"]
        operation = edge.UpdateOperation.create_field_index(key, SCHEMAS[kind])
        done = self._update(name, options, operation)
        self._held(name).fields[key] = kind
        return done

    def upsert(self, name: str, body: dict[str, Any], options: dict[str, str]) -> Any:
        check_keys(body, {"points"})
        points = [
            edge.Point(p["id"], {k: vector_of(v) for k, v in p["vector"].items()}, p["payload"])
            for p in body["points"]
        ]
        return self._update(name, options, edge.UpdateOperation.upsert_points(points))

    def batch(self, name: str, body: dict[str, Any], options: dict[str, str]) -> Any:
        check_keys(body, {"operations"})
        return [self._update(name, options, change_of(item)) for item in body["operations"]]

    def delete(self, name: str, body: dict[str, Any], options: dict[str, str]) -> Any:
        check_keys(body, {"filter"})
        operation = edge.UpdateOperation.delete_points_by_filter(filter_of(body["filter"]))
        return self._update(name, options, operation)

    def retrieve(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"ids", "with_payload", "with_vector"})
        held = self._held(name)
        payload = payload_of(body["with_payload"])
        found = held.shard.retrieve(body["ids"], payload, body["with_vector"])
        return [record_json(record) for record in found]

    def scroll(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"filter", "limit", "offset", "with_payload", "with_vector"})
        request = edge.ScrollRequest(
            offset=body.get("offset"),
            limit=body["limit"],
            filter=filter_of(body["filter"]),
            with_payload=payload_of(body["with_payload"]),
            with_vector=body["with_vector"],
        )
        found, after = self._held(name).shard.scroll(request)
        next_page = None if after is None else str(after)
        return {"points": [record_json(r) for r in found], "next_page_offset": next_page}

    def count(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"filter", "exact"})
        request = edge.CountRequest(exact=body["exact"], filter=filter_of(body["filter"]))
        return {"count": self._held(name).shard.count(request)}

    def facet(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"key", "limit", "exact", "filter"})
        request = edge.FacetRequest(
            body["key"], body["limit"], body["exact"], filter_of(body["filter"])
        )
        hits = self._held(name).shard.facet(request)
        return {"hits": [{"value": hit.value, "count": hit.count} for hit in hits]}

    def query_batch(self, name: str, body: dict[str, Any], options: Any) -> Any:
        check_keys(body, {"searches"})
        requests = edge.QueryBatchRequest([query_of(search) for search in body["searches"]])
        return [
            {"points": [scored_json(point) for point in found]}
            for found in self._held(name).shard.query_batch(requests)
        ]


def answered(work: Callable[..., Any], name: str, body: Any, options: dict[str, str]) -> Response:
    """What the server says to a request, with its status."""
    try:
        return JSONResponse({"result": work(name, body, options), "status": "ok", "time": 0.0})
    except BadRequest as error:
        return failure(400, f"Wrong input: {error}")
    except (LookupError, FileExistsError) as error:
        return failure(409 if isinstance(error, FileExistsError) else 404, str(error.args[0]))
    except Exception as error:
        missing = "No point with id" in str(error)
        return failure(404 if missing else 500, str(error))


def failure(status: int, message: str) -> Response:
    """An error in the form that the server gives it."""
    return JSONResponse({"status": {"error": message}, "time": 0.0}, status)


@pytest.fixture(scope="session")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, QdrantServer]]:
    """A server for the whole session with its address."""
    server = QdrantServer(tmp_path_factory.mktemp("qdrant"))
    with running(server.app()) as url:
        yield url, server
    server.clear()
