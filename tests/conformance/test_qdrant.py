"""A Qdrant server against the embedded index, and a Qdrant server that is not there or is ill."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from ragstone.core.errors import IndexUnavailable, RagstoneError, StorageFull, UnknownCollection
from ragstone.core.filters import EVERYTHING, eq
from ragstone.index.edge.index import EdgeIndex
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.plugins.qdrant.options import USUAL
from ragstone.ports import Search
from tests.conformance.qdrant_server import QdrantServer, failure
from tests.conformance.test_chunk_index import a_chunk, a_collection, vectors
from tests.conformance.test_postgres import scores, some_chunks
from tests.http_server import running

Served = tuple[str, QdrantServer]


@pytest.fixture
async def index(qdrant: Served) -> AsyncIterator[QdrantIndex]:
    url, server = qdrant
    async with aclosing(QdrantIndex(url, "", 5)) as made:
        yield made
    server.trouble = None


async def test_given_the_same_chunks_then_the_same_scores_as_the_embedded_index(
    index: QdrantIndex, tmp_path: Path
) -> None:
    collection = a_collection()
    chunks = some_chunks(collection, 300)
    embedded = EdgeIndex(tmp_path / "index")
    for item in (embedded, index):
        await item.upsert(collection, chunks, vectors(*range(300)))
    expected = await scores(embedded, collection)
    await embedded.aclose()
    for mine, theirs in zip(expected, await scores(index, collection), strict=True):
        assert theirs == pytest.approx(mine, abs=5e-3)


async def test_given_no_server_then_a_clear_error() -> None:
    async with aclosing(QdrantIndex("http://ann:hunter2@127.0.0.1:9", "key", 1)) as index:
        with pytest.raises(IndexUnavailable, match="INDEX__URL") as raised:
            await index.ready()
    assert "hunter2" not in str(raised.value)


async def test_given_a_wrong_key_then_it_is_said(tmp_path: Path) -> None:
    server = QdrantServer(tmp_path, key="right")
    collection = a_collection()
    with running(server.app()) as url:
        async with aclosing(QdrantIndex(url, "wrong", 5)) as index:
            with pytest.raises(IndexUnavailable, match="INDEX__API_KEY"):
                await index.upsert(collection, [a_chunk(collection)])
        async with aclosing(QdrantIndex(url, "right", 5)) as index:
            await index.upsert(collection, [a_chunk(collection)])
            assert await index.count(collection) == 1
    server.clear()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure(500, "No space left on device: WAL"), StorageFull),
        (failure(500, "Service internal error"), IndexUnavailable),
        (PlainTextResponse("<html>Bad gateway</html>", 502), IndexUnavailable),
        (PlainTextResponse("not JSON", 200), IndexUnavailable),
        (JSONResponse({"result": None, "status": "ok"}), IndexUnavailable),
    ],
)
async def test_given_a_server_that_is_ill_then_one_sentence_says_so(
    qdrant: Served, index: QdrantIndex, answer: Response, error: type[RagstoneError]
) -> None:
    collection = a_collection()
    await index.upsert(collection, [a_chunk(collection)])

    async def ill(request: Request) -> Response:
        return answer

    qdrant[1].trouble = ill
    with pytest.raises(error) as raised:
        await index.upsert(collection, [a_chunk(collection)])
    assert "Traceback" not in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(error):
        await index.search(collection, [Search("text")], EVERYTHING, 5)


async def test_given_a_collection_that_another_process_dropped_then_it_is_unknown(
    qdrant: Served, index: QdrantIndex
) -> None:
    collection = a_collection()
    await index.upsert(collection, [a_chunk(collection)])
    async with aclosing(QdrantIndex(qdrant[0], "", 5)) as other:
        await other.drop(collection)
    with pytest.raises(UnknownCollection):
        await index.search(collection, [Search("text")], EVERYTHING, 5)


async def test_given_chunks_past_one_request_then_they_are_written_in_pieces(
    qdrant: Served, index: QdrantIndex
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, "lorem ipsum " * 30_000) for _ in range(12)]
    await index.upsert(collection, chunks, vectors(*range(12)), [b"x" * 100_000] * 12)
    assert await index.count(collection) == 12
    assert max(size for _, _, size in qdrant[1].seen) < USUAL.write_bytes


async def test_given_chunks_deleted_meanwhile_then_the_others_get_their_vectors(
    index: QdrantIndex,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, document_id=f"d{i}") for i in range(3)]
    await index.upsert(collection, chunks)
    await index.delete(collection, eq("document_id", "d1"))
    ids = [chunk.chunk_id for chunk in chunks]
    await index.set_vectors(collection, ids, vectors(1, 2, 3), [b"a", b"b", b"c"])
    assert set(await index.vectors(collection, ids)) == {ids[0], ids[2]}
    assert await index.tokens(collection, ids) == {ids[0]: b"a", ids[2]: b"c"}


async def test_given_many_chunks_when_optimized_then_the_server_searches_bytes(
    qdrant: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = a_collection()
    monkeypatch.setattr("ragstone.plugins.qdrant.index.QUANTIZE_FROM", 10)
    async with aclosing(QdrantIndex(qdrant[0], "", 5)) as index:
        await index.upsert(collection, some_chunks(collection, 20), vectors(*range(20)))
        await index.optimize(collection)
        held = next(
            h
            for name, h in qdrant[1].collections.items()
            if h.config["vectors"]["dense"].get("on_disk")
        )
        assert held.config["vectors"]["dense"]["quantization_config"]["scalar"]["type"] == "int8"
