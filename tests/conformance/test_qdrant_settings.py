"""What the settings of the index make the official client send to a Qdrant server.

Each request is also read by the client's own models, which are made of Qdrant's OpenAPI document
and refuse what it does not know.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from qdrant_client import models
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from ragstone.core.errors import ConfigError, IndexUnavailable
from ragstone.core.filters import EVERYTHING
from ragstone.core.records import Collection
from ragstone.index.connect import connect, readdress
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.ports import Search
from ragstone.settings import IndexSettings
from tests.conformance.qdrant_server import QdrantServer, failure
from tests.conformance.test_chunk_index import a_chunk, a_collection, vectors
from tests.http_server import running
from tests.ports import free_port

Served = tuple[str, QdrantServer]


@pytest.fixture
def recording(qdrant: Served) -> Iterator[Served]:
    """The server, while it keeps what it is sent."""
    qdrant[1].bodies = []
    yield qdrant
    qdrant[1].bodies = None
    qdrant[1].trouble = None


@asynccontextmanager
async def an_index(url: str, timeout: float = 30, **given: Any) -> AsyncIterator[QdrantIndex]:
    options = {"retry_pause": 0.001, **given}
    settings = IndexSettings(url=url, timeout=timeout, options=options)
    index = connect(settings, Path())
    assert isinstance(index, QdrantIndex)
    try:
        yield index
    finally:
        await index.aclose()


def sent(server: QdrantServer, method: str, end: str = "") -> list[Any]:
    """The bodies of requests of this method whose address ends so."""
    assert server.bodies is not None
    path = f"/{end}" if end else ""
    return [
        body
        for verb, address, body in server.bodies
        if verb == method and (address.endswith(path) if end else address.count("/") == 2)
    ]


async def config(server: QdrantServer, index: QdrantIndex, collection: Collection) -> Any:
    return server.info(index._name(collection), None, None)["config"]


CLUSTER: dict[str, Any] = {
    "shards": 6,
    "replicas": 2,
    "write_consistency": 2,
    "payload_on_disk": False,
    "vectors_on_disk": True,
    "hnsw_m": 32,
    "hnsw_ef_construction": 200,
}


async def test_given_settings_then_a_new_collection_is_made_with_them(recording: Served) -> None:
    url, server = recording
    async with an_index(url, **CLUSTER, quantization="int8") as index:
        await index.create(a_collection(late=128))
    [body] = sent(server, "PUT")
    made = models.CreateCollection.model_validate(body)
    assert (made.shard_number, made.replication_factor, made.write_consistency_factor) == (6, 3, 2)
    assert made.on_disk_payload is False
    assert body["hnsw_config"] == {"m": 32, "ef_construct": 200}
    dense, late = body["vectors"]["dense"], body["vectors"]["late"]
    assert dense["on_disk"] is late["on_disk"] is True
    scalar = {"scalar": {"type": "int8", "always_ram": True}}
    assert dense["quantization_config"] == scalar
    assert "quantization_config" not in late
    assert not sent(server, "PATCH")


async def test_given_no_settings_then_the_server_chooses(recording: Served) -> None:
    url, server = recording
    async with an_index(url) as index:
        collection = a_collection()
        await index.create(collection)
        await index.upsert(collection, [a_chunk(collection)], vectors(1))
        await index.search(collection, [Search("", vectors(1)[0])], EVERYTHING, 5)
    [body] = sent(server, "PUT")
    assert body.keys() == {"vectors", "sparse_vectors"}
    assert body["vectors"]["dense"].keys() == {"size", "distance"}
    [asked] = sent(server, "POST", "points/query/batch")[0]["searches"]
    assert asked["params"] == {"exact": False, "quantization": {"ignore": False, "rescore": True}}


async def test_given_changed_settings_then_a_collection_gets_them(
    recording: Served, caplog: pytest.LogCaptureFixture
) -> None:
    url, server = recording
    collection = a_collection(late=128)
    async with an_index(url) as index:
        await index.create(collection)
    with caplog.at_level(logging.WARNING):
        async with an_index(url, **CLUSTER, quantization="binary") as index:
            await index.create(collection)
            await index.create(collection)
    [body] = sent(server, "PATCH")
    models.UpdateCollection.model_validate(body)
    assert body == {
        "params": {
            "replication_factor": 3,
            "write_consistency_factor": 2,
            "on_disk_payload": False,
        },
        "hnsw_config": {"m": 32, "ef_construct": 200},
        "vectors": {
            "dense": {
                "on_disk": True,
                "quantization_config": {"binary": {"always_ram": True}},
            },
            "late": {"on_disk": True},
        },
    }
    assert "has 1 shards and keeps them: the option shards=6" in caplog.text
    async with an_index(url, quantization="none") as index:
        await index.create(collection)
        held = await config(server, index, collection)
    assert sent(server, "PATCH")[1:] == [
        {"vectors": {"dense": {"quantization_config": "Disabled"}}}
    ]
    assert "quantization_config" not in held["params"]["vectors"]["dense"]
    assert held["params"]["replication_factor"] == 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"hnsw_ef_search": 333}, {"hnsw_ef": 333}),
        ({"quantization": "binary"}, {"quantization": {"rescore": True, "oversampling": 3.0}}),
        (
            {"quantization": "int8", "rescore": False, "oversampling": 1.5},
            {"quantization": {"rescore": False, "oversampling": 1.5}},
        ),
    ],
)
async def test_given_settings_of_searches_then_each_search_by_meaning_has_them(
    recording: Served, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    url, server = recording
    collection = a_collection()
    async with an_index(url, **given) as index:
        await index.upsert(collection, [a_chunk(collection)], vectors(1))
        searches = [Search("text"), Search("", vectors(1)[0])]
        await index.search(collection, searches, EVERYTHING, 5)
    [body] = sent(server, "POST", "points/query/batch")
    models.QueryRequestBatch.model_validate(body)
    words, meaning = body["searches"]
    assert "params" not in words
    usual: dict[str, Any] = {"exact": False, "quantization": {"ignore": False, "rescore": True}}
    wanted = {**usual, **expected}
    wanted["quantization"] = {**usual["quantization"], **wanted["quantization"]}
    assert meaning["params"] == wanted


async def test_given_none_then_many_chunks_stay_whole(
    recording: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, server = recording
    collection = a_collection()
    async with an_index(url, quantization="none") as index:
        await index.upsert(collection, [a_chunk(collection)], vectors(1))
        monkeypatch.setattr("ragstone.plugins.qdrant.index.QUANTIZE_FROM", 1)
        await index.optimize(collection)
    assert not sent(server, "PATCH")


async def test_given_bounds_of_a_write_then_none_holds_more(recording: Served) -> None:
    url, server = recording
    collection = a_collection()
    chunks = [a_chunk(collection) for _ in range(10)]
    async with an_index(url, write_chunks=4) as index:
        await index.create(collection)
        await index.upsert(collection, chunks, vectors(*range(10)))
        await index.set_vectors(collection, [c.chunk_id for c in chunks], vectors(*range(10)))
        assert [len(b["points"]) for b in sent(server, "PUT", "points")] == [4, 4, 2]
        pieces = [b["operations"] for b in sent(server, "POST", "points/batch")]
        assert [len(piece[0]["update_vectors"]["points"]) for piece in pieces] == [4, 4, 2]
        assert await index.count(collection) == 10
    collection = a_collection()
    long = [a_chunk(collection, "lorem ipsum " * 9_000) for _ in range(60)]
    before = len(server.seen)  # The server is that of other tests too.
    async with an_index(url, write_mb=1) as index:
        await index.upsert(collection, long)
        assert await index.count(collection) == 60
    sizes = [size for method, _, size in server.seen[before:] if method == "PUT"]
    assert sum(sizes) > 2**22
    assert max(sizes) < 2**21


def failing(server: QdrantServer, *answers: Response) -> list[str]:
    """The server gives these answers first, then its own; returns what it was asked so far."""
    waiting, asked = list(answers), []

    async def trouble(request: Request) -> Response | None:
        asked.append(request.url.path)
        return waiting.pop(0) if waiting else None

    server.trouble = trouble
    return asked


@pytest.mark.parametrize(
    "answer",
    [
        failure(429, "Too many requests"),
        JSONResponse({"status": {"error": "Too many"}}, 429, {"Retry-After": "0"}),
        PlainTextResponse("<html>Bad gateway</html>", 502),
        failure(503, "Not enough replicas"),
        PlainTextResponse("", 504),
    ],
)
async def test_given_a_server_in_trouble_for_a_moment_then_reads_and_writes_come_through(
    recording: Served, answer: Response
) -> None:
    url, server = recording
    collection = a_collection()
    async with an_index(url) as index:
        await index.upsert(collection, [a_chunk(collection)])
        asked = failing(server, answer, answer, answer)
        assert await index.count(collection) == 1
        assert len(asked) == 4
        asked = failing(server, answer, answer)
        await index.upsert(collection, [a_chunk(collection)])
        assert len(asked) == 3


async def test_given_a_server_that_stays_busy_then_it_is_said(recording: Served) -> None:
    url, server = recording
    collection = a_collection()
    async with an_index(url, retries=2) as index:
        await index.create(collection)
        asked = failing(server, *[failure(429, "Too many requests")] * 9)
        with pytest.raises(IndexUnavailable, match="too busy.*retries in INDEX__OPTIONS"):
            await index.count(collection)
        assert len(asked) == 3


async def test_given_what_would_come_again_then_it_is_not_tried_again(recording: Served) -> None:
    url, server = recording
    collection = a_collection()
    async with an_index(url) as index:
        await index.create(collection)
        for answer in (failure(400, "Wrong input"), failure(500, "Panic"), failure(401, "Key")):
            asked = failing(server, *[answer] * 9)
            with pytest.raises(IndexUnavailable):
                await index.count(collection)
            assert len(asked) == 1


async def test_given_nobody_who_listens_yet_then_reads_and_writes_wait_for_the_server(
    tmp_path: Path,
) -> None:
    server, port, collection = QdrantServer(tmp_path), free_port(), a_collection()
    given = {"retries": 10, "retry_pause": 0.2}
    async with an_index(f"http://127.0.0.1:{port}", **given) as index:
        waiting = [
            asyncio.create_task(index.ready()),
            asyncio.create_task(index.upsert(collection, [a_chunk(collection)])),
        ]
        await asyncio.sleep(0.3)
        assert not any(item.done() for item in waiting)
        with running(server.app(), port=port):
            await asyncio.gather(*waiting)
            assert await index.count(collection) == 1
    server.clear()


async def test_given_a_server_that_is_slow_once_then_a_write_is_sent_again(
    recording: Served,
) -> None:
    url, server = recording
    collection = a_collection()
    async with an_index(url, timeout=1) as index:
        await index.create(collection)
        hung: list[str] = []

        async def hang(request: Request) -> None:
            if not hung:
                hung.append(request.url.path)
                await asyncio.sleep(3)

        server.trouble = hang
        await index.upsert(collection, [a_chunk(collection)])
        assert len(hung) == 1
        hung.clear()
        with pytest.raises(IndexUnavailable, match="did not answer within 1 s"):
            await index.count(collection)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shards": 0}, "shards"),
        ({"replicas": -1}, "replicas"),
        ({"write_consistency": 2}, "write_consistency must be at most 1 [+] replicas"),
        ({"write_consistency": 4, "replicas": 2}, "at most 1 [+] replicas"),
        ({"quantization": "int4"}, "quantization"),
        ({"oversampling": 0.5}, "oversampling"),
        ({"write_chunks": 0}, "write_chunks"),
        ({"retries": 11}, "retries"),
        ({"retry_pause": "0s"}, "retry_pause"),
        ({"sharrds": 2}, "Not an option of a Qdrant index: 'sharrds'. Its options are .*shards"),
        ({"refresh_interval": 5}, "Not an option of a Qdrant index: 'refresh_interval'"),
    ],
)
def test_given_an_option_that_makes_no_sense_then_it_is_refused(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        connect(IndexSettings(url="http://127.0.0.1:6333", options=given), tmp_path)


def test_given_an_option_of_another_kind_of_index_then_it_is_refused(tmp_path: Path) -> None:
    for url in ("", "kdb+http://h"):
        with pytest.raises(ConfigError, match="Not an option of a Qdrant Edge .*It has no options"):
            connect(IndexSettings(url=url, options={"shards": 3}), tmp_path)


def test_given_another_address_then_the_options_hold_for_the_same_kind_of_index() -> None:
    given = IndexSettings(url="http://h:6333", options={"shards": 3})
    for url, holds in (("https://other", True), ("postgresql://h/d", False), ("", False)):
        assert readdress(given, url, SecretStr("")).options == (given.options if holds else {})
