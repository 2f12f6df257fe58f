"""What is particular to Elasticsearch: names, limits, failures, and ranking like the oracle's."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.core.chunk import Chunk
from ragstone.core.errors import (
    ConfigError,
    IndexUnavailable,
    InputError,
    InvalidFilter,
    RagstoneError,
    StorageFull,
)
from ragstone.core.filters import EVERYTHING, AnyOf, Filter, Not, Or, Range, eq
from ragstone.core.records import Collection
from ragstone.index.edge.index import EdgeIndex
from ragstone.plugins.elasticsearch.answers import hits
from ragstone.plugins.elasticsearch.index import ElasticsearchIndex
from ragstone.plugins.elasticsearch.mapping import alias_name, index_name
from ragstone.ports import Search
from tests.conformance.elasticsearch_server import ElasticsearchServer
from tests.conformance.test_chunk_index import WIDTH, a_chunk, a_collection, vectors
from tests.http_server import running


@pytest.fixture
async def index(elasticsearch: ElasticsearchServer) -> AsyncIterator[ElasticsearchIndex]:
    adapter = ElasticsearchIndex(elasticsearch.url, "", 30)
    yield adapter
    await adapter.aclose()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ElasticsearchServer]:
    """A server that the test may stop."""
    server = ElasticsearchServer(tmp_path / "elasticsearch")
    server.start()
    yield server
    server.stop()


def sentences(count: int, words: int, seed: int) -> list[str]:
    """Texts of words with the frequencies of a language."""
    random = np.random.default_rng(seed)
    ranks = random.zipf(1.3, size=(count, words)) % 5_000
    return [" ".join(f"w{rank}" for rank in row) for row in ranks]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.conforms("Plone", "Elasticsearch index", "kNN by cosine over dense vectors")
async def test_given_the_same_chunks_when_searched_by_meaning_then_found_as_by_the_oracle(
    index: ElasticsearchIndex, tmp_path: Path, exact: bool
) -> None:
    collection, oracle = a_collection(), EdgeIndex(tmp_path)
    rows = vectors(*range(400))
    chunks = [a_chunk(collection, kind=("table", "normal")[i % 2]) for i in range(400)]
    searches = [Search("", row) for row in vectors(*range(1_000, 1_010))]
    for item in (index, oracle):
        await item.upsert(collection, chunks, rows)
    found, expected = [
        await item.search(collection, searches, eq("kind", "table"), 10, exact)
        for item in (index, oracle)
    ]
    for ours, theirs in zip(found, expected, strict=True):
        # The embedded index keeps a byte a number: near scores may change places.
        scores = {s.chunk_id: s.score for s in theirs.found}
        last = theirs.found[-1].score
        assert len(ours.found) == len(theirs.found)
        for item in ours.found:
            assert item.score == pytest.approx(scores.get(item.chunk_id, last), abs=5e-3)
    await oracle.aclose()


@pytest.mark.conforms("Plone", "Elasticsearch index", "BM25 over chunks")
async def test_given_chunks_of_usual_length_when_searched_by_words_then_ranked_as_by_the_oracle(
    index: ElasticsearchIndex, tmp_path: Path
) -> None:
    collection, oracle = a_collection(language="mul"), EdgeIndex(tmp_path)
    chunks = [a_chunk(collection, text) for text in sentences(300, 100, seed=1)]
    searches = [Search(text) for text in sentences(20, 5, seed=2)]
    for item in (index, oracle):
        await item.upsert(collection, chunks)
    found, expected = [
        await item.search(collection, searches, EVERYTHING, 10) for item in (index, oracle)
    ]
    for ours, theirs in zip(found, expected, strict=True):
        scores = [s.score for s in theirs.found]
        assert [s.score for s in ours.found] == pytest.approx(scores, rel=0.02)
        clear = {s.chunk_id for s in theirs.found if s.score > scores[-1] * 1.02}
        assert clear <= {s.chunk_id for s in ours.found}
    await oracle.aclose()


@pytest.mark.parametrize(
    "changes",
    [
        {"id": 'Müller/../_all,*?"<>| #:\\ 文書'},
        {"id": "x" * 20_000},
        {"id": ""},
        {"id": "_-+..."},
        {"tenant": "文\n" * 5_000, "id": "logs"},
    ],
    ids=["signs", "long", "empty", "punctuation", "tenant"],
)
async def test_given_any_ids_then_a_collection_of_its_own(
    index: ElasticsearchIndex, changes: dict[str, str]
) -> None:
    collection = a_collection(**changes)
    others = [replace(collection, build=2), replace(collection, tenant=collection.tenant + "'")]
    chunk = a_chunk(collection)
    await index.upsert(collection, [chunk])
    for other in others:
        await index.create(other)
        assert await index.count(other) == 0
    assert await index.fetch(collection, [chunk.chunk_id]) == {chunk.chunk_id: chunk}
    assert await index.count(collection, eq("collection", collection.id)) == 1
    assert await index.count(collection, eq("tenant", collection.tenant)) == 1
    await index.drop(collection)


def test_given_ids_then_the_names_of_the_indices_differ_and_are_legal() -> None:
    base = Collection("t", "any", "m", "m/1", WIDTH, id="Docs & more")
    others = [
        replace(base, id="docs   more"),
        replace(base, tenant="T"),
        replace(base, build=2),
        replace(base, tenant='t", "Docs', id="& more"),
    ]
    names = {index_name(collection) for collection in [base, *others]}
    assert len(names) == 5
    assert all(name.startswith("ragstone-") and name.endswith("-rag-chunks") for name in names)
    assert all(len(name) < 128 and name == name.lower() for name in names)


async def test_given_values_longer_than_lucene_takes_then_kept_whole_and_found(
    index: ElasticsearchIndex,
) -> None:
    collection = a_collection()
    long = "文" * 40_000
    chunk = a_chunk(collection, path=f"/{long}/b", allowed=("*", long), metadata={"note": long})
    await index.upsert(collection, [chunk, a_chunk(collection)])
    assert await index.fetch(collection, [chunk.chunk_id]) == {chunk.chunk_id: chunk}
    for where in (
        eq("path", chunk.path),
        eq("folders", f"/{long}"),
        eq("allowed", long),
        eq("metadata.note", long),
        AnyOf("revision", ("no", "d1@1")),
    ):
        assert await index.count(collection, where) == (2 if where.field == "revision" else 1)
    assert await index.count(collection, eq("metadata.note", long[:-1])) == 0


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Range("page", 2.5, 3.5), 1),
        (Range("page", -1e300, 1e300), 2),
        (Range("page", 1e300), 0),
        (Range("page", float("-inf"), float("inf")), 2),
        (Range("modified", float("-inf"), float("inf")), 3),
        (Range("modified", float("inf")), 0),
        (Range("modified", 0, 0), 2),
        (AnyOf("page", (2.0, 2.5, 1e308)), 1),
        (AnyOf("modified", (0.1,)), 1),
        (Not(AnyOf("revision", tuple(f"gone@{i}" for i in range(70_000)))), 3),
    ],
)
async def test_given_numbers_and_lists_beyond_elasticsearchs_limits_then_the_filter_holds(
    index: ElasticsearchIndex, where: Filter, expected: int
) -> None:
    collection = a_collection()
    chunks = [
        a_chunk(collection, page=2, modified=-0.0),
        a_chunk(collection, page=3, modified=0.1),
        a_chunk(collection),
    ]
    await index.upsert(collection, chunks)
    assert await index.count(collection, where) == expected


async def test_given_a_filter_nested_too_deep_then_invalid_filter(
    index: ElasticsearchIndex,
) -> None:
    where: Filter = eq("kind", "normal")
    for _ in range(30):
        where = Not(Or((where, eq("kind", "x"))))
    with pytest.raises(InvalidFilter, match="nested"):
        await index.count(a_collection(), where)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
async def test_given_a_vector_without_direction_then_input_error_and_nothing_written(
    index: ElasticsearchIndex, value: float
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection), a_chunk(collection)]
    rows = vectors(1, 2)
    rows[1] = value
    for call in (
        index.upsert(collection, chunks, rows),
        index.set_vectors(collection, [c.chunk_id for c in chunks], rows),
        index.search(collection, [Search("", rows[1])], EVERYTHING, 5),
    ):
        with pytest.raises(InputError):
            await call
    assert await index.count(collection) == 0


async def test_given_a_question_of_many_words_or_none_then_searched_all_the_same(
    index: ElasticsearchIndex,
) -> None:
    collection = a_collection()
    await index.upsert(collection, [a_chunk(collection, "w1 and more")])
    searches = [Search(" ".join(f"w{i}" for i in range(5_000))), Search(" ?! "), Search("")]
    many, *none = await index.search(collection, searches, EVERYTHING, 10)
    assert len(many.found) == 1
    assert not any(item.found for item in none)


async def test_given_more_than_one_request_holds_then_all_is_written_scanned_and_deleted(
    index: ElasticsearchIndex,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, "x" * 2_000, version=i % 2 + 1) for i in range(10_500)]
    await index.upsert(collection, chunks)
    ids = {c.chunk_id for c in chunks}
    batches = [batch async for batch in index.scan(collection, batch=3_000)]
    assert [len(batch) for batch in batches] == [3_000, 3_000, 3_000, 1_500]
    assert {c.chunk_id for batch in batches for c in batch} == ids
    assert set(await index.fetch(collection, list(ids))) == ids
    await index.delete(collection, eq("version", 2))
    assert await index.count(collection) == 5_250
    await index.delete(collection, EVERYTHING)
    assert await index.count(collection) == 0


@pytest.mark.conforms(
    "Plone", "Elasticsearch index", "Index {plone-index}-rag-chunks with the printed mapping"
)
async def test_given_a_collection_then_its_index_is_called_and_mapped_as_printed(
    index: ElasticsearchIndex, elasticsearch: ElasticsearchServer
) -> None:
    collection = a_collection(name="plone-6", dimensions=1024)
    await index.create(collection)

    [found] = httpx2.get(f"{elasticsearch.url}/plone-6-rag-chunks/_mapping").json().values()

    properties = found["mappings"]["properties"]
    keywords = ("chunk_id", "parent_uid", "parent_path", "portal_type", "allowedRolesAndUsers")
    printed = {
        **{name: {"type": "keyword"} for name in keywords},
        **{name: {"type": "text"} for name in ("parent_title", "chunk_text")},
        "chunk_index": {"type": "integer"},
    }
    assert {name: properties[name] for name in printed} == printed
    vector = {"type": "dense_vector", "dims": 1024, "index": True, "similarity": "cosine"}
    assert properties["embedding"].items() >= vector.items()


@pytest.mark.conforms("Plone", "Elasticsearch index", "Chunks are found by portal_type")
async def test_given_chunks_of_a_site_then_another_program_finds_them_by_type_and_words(
    index: ElasticsearchIndex, elasticsearch: ElasticsearchServer
) -> None:
    collection = a_collection(name="site", tenant="acme")
    page = a_chunk(collection, "Boats leave at six.", metadata={"portal_type": "News Item"})
    await index.upsert(collection, [page, a_chunk(collection, "Boats are red.")])

    def find(query: Any) -> list[str]:
        address = f"{elasticsearch.url}/acme--site-rag-chunks/_search"
        answer = httpx2.post(address, json={"query": query}).json()
        return [hit["_id"] for hit in hits(answer)]

    assert find({"term": {"portal_type": "News Item"}}) == [page.chunk_id]
    assert len(find({"match": {"chunk_text": "boats"}})) == 2
    assert await index.fetch(collection, [page.chunk_id]) == {page.chunk_id: page}
    assert await index.count(collection, eq("metadata.portal_type", "News Item")) == 1


async def test_given_a_name_that_an_index_has_then_the_collection_is_made_without_it(
    index: ElasticsearchIndex, elasticsearch: ElasticsearchServer
) -> None:
    httpx2.put(f"{elasticsearch.url}/taken-rag-chunks").raise_for_status()
    collection = a_collection(name="taken")
    await index.upsert(collection, [a_chunk(collection)])
    assert await index.count(collection) == 1


async def test_given_a_key_that_may_give_no_name_then_the_collection_is_made_without_it() -> None:
    error = {"type": "security_exception", "reason": "indices:admin/aliases is unauthorized"}
    refused = (403, json.dumps({"error": error, "status": 403}))
    with running(answering((200, "{}"), refused)) as url:
        index = ElasticsearchIndex(url, "", 10)
        await index.create(a_collection(name="site"))
        await index.aclose()


def test_given_names_then_those_for_other_programs_are_legal_and_of_one_tenant() -> None:
    def alias(tenant: str, name: str) -> str:
        return alias_name(Collection(tenant, name, "m", "m/1", WIDTH))

    assert alias("default", "plone") == "plone-rag-chunks"
    assert alias("acme", "plone") == "acme--plone-rag-chunks"
    for tenant, name in (("default", "acme--plone"), ("Acme", "plone"), ("default", "文書")):
        assert alias(tenant, name) == ""


async def test_given_a_dropped_index_when_written_then_its_mapping_is_made_again(
    index: ElasticsearchIndex, elasticsearch: ElasticsearchServer
) -> None:
    collection = a_collection()
    await index.create(collection)
    httpx2.delete(f"{elasticsearch.url}/{index_name(collection)}").raise_for_status()
    await index.set_vectors(collection, ["gone"], vectors(1))
    assert await index.search(collection, [Search("a"), Search("", vectors(1)[0])], EVERYTHING, 3)
    assert await index.fetch(collection, ["gone"]) == {}
    assert await index.vectors(collection, ["gone"]) == {}
    assert await index.facet(collection, "kind") == {}
    await index.upsert(collection, [a_chunk(collection)], vectors(1))
    [found] = await index.search(collection, [Search("", vectors(1)[0])], EVERYTHING, 3)
    assert len(found.found) == 1


async def test_given_a_server_that_goes_and_comes_back_then_unavailable_and_then_as_before(
    own_server: ElasticsearchServer,
) -> None:
    index, collection = ElasticsearchIndex(own_server.url, "", 5), a_collection()
    await index.upsert(collection, [a_chunk(collection)])
    own_server.stop()
    for call in (index.count(collection), index.ready(), index.create(collection)):
        with pytest.raises(IndexUnavailable, match="cannot be reached"):
            await call
    own_server.start()
    await index.ready()
    assert await index.count(collection) == 1
    await index.aclose()


async def test_given_a_server_that_hangs_then_unavailable_at_the_timeout(
    own_server: ElasticsearchServer,
) -> None:
    index, collection = ElasticsearchIndex(own_server.url, "", 0.3), a_collection()
    await index.create(collection)
    own_server.pause()
    with pytest.raises(IndexUnavailable, match=r"did not answer within 0\.3 s"):
        await index.count(collection)
    own_server.resume()
    assert await index.count(collection) == 0
    await index.aclose()


def answering(*answers: tuple[int, str], product: str = "Elasticsearch") -> Starlette:
    """A server that gives each of `answers` in turn, then the last one for ever."""
    waiting = list(answers)

    async def answer(request: Request) -> Response:
        status, text = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return Response(text, status, {"X-Elastic-Product": product})

    methods = ["GET", "HEAD", "POST", "PUT", "DELETE"]
    return Starlette(routes=[Route("/{path:path}", answer, methods=methods)])


async def every_call(index: ElasticsearchIndex) -> list[tuple[str, RagstoneError | None]]:
    """The name of each method, and the error that it raised."""
    collection = a_collection()
    chunk, row = a_chunk(collection), vectors(1)
    calls: dict[str, Callable[[], Any]] = {
        "upsert": lambda: index.upsert(collection, [chunk], row),
        "set_vectors": lambda: index.set_vectors(collection, [chunk.chunk_id], row),
        "without_vectors": lambda: index.without_vectors(collection, 5),
        "words": lambda: index.search(collection, [Search("word")], EVERYTHING, 5),
        "meaning": lambda: index.search(collection, [Search("", row[0])], EVERYTHING, 5),
        "fetch": lambda: index.fetch(collection, [chunk.chunk_id]),
        "vectors": lambda: index.vectors(collection, [chunk.chunk_id]),
        "scan": lambda: anext(index.scan(collection)),
        "delete": lambda: index.delete(collection, EVERYTHING),
        "count": lambda: index.count(collection),
        "facet": lambda: index.facet(collection, "kind"),
        "ready": lambda: index.ready(),
    }
    outcomes: list[tuple[str, RagstoneError | None]] = []
    for name, call in calls.items():
        try:
            await call()
            outcomes.append((name, None))
        except RagstoneError as error:
            outcomes.append((name, error))
    return outcomes


@pytest.mark.parametrize(
    "text",
    [
        "<html>Bad gateway</html>",
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        '{"responses": [], "hits": {"hits": 5}, "docs": 1, "count": "x", "_shards": {}}',
        '{"responses": [{"status": 200}], "docs": [{}], "hits": {"hits": [{}]}, "errors": true}',
        json.dumps({"timed_out": False, "_shards": {"failed": 1}, "hits": {"hits": []}}),
    ],
    ids=["html", "empty", "null", "list", "object", "deep", "wrong", "hollow", "partial"],
)
async def test_given_a_server_that_answers_nonsense_then_unavailable(text: str) -> None:
    with running(answering((200, text))) as url:
        index = ElasticsearchIndex(url, "", 10)
        for name, error in await every_call(index):
            assert isinstance(error, IndexUnavailable), name
            assert "\n" not in str(error)
        await index.aclose()


@pytest.mark.parametrize(
    ("status", "reason", "kind", "words"),
    [
        (401, "unable to authenticate", IndexUnavailable, "INDEX__API_KEY"),
        (403, "action is unauthorized", IndexUnavailable, "INDEX__API_KEY"),
        (429, "disk usage exceeded flood-stage watermark", StorageFull, "disk"),
        (503, "all shards failed\nand\nmore", IndexUnavailable, "503: all shards failed and more"),
        (500, "x" * 10_000, IndexUnavailable, "500: xxx"),
    ],
)
async def test_given_a_server_that_refuses_then_the_error_says_why(
    status: int, reason: str, kind: type[RagstoneError], words: str
) -> None:
    text = json.dumps({"error": {"type": "some_exception", "reason": reason}, "status": status})
    with running(answering((status, text))) as url:
        index = ElasticsearchIndex(url, "key", 10)
        for name, error in await every_call(index):
            if name not in ("upsert", "set_vectors"):
                assert isinstance(error, kind), name
                assert words in str(error)
                assert len(str(error)) < 300
        await index.aclose()


async def test_given_a_busy_server_then_tried_again() -> None:
    busy = (429, json.dumps({"error": {"type": "es_rejected_execution_exception"}}))
    counted = (200, json.dumps({"count": 7, "_shards": {"failed": 0}}))
    with running(answering(busy, busy, counted)) as url:
        index = ElasticsearchIndex(url, "", 10)
        assert await index.count(a_collection()) == 7
        await index.aclose()
    with running(answering(busy)) as url:
        index = ElasticsearchIndex(url, "", 10)
        with pytest.raises(IndexUnavailable, match="too busy"):
            await index.count(a_collection())
        await index.aclose()


async def test_given_one_chunk_refused_among_many_then_the_write_fails() -> None:
    items = [{"index": {"status": 201}}, {"index": {"status": 400, "error": {"reason": "no"}}}]
    with running(answering((200, json.dumps({"errors": True, "items": items})))) as url:
        index = ElasticsearchIndex(url, "", 10)
        with pytest.raises(IndexUnavailable, match="400: no"):
            await index.upsert(a_collection(), [a_chunk(a_collection())])
        await index.aclose()


async def test_given_another_kind_of_server_then_the_error_names_the_setting() -> None:
    with running(answering((200, "{}"), product="Something else")) as url:
        index = ElasticsearchIndex(url, "", 10)
        with pytest.raises(IndexUnavailable, match="is not Elasticsearch"):
            await index.ready()
        await index.aclose()


async def test_given_a_key_then_it_is_sent_and_never_shown() -> None:
    sent: list[str] = []

    async def answer(request: Request) -> Response:
        sent.append(request.headers["Authorization"])
        return Response("{}", 401)

    with running(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        index = ElasticsearchIndex(url, "c2VjcmV0", 10)
        with pytest.raises(IndexUnavailable) as caught:
            await index.ready()
        await index.aclose()
    assert sent == ["ApiKey c2VjcmV0"]
    assert "c2VjcmV0" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "host:9200", "ftp://host", "http://", "http://host:port"])
def test_given_an_address_that_is_none_then_config_error(url: str) -> None:
    with pytest.raises(ConfigError, match="INDEX__URL"):
        ElasticsearchIndex(url, "", 10)


def test_given_a_key_that_no_header_can_carry_then_config_error() -> None:
    with pytest.raises(ConfigError, match="INDEX__API_KEY"):
        ElasticsearchIndex("http://127.0.0.1:1", "schlüssel", 10)


async def test_given_many_deletions_during_writes_then_what_is_deleted_stays_deleted(
    index: ElasticsearchIndex,
) -> None:
    collection = a_collection()
    old: list[Chunk] = [a_chunk(collection) for _ in range(50)]
    await index.upsert(collection, old)

    async def write() -> None:
        await index.set_vectors(collection, [c.chunk_id for c in old], vectors(*range(50)))
        await index.upsert(collection, [a_chunk(collection, version=2)])

    await asyncio.gather(*(write() for _ in range(5)), index.delete(collection, eq("version", 1)))
    assert await index.count(collection, eq("version", 1)) == 0
    assert await index.count(collection) == 5
