"""What the settings of the index make Ragstone send to Elasticsearch.

A listener passes requests on to the server of the suite and keeps them; what that server does not
know (quantized bits, rescoring, pages of values) it answers as Elasticsearch's reference says.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, IndexUnavailable
from ragstone.core.filters import EVERYTHING, eq
from ragstone.core.records import Collection
from ragstone.index.connect import connect
from ragstone.index.edge.index import EdgeIndex
from ragstone.ingest.migrate import migrate
from ragstone.plugins.elasticsearch.index import ElasticsearchIndex
from ragstone.plugins.elasticsearch.mapping import index_name
from ragstone.ports import Search
from ragstone.settings import IndexSettings
from tests.conformance.elasticsearch_server import ElasticsearchServer
from tests.conformance.test_chunk_index import a_chunk, a_collection, vectors
from tests.http_server import running

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"]

Answer = Callable[[str, str, list[Any]], Response | None]


@dataclass
class Listener:
    """Keeps what it is sent for the server at `url`; `instead` answers what it wants to."""

    url: str
    instead: Answer = lambda method, path, lines: None
    seen: list[tuple[str, str, list[Any]]] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._answer, methods=METHODS)])

    async def _answer(self, request: Request) -> Response:
        raw = await request.body()
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        lines = [json.loads(line) for line in raw.splitlines()]
        self.seen.append((request.method, path, lines))
        if answer := self.instead(request.method, path, lines):
            answer.headers.update(PRODUCT)
            return answer
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as client:
            kind = {"Content-Type": request.headers.get("content-type", "application/json")}
            got = await client.request(request.method, path, content=raw, headers=kind)
        return Response(got.content, got.status_code, PRODUCT)

    def sent(self, method: str, part: str) -> list[Any]:
        """The bodies of requests of this method whose path has this part."""
        return [
            lines[0] if len(lines) == 1 else lines
            for verb, path, lines in self.seen
            if verb == method and part in path
        ]


@asynccontextmanager
async def an_index(
    listener: Listener, timeout: float = 30, **given: Any
) -> AsyncIterator[ElasticsearchIndex]:
    with running(listener.app()) as url:
        address = f"elasticsearch+{url}"
        made = {"retry_pause": 0.001, **given}
        settings = IndexSettings(url=address, timeout=timeout, options=made)
        index = connect(settings, Path())
        assert isinstance(index, ElasticsearchIndex)
        try:
            yield index
        finally:
            await index.aclose()


@pytest.fixture
def listener(elasticsearch: ElasticsearchServer) -> Listener:
    return Listener(elasticsearch.url)


def options(mapping: Any, name: str) -> Any:
    return mapping["properties"][name]["index_options"]


async def held(listener: Listener, collection: Collection) -> Any:
    """The settings that the server has of a collection's index."""
    async with httpx2.AsyncClient(base_url=listener.url) as client:
        answer = (await client.get(f"/{index_name(collection)}/_settings")).json()
    return answer[index_name(collection)]["settings"]["index"]


async def test_given_settings_then_a_new_index_is_made_with_them(listener: Listener) -> None:
    collection = a_collection(late=128)
    given = {"shards": 3, "replicas": 2, "refresh_interval": "30s", "hnsw_m": 64}
    async with an_index(listener, **given) as index:
        await index.create(collection)
    [body, _] = listener.sent("PUT", index_name(collection))
    assert body["settings"] == {
        "index": {"number_of_shards": 3, "number_of_replicas": 2, "refresh_interval": "30000ms"}
    }
    graph = {"type": "hnsw", "m": 64, "ef_construction": 128}
    assert options(body["mappings"], "embedding") == graph
    assert options(body["mappings"], "late_vector") == graph
    made = await held(listener, collection)
    assert (made["number_of_shards"], made["number_of_replicas"]) == ("3", "2")


async def test_given_no_settings_then_the_server_chooses(listener: Listener) -> None:
    collection = a_collection()
    async with an_index(listener) as index:
        await index.create(collection)
    [body, _] = listener.sent("PUT", index_name(collection))
    assert body.keys() == {"mappings"}
    usual = {"type": "hnsw", "m": 16, "ef_construction": 100}
    assert options(body["mappings"], "embedding") == usual


async def test_given_changed_settings_then_an_index_gets_what_can_be_changed(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    collection = a_collection()
    async with an_index(listener) as index:
        await index.create(collection)
    with caplog.at_level(logging.WARNING):
        async with an_index(listener, shards=4, replicas=3, refresh_interval=0) as index:
            await index.create(collection)
    assert listener.sent("PUT", "/_settings") == [
        {"index": {"number_of_replicas": 3, "refresh_interval": "-1"}}
    ]
    made = await held(listener, collection)
    assert (made["number_of_replicas"], made["refresh_interval"]) == ("3", "-1")
    assert "has 1 shards and keeps them: the option shards=4" in caplog.text


async def test_given_several_shards_then_all_is_found_and_counted(listener: Listener) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, kind=("table", "normal", "faq")[i % 3]) for i in range(300)]
    async with an_index(listener, shards=5, refresh_interval=0, write_chunks=70) as index:
        await index.upsert(collection, chunks, vectors(*range(300)))
        assert await index.count(collection) == 300
        assert await index.facet(collection, "kind") == dict.fromkeys(
            ("faq", "normal", "table"), 100
        )
        [found] = await index.search(collection, [Search("", vectors(7)[0])], EVERYTHING, 1)
        assert found.found[0].chunk_id == chunks[7].chunk_id
        await index.delete(collection, eq("kind", "faq"))
        assert await index.count(collection) == 200


def of_version(number: str) -> Answer:
    """A server of this version, which makes every index, finds nothing and writes all."""

    def answer(method: str, path: str, lines: list[Any]) -> Response:
        if path == "/":
            return JSONResponse({"version": {"number": number}})
        nothing = {
            "timed_out": False,
            "_shards": {"failed": 0},
            "hits": {"hits": []},
        }
        if "_msearch" in path:
            return JSONResponse({"responses": [nothing] * (len(lines) // 2)})
        return JSONResponse({"errors": False, "items": [], **nothing})

    return answer


@pytest.mark.parametrize(
    ("given", "kind", "rescored"),
    [
        ({"quantization": "int8"}, "int8_hnsw", {"oversample": 2.0}),
        ({"quantization": "binary"}, "bbq_hnsw", {"oversample": 3.0}),
        ({"quantization": "binary", "oversampling": 5}, "bbq_hnsw", {"oversample": 5.0}),
        ({"quantization": "int8", "rescore": False}, "int8_hnsw", None),
        ({"quantization": "none"}, "hnsw", None),
    ],
)
async def test_given_quantization_then_indexes_have_it_and_searches_rank_anew(
    given: dict[str, Any], kind: str, rescored: Any
) -> None:
    listener, collection = Listener("", of_version("8.18.0")), a_collection()
    async with an_index(listener, hnsw_ef_search=444, **given) as index:
        await index.create(collection)
        searches = [Search("text"), Search("", vectors(1)[0])]
        await index.search(collection, searches, EVERYTHING, 20)
        await index.search(collection, searches[1:], EVERYTHING, 20, exact=True)
    [body, _] = listener.sent("PUT", index_name(collection))
    assert options(body["mappings"], "embedding")["type"] == kind
    (_, words, _, meaning), (_, exact) = listener.sent("POST", "_msearch")
    assert "knn" not in words
    assert "knn" not in exact
    knn = meaning["knn"]
    assert (knn["k"], knn["num_candidates"]) == (20, 444)
    assert knn.get("rescore_vector") == rescored


async def test_given_a_server_that_cannot_rank_anew_then_quantization_is_refused(
    listener: Listener,
) -> None:
    async with an_index(listener, quantization="int8") as index:
        with pytest.raises(ConfigError, match=r"option quantization=int8 needs .*8\.18.* is 8\.15"):
            await index.create(a_collection())
    assert not listener.sent("PUT", "")


async def test_given_no_candidates_then_as_many_as_are_wanted_and_at_least_a_hundred(
    listener: Listener,
) -> None:
    collection = a_collection()
    async with an_index(listener) as index:
        await index.upsert(collection, [a_chunk(collection)], vectors(1))
        for limit in (5, 300):
            await index.search(collection, [Search("", vectors(1)[0])], EVERYTHING, limit)
    asked = [lines[1]["knn"]["num_candidates"] for lines in listener.sent("POST", "_msearch")]
    assert asked == [100, 300]


async def test_given_bounds_of_a_write_then_one_refresh_after_all_of_it(
    listener: Listener,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, "lorem ipsum " * 10_000) for _ in range(10)]
    async with an_index(listener, write_chunks=4, refresh_interval=0) as index:
        await index.create(collection)
        listener.seen.clear()
        await index.upsert(collection, chunks)
        assert await index.count(collection) == 10
        ends = [path.partition(index_name(collection))[2] for _, path, _ in listener.seen]
        assert ends == ["", *["/_bulk"] * 3, "/_refresh", "/_count"]
        assert [len(lines) // 2 for lines in listener.sent("POST", "_bulk")] == [4, 4, 2]
        listener.seen.clear()
        await index.set_vectors(collection, [chunks[0].chunk_id], vectors(1))
        assert [path for _, path, _ in listener.seen][-1].endswith("/_bulk?refresh=true")
    async with an_index(listener, write_mb=1) as index:
        listener.seen.clear()
        await index.upsert(collection, chunks)
        assert [len(lines) // 2 for lines in listener.sent("POST", "_bulk")] == [3, 3, 3, 1]


async def test_given_a_bulk_load_then_it_is_refreshed_at_its_end_alone(
    listener: Listener, tmp_path: Path
) -> None:
    source, collection = EdgeIndex(tmp_path), a_collection()
    chunks = [a_chunk(collection) for _ in range(600)]
    await source.upsert(collection, chunks, vectors(*range(600)))
    async with an_index(listener, refresh_interval=0) as index:
        moved = [item async for item in migrate(source, index, collection)]
        assert moved[-1].copied == 600
        assert await index.count(collection) == 600
        [found] = await index.search(collection, [Search("", vectors(7)[0])], EVERYTHING, 1)
        assert found.found
        bulks = [path for _, path, _ in listener.seen if "_bulk" in path]
        assert len(bulks) >= 3
        assert not any("refresh" in path for path in bulks)
        assert len(listener.sent("POST", "_refresh")) == 1
        await index.upsert(collection, [a_chunk(collection)])
        assert await index.count(collection) == 601
    await source.aclose()


async def test_given_what_a_writer_that_died_has_left_unseen_then_deleting_finds_it(
    listener: Listener,
) -> None:
    collection = a_collection()
    async with an_index(listener, refresh_interval=0) as index:
        await index.create(collection)
        with pytest.raises(RuntimeError):
            async with index.bulk_load(collection):
                await index.upsert(collection, [a_chunk(collection, version=1)])
                raise RuntimeError
        await index.delete(collection, eq("version", 1))
        await index.upsert(collection, [a_chunk(collection, version=2)])
        assert await index.count(collection) == 1


VALUES = 25_000


def many_values(method: str, path: str, lines: list[Any]) -> Response | None:
    """An index whose field has each of 25,000 values, the later ones more often, by pages."""
    if "_search" not in path:
        return None
    [body] = lines
    [(kind, asked)] = body["aggs"]["values"].items()
    shards = {"total": 2, "failed": 0}
    answer = {"timed_out": False, "_shards": shards, "hits": {"hits": []}}
    counts = {f"r{n:06}": 1 + n // 10_000 for n in range(VALUES)}
    if kind == "terms":
        assert asked["size"] <= 10_000
        best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: asked["size"]]
        found = {
            "doc_count_error_upper_bound": 0 if asked["size"] < 50 else 3,
            "sum_other_doc_count": sum(counts.values()) - sum(count for _, count in best),
            "buckets": [{"key": key, "doc_count": count} for key, count in best],
        }
    else:
        after = asked.get("after", {}).get("value", "")
        page = [key for key in sorted(counts) if key > after][: asked["size"]]
        found = {"buckets": [{"key": {"value": k}, "doc_count": counts[k]} for k in page]}
        if page:
            found["after_key"] = {"value": page[-1]}
    return JSONResponse({**answer, "aggregations": {"values": found}})


async def test_given_more_values_than_one_answer_holds_then_all_are_counted() -> None:
    listener, collection = Listener("", many_values), a_collection()
    async with an_index(listener) as index:
        every = await index.facet(collection, "revision", limit=1_000_000)
        assert len(every) == VALUES
        assert list(every)[:2] == ["r020000", "r020001"]
        assert list(every)[-1] == "r009999"
        assert len(await index.facet(collection, "revision", limit=12_000)) == 12_000
        listener.seen.clear()
        assert list(await index.facet(collection, "revision", limit=3)) == list(every)[:3]
        assert len(listener.seen) == 1
        # Sums of several shards that may be too small are counted anew, page by page.
        assert len(await index.facet(collection, "revision", limit=100)) == 100
        pages = [item for item in listener.sent("POST", "_search") if "composite" in str(item)]
        assert len(pages) == 4


def failing(listener: Listener, *answers: Response) -> None:
    """The server gives these answers first, then its own."""
    waiting = list(answers)
    listener.instead = lambda method, path, lines: waiting.pop(0) if waiting else None
    listener.seen.clear()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_given_a_server_in_trouble_for_a_moment_then_reads_and_writes_come_through(
    listener: Listener, status: int
) -> None:
    collection = a_collection()
    async with an_index(listener) as index:
        await index.upsert(collection, [a_chunk(collection)])
        failing(listener, *[Response("", status) for _ in range(3)])
        assert await index.count(collection) == 1
        assert len(listener.seen) == 4
    async with an_index(listener, retries=1) as index:
        failing(listener, *[Response("", status) for _ in range(3)])
        with pytest.raises(IndexUnavailable):
            await index.count(collection)
        assert len(listener.seen) == 2


async def test_given_a_server_that_starts_anew_then_reads_and_writes_wait_for_it(
    tmp_path: Path,
) -> None:
    server, collection = ElasticsearchServer(tmp_path), a_collection()
    settings = IndexSettings(
        url=f"elasticsearch+{server.url}", options={"retries": 10, "retry_pause": 0.2}
    )
    index = connect(settings, tmp_path)
    waiting = [
        asyncio.create_task(index.ready()),
        asyncio.create_task(index.upsert(collection, [a_chunk(collection)])),
    ]
    await asyncio.sleep(0.3)
    assert not any(item.done() for item in waiting)
    await asyncio.to_thread(server.start)
    try:
        await asyncio.gather(*waiting)
        assert await index.count(collection) == 1
    finally:
        await index.aclose()
        server.stop()


async def test_given_a_server_that_is_slow_once_then_a_write_is_sent_again(
    listener: Listener,
) -> None:
    collection = a_collection()
    hung: list[str] = []

    class Hanging(Listener):
        async def _answer(self, request: Request) -> Response:
            if "_bulk" in request.url.path and not hung:
                hung.append(request.url.path)
                # The client gives up and closes.
                while not await request.is_disconnected():
                    await asyncio.sleep(0.01)
            return await super()._answer(request)

    slow = Hanging(listener.url)
    async with an_index(slow, timeout=2) as index:
        chunk: Chunk = a_chunk(collection)
        await index.upsert(collection, [chunk])
        assert await index.count(collection) == 1
    assert len(hung) == 1
    assert len(slow.sent("POST", "_bulk")) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"refresh_interval": -1}, "refresh_interval"),
        ({"refresh_interval": "soon"}, "refresh_interval"),
        ({"hnsw_ef_search": 10_001}, "hnsw_ef_search"),
        ({"write_consistency": 1}, "Not an option of an Elasticsearch index: 'write_consistency'"),
        ({"shared_chunks": 70}, "Not an option of an Elasticsearch index: 'shared_chunks'"),
    ],
)
def test_given_an_option_that_makes_no_sense_then_it_is_refused(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        connect(IndexSettings(url="elasticsearch+http://127.0.0.1:9200", options=given), tmp_path)
