"""What every chunk index must do; the plain-Python filter evaluator is the oracle."""

import asyncio
import shutil
import warnings
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient

from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError, InvalidFilter
from ragstone.core.filters import (
    EVERYTHING,
    And,
    AnyOf,
    Filter,
    Not,
    Or,
    Range,
    eq,
    matches,
    path_filter,
    reader_filter,
)
from ragstone.core.records import Collection, new_collection_id
from ragstone.core.turn import Principal
from ragstone.index.edge.index import EdgeIndex
from ragstone.language.late_interaction import LateQuery, TokenVectors, pack_tokens
from ragstone.plugins.elasticsearch.index import ElasticsearchIndex
from ragstone.plugins.postgres.connection import PostgresConnections
from ragstone.plugins.postgres.index import PostgresIndex
from ragstone.plugins.qdrant.index import QdrantIndex
from ragstone.ports import ChunkIndex, Search
from tests.conformance.shared_index import SharedWithOthers
from tests.in_turn import in_turn

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]

WIDTH = 8
numbers = count()


def a_collection(**changes: Any) -> Collection:
    base = Collection("default", f"c{next(numbers)}", "test", "test/1", WIDTH, "en")
    return replace(base, **changes)


def a_chunk(collection: Collection, text: str = "text", **changes: Any) -> Chunk:
    base = Chunk(
        chunk_id=str(uuid4()),
        document_id="d1",
        version=1,
        chunk_index=0,
        text=text,
        title="",
        path="/a/b.txt",
        tenant=collection.tenant,
        collection=collection.id,
        start=0,
        end=len(text),
    )
    return replace(base, **changes)


def vectors(*seeds: int) -> np.ndarray:
    rows = np.stack([np.random.default_rng(seed).normal(size=WIDTH) for seed in seeds])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


INDEXES = [
    "edge",
    "elasticsearch",
    "postgres",
    "postgres-shared",
    "qdrant",
    "qdrant-local",
    "qdrant-shared",
]


def an_index(kind: str, request: pytest.FixtureRequest, root: Path) -> Any:
    if kind == "elasticsearch":
        return ElasticsearchIndex(request.getfixturevalue("elasticsearch").url, "", 30)
    if kind == "postgres":
        return PostgresIndex(PostgresConnections(request.getfixturevalue("postgres").url, 30))
    if kind.endswith("-shared"):
        return SharedWithOthers(an_index(kind.removesuffix("-shared"), request, root))
    if kind == "qdrant":
        return QdrantIndex(request.getfixturevalue("qdrant")[0], "", 30)
    if kind == "qdrant-local":
        return QdrantIndex("", client=local_client())
    return EdgeIndex(root)


def local_client() -> AsyncQdrantClient:
    """The official client over its own Python engine, which says that it has no real indexes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AsyncQdrantClient(":memory:")


@pytest.fixture(params=INDEXES)
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ChunkIndex]:
    adapter = an_index(request.param, request, tmp_path / "index")
    yield adapter
    await adapter.aclose()
    if request.param in ("qdrant", "qdrant-shared"):
        request.getfixturevalue("qdrant")[1].clear()


async def test_given_chunks_with_vectors_when_searched_by_meaning_then_the_nearest_is_first(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection) for _ in range(5)]
    rows = vectors(1, 2, 3, 4, 5)
    await index.upsert(collection, chunks, rows)
    [found] = await index.search(collection, [Search("q", rows[3])], EVERYTHING, 3)
    assert found.source == "dense"
    assert found.found[0].chunk_id == chunks[3].chunk_id
    assert found.found[0].score == pytest.approx(1.0, abs=1e-4)
    assert len(found.found) == 3


async def test_given_text_when_searched_by_words_then_only_chunks_with_a_word_are_found(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, t) for t in ("whales sing", "cats purr", "a singing whale")]
    await index.upsert(collection, chunks)
    [found] = await index.search(collection, [Search("whale song singing")], EVERYTHING, 10)
    assert found.source == "bm25"
    ids = [scored.chunk_id for scored in found.found]
    assert set(ids) == {chunks[0].chunk_id, chunks[2].chunk_id}
    assert all(scored.score > 0 for scored in found.found)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我在北京大学学习中文。", "北京大学"),
        ("ฉันไปโรงเรียนทุกวัน", "โรงเรียน"),
        ("한국어 형태소 분석", "형태소"),
        ("東京は日本の首都です。", "首都"),
        ("ذهبت إلى المدرسة", "المدرسة"),
    ],
)
async def test_given_text_of_a_script_when_searched_by_a_word_in_it_then_found(
    index: ChunkIndex, text: str, query: str
) -> None:
    collection = a_collection(language="mul")
    await index.upsert(collection, [a_chunk(collection, text), a_chunk(collection, "other")])
    [found] = await index.search(collection, [Search(query)], EVERYTHING, 10)
    assert len(found.found) == 1


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Account A-1777 was closed.", "which account is 1777?"),
        ("Article 12: the seat is in Ghent.", "Article 12"),
        ("net sales of $ 1,577 in 2022", "sales of 1577"),
        ("第12条 本法自2022年起施行", "12 2022"),
        ("제12조에 따라", "12"),
        ("في عام ٢٠٢٢", "2022"),
        ("call ext. 377", "３７７"),
    ],
)
async def test_given_a_number_that_stands_alone_when_searched_then_its_text_is_first(
    index: ChunkIndex, text: str, query: str
) -> None:
    collection = a_collection()
    chunk = a_chunk(collection, text)
    others = [a_chunk(collection, f"Article {n}, account B-{n}: {n}0 sales") for n in range(13, 40)]
    await index.upsert(collection, [*others, chunk])
    [found] = await index.search(collection, [Search(query)], EVERYTHING, 10)
    assert found.found[0].chunk_id == chunk.chunk_id


async def test_given_many_numbers_then_words_weigh_as_they_do_without(index: ChunkIndex) -> None:
    collection = a_collection()
    figures = " ".join(str(n) for n in range(1000, 1200))
    texts = (f"assets {figures}", "assets", "text")
    chunks = [a_chunk(collection, text) for text in texts]
    await index.upsert(collection, chunks)
    [found] = await index.search(collection, [Search("assets")], EVERYTHING, 10)
    scores = {scored.chunk_id: scored.score for scored in found.found}
    assert scores[chunks[0].chunk_id] == pytest.approx(scores[chunks[1].chunk_id])


async def test_given_chunks_without_vectors_then_they_wait_and_are_found_by_words_at_once(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    chunks = [a_chunk(collection, f"word{i}", document_id=f"d{i}") for i in range(3)]
    await index.upsert(collection, chunks)
    waiting = await index.without_vectors(collection, 10)
    assert {c.chunk_id for c in waiting} == {c.chunk_id for c in chunks}
    assert await index.count_without_vectors(collection) == 3
    ids = [chunks[0].chunk_id, str(uuid4())]
    await index.set_vectors(collection, ids, vectors(1, 2))
    assert len(await index.without_vectors(collection, 10)) == 2
    assert await index.count_without_vectors(collection) == 2
    inside = eq("revision", chunks[1].revision)
    assert await index.count_without_vectors(collection, inside) == 1
    assert await index.count_without_vectors(collection, eq("revision", chunks[0].revision)) == 0
    [by_word, by_meaning] = await index.search(
        collection, [Search("word1"), Search("", vectors(1)[0])], EVERYTHING, 10
    )
    assert [s.chunk_id for s in by_word.found] == [chunks[1].chunk_id]
    assert [s.chunk_id for s in by_meaning.found] == [chunks[0].chunk_id]


async def test_given_a_chunk_when_fetched_then_every_field_is_as_it_was(index: ChunkIndex) -> None:
    collection = a_collection()
    chunk = a_chunk(
        collection,
        "täxt 文",
        title="T",
        page=3,
        section=("A", "B"),
        kind="table",
        language="de",
        media_type="application/pdf",
        modified=12.5,
        allowed=("user:x", "group:y"),
        metadata={"author": "Ann", "year": 2024, "tags": ["a", "b"], "draft": False},
        path="/x/y/z.pdf",
    )
    await index.upsert(collection, [chunk])
    assert await index.fetch(collection, [chunk.chunk_id, str(uuid4())]) == {chunk.chunk_id: chunk}


async def test_given_chunks_when_their_vectors_are_read_then_those_that_have_one_come_back(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    held, bare = [a_chunk(collection) for _ in range(2)], a_chunk(collection)
    rows = vectors(1, 2)
    await index.upsert(collection, held, rows)
    await index.upsert(collection, [bare])
    ids = [held[0].chunk_id, held[1].chunk_id, bare.chunk_id, str(uuid4())]
    found = await index.vectors(collection, ids)
    assert set(found) == {chunk.chunk_id for chunk in held}
    assert np.allclose(np.stack([found[chunk.chunk_id] for chunk in held]), rows, atol=5e-3)


async def test_given_token_vectors_when_read_then_they_are_the_bytes_that_were_written(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    first, second, bare = (a_chunk(collection, document_id=d) for d in ("d1", "d2", "d3"))
    await index.upsert(collection, [first], vectors(1), [b"\0one"])
    await index.upsert(collection, [second, bare])
    ids = [first.chunk_id, second.chunk_id, bare.chunk_id]
    await index.set_vectors(collection, [ids[1], str(uuid4())], vectors(2, 3), [b"two", b"x"])
    assert await index.tokens(collection, ids) == {ids[0]: b"\0one", ids[1]: b"two"}
    await index.delete(collection, eq("document_id", "d1"))
    assert await index.tokens(collection, ids) == {ids[1]: b"two"}


async def test_given_an_id_again_when_upserted_then_it_is_replaced(index: ChunkIndex) -> None:
    collection = a_collection()
    chunk = a_chunk(collection, "old")
    await index.upsert(collection, [chunk], vectors(1))
    await index.upsert(collection, [replace(chunk, text="new")])
    assert await index.count(collection) == 1
    assert (await index.fetch(collection, [chunk.chunk_id]))[chunk.chunk_id].text == "new"
    assert len(await index.without_vectors(collection, 5)) == 1


async def test_given_two_versions_when_one_is_deleted_then_the_other_stays(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    old, new = a_chunk(collection), a_chunk(collection, version=2)
    other = a_chunk(collection, document_id="d2")
    await index.upsert(collection, [old, new, other])
    await index.delete(collection, eq("revision", "d1@1"))
    assert {c.chunk_id for batch in [b async for b in index.scan(collection)] for c in batch} == {
        new.chunk_id,
        other.chunk_id,
    }
    await index.delete(collection, eq("document_id", "d1"))
    assert await index.count(collection) == 1


async def test_given_fields_when_counted_by_value_then_the_most_frequent_is_first(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    kinds = ["normal", "table", "normal"]
    await index.upsert(collection, [a_chunk(collection, kind=kind) for kind in kinds])
    assert list((await index.facet(collection, "kind")).items()) == [("normal", 2), ("table", 1)]
    assert await index.facet(collection, "kind", eq("kind", "table")) == {"table": 1}


async def test_given_many_documents_when_counted_by_revision_then_each_has_its_own_chunks(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    of = {f"d{n:03}": 1 + n % 3 for n in range(400)}
    chunks = [a_chunk(collection, document_id=id) for id, many in of.items() for _ in range(many)]
    await index.upsert(collection, [*chunks, a_chunk(collection, document_id="d001", kind="table")])
    asked = tuple(f"{id}@1" for id in list(of)[:300])
    inside = And((AnyOf("revision", asked), Not(eq("kind", "table"))))
    found = await index.facet(collection, "revision", inside, limit=400)
    assert found == {f"{id}@1": many for id, many in list(of.items())[:300]}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    [(_, most)] = (await index.facet(collection, "revision", inside, limit=1)).items()
    assert most == 3
    assert await index.facet(collection, "revision", eq("revision", "d9@9")) == {}


async def test_given_two_collections_then_neither_sees_the_other(index: ChunkIndex) -> None:
    one, two = a_collection(), a_collection()
    await index.upsert(one, [a_chunk(one)])
    await index.create(two)
    assert await index.count(two) == 0
    await index.drop(one)
    assert await index.count(one) == 0


async def test_given_another_name_then_everything_is_there_and_a_new_one_of_the_old_name_is_empty(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    chunk = a_chunk(collection, "whale")
    await index.create(collection)
    await index.upsert(collection, [chunk], vectors(1))
    renamed, new = replace(collection, name="other"), replace(collection, id=new_collection_id())
    await index.create(new)
    assert await index.fetch(renamed, [chunk.chunk_id]) == {chunk.chunk_id: chunk}
    assert await index.count(new) == 0
    await index.drop(new)
    assert await index.count(renamed) == 1


async def test_given_a_vector_of_the_wrong_width_then_a_clear_error_and_nothing_written(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    wide = np.ones((1, WIDTH + 1), np.float32)
    with pytest.raises(InputError, match="8 numbers, but one of 9"):
        await index.upsert(collection, [a_chunk(collection)], wide)
    with pytest.raises(InputError):
        await index.search(collection, [Search("", wide[0])], EVERYTHING, 1)
    assert await index.count(collection) == 0


@in_turn(
    "wrong",
    [
        eq("nonsense", "x"),
        eq("metadata.", "x"),
        Range("path", 1, 2),
        Range("page", float("nan")),
        Range("page", "1", None),
        Range("metadata.year", 2022),
        eq("page", "three"),
        eq("path", 3),
        eq("path", "\ud800"),
        eq("metadata.\udfff", "x"),
        eq("page", 10**400),
        eq("page", float("inf")),
        Range("page", 10**400),
    ],
)
async def test_given_a_filter_that_makes_no_sense_then_invalid_filter(
    index: ChunkIndex, wrong: Filter
) -> None:
    collection = a_collection()
    for call in (index.count(collection, wrong), index.search(collection, [], wrong, 1)):
        with pytest.raises(InvalidFilter):
            await call


async def test_given_many_writers_and_readers_at_once_then_nothing_is_lost(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    await index.create(collection)

    async def write(seed: int) -> None:
        await index.upsert(collection, [a_chunk(collection, f"w{seed}")], vectors(seed))

    async def read() -> None:
        await index.search(collection, [Search("w1"), Search("", vectors(1)[0])], EVERYTHING, 5)

    await asyncio.gather(*(write(i) for i in range(40)), *(read() for _ in range(40)))
    assert await index.count(collection) == 40


async def test_given_writes_when_optimized_then_the_same_is_found(index: ChunkIndex) -> None:
    collection = a_collection()
    rows = vectors(*range(300))
    chunks = [a_chunk(collection, f"t{i}") for i in range(300)]
    await index.upsert(collection, chunks, rows)
    before = await index.search(collection, [Search("", rows[7])], EVERYTHING, 10, exact=True)
    await index.optimize(collection)
    after = await index.search(collection, [Search("", rows[7])], EVERYTHING, 10, exact=True)
    assert [s.chunk_id for s in before[0].found] == [s.chunk_id for s in after[0].found]


words = st.sampled_from(["a", "b", "c", "/a", "/a/b", "/a/b/c", "user:u", "group:g", "*", 'é"='])
metadata_values = st.one_of(
    st.sampled_from(["x", "1", "true", 'é"=']), st.integers(0, 2), st.booleans(), st.just(1.0)
)
metadata = st.dictionaries(
    st.sampled_from(["k", "k.l", "m"]),
    st.one_of(metadata_values, st.lists(metadata_values, max_size=2)),
    max_size=2,
)
fields = st.fixed_dictionaries(
    {
        "document_id": words,
        "version": st.integers(1, 3),
        "chunk_index": st.integers(0, 3),
        "path": st.sampled_from(["/a", "/a/b", "/a/b/c", "/ab", "/b/a"]),
        "page": st.one_of(st.none(), st.integers(1, 4)),
        "kind": st.sampled_from(["normal", "table"]),
        "language": st.sampled_from(["", "en", "de"]),
        "modified": st.floats(0, 3),
        "allowed": st.lists(words, max_size=3).map(tuple),
        "tenant": st.sampled_from(["default", "other"]),
        "metadata": metadata,
    }
)
bounds = st.one_of(st.none(), st.integers(0, 4).map(float), st.floats(0, 3))
leaves = st.one_of(
    st.builds(
        AnyOf,
        st.sampled_from(["document_id", "path", "folders", "kind", "language", "allowed"]),
        st.lists(st.one_of(words, st.sampled_from(["normal", "en", ""])), max_size=3).map(tuple),
    ),
    st.builds(
        AnyOf,
        st.sampled_from(["page", "version", "chunk_index"]),
        st.lists(st.integers(0, 4), max_size=2).map(tuple),
    ),
    st.builds(
        AnyOf,
        st.sampled_from(["metadata.k", "metadata.k.l", "metadata.m"]),
        st.lists(metadata_values, max_size=2).map(tuple),
    ),
    st.builds(Range, st.sampled_from(["page", "modified", "version"]), bounds, bounds),
    st.builds(path_filter, st.sampled_from(["/", "/a", "/a/b", "a/b/", "/b"])),
    st.builds(
        reader_filter,
        st.builds(
            Principal,
            st.sampled_from(["default", "other"]),
            st.just("u"),
            st.sampled_from([(), ("g",)]),
        ),
    ),
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("kind", INDEXES)
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(fields, min_size=1, max_size=12), st.lists(filters, min_size=1, max_size=12))
def test_given_any_chunks_and_any_filter_then_exactly_the_matching_chunks_are_seen(
    kind: str,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[dict[str, Any]],
    conditions: list[Filter],
) -> None:
    async def check() -> None:
        folder = tmp_path_factory.mktemp("index")
        index = an_index(kind, request, folder)
        collection = a_collection()
        chunks = [a_chunk(collection, "word", **values) for values in documents]
        rows = vectors(*range(len(chunks)))
        await index.upsert(collection, chunks, rows)
        for where in conditions:
            expected = {c.chunk_id for c in chunks if matches(where, c.payload())}
            dense, bm25 = await index.search(
                collection, [Search("", rows[0]), Search("word")], where, 50, exact=True
            )
            assert {s.chunk_id for s in dense.found} == expected
            assert {s.chunk_id for s in bm25.found} == expected
            assert await index.count(collection, where) == len(expected)
            assert all(UUID(s.chunk_id) for s in dense.found)
        await index.drop(collection)
        await index.aclose()
        shutil.rmtree(folder)

    asyncio.run(check())


TOKEN_WIDTH = 16
SCALE = np.full(TOKEN_WIDTH, TOKEN_WIDTH**-0.5, np.float32)


def token_vectors(*seeds: int) -> np.ndarray:
    """A vector of unit length for each seed."""
    rows = np.stack([np.random.default_rng(seed).normal(size=TOKEN_WIDTH) for seed in seeds])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def packed_tokens(*seeds: int) -> bytes:
    """A chunk's packed token vectors, one of each seed."""
    return pack_tokens(TokenVectors(np.array(seeds, np.uint16), token_vectors(*seeds)), SCALE)


def formerly_packed(*seeds: int) -> bytes:
    """The same as versions before codes of 2 bits packed it: ids, then 4 bits a number, in steps of
    .4 deviations."""
    steps = np.clip(np.rint(token_vectors(*seeds) / (0.4 * SCALE)), -7, 7).astype(int) + 8
    rows = bytes((steps[:, 0::2] << 4 | steps[:, 1::2]).astype(np.uint8).tobytes())
    return len(seeds).to_bytes(2, "little") + np.array(seeds, "<u2").tobytes() + rows


def asked_late(*seeds: int) -> Search:
    """A question of these tokens, all of one weight."""
    weights = np.full(len(seeds), 1 / len(seeds), np.float32)
    return Search("q", late=LateQuery(token_vectors(*seeds), weights, SCALE))


def a_late_collection() -> Collection:
    return a_collection(late=TOKEN_WIDTH)


async def late_ids(index: ChunkIndex, collection: Collection, where: Filter, *seeds: int) -> Any:
    [found] = await index.search(collection, [asked_late(*seeds)], where, 10)
    assert found.source == "late"
    return [item.chunk_id for item in found.found]


async def test_given_token_vectors_when_searched_by_late_interaction_then_maxsim_orders_chunks(
    index: ChunkIndex,
) -> None:
    collection = a_late_collection()
    chunks = [a_chunk(collection) for _ in range(3)]
    tokens = [packed_tokens(1, 2, 3), packed_tokens(1, 5, 6), packed_tokens(7, 8, 9)]
    await index.upsert(collection, chunks, vectors(1, 2, 3), tokens)
    [found] = await index.search(collection, [asked_late(1, 2)], EVERYTHING, 2)
    assert [item.chunk_id for item in found.found] == [chunks[0].chunk_id, chunks[1].chunk_id]
    assert found.found[0].score == pytest.approx(1.0, abs=0.05)


async def test_given_token_vectors_of_the_former_kind_then_late_interaction_compares_them_too(
    index: ChunkIndex,
) -> None:
    collection = a_late_collection()
    chunks = [a_chunk(collection) for _ in range(3)]
    tokens = [formerly_packed(1, 2), packed_tokens(1, 5, 6), formerly_packed(7, 8)]
    await index.upsert(collection, chunks, vectors(1, 2, 3), tokens)
    found = await late_ids(index, collection, EVERYTHING, 1, 2)
    assert found == [chunk.chunk_id for chunk in chunks]


async def test_given_tokens_that_come_later_then_late_interaction_finds_the_chunk_from_then_on(
    index: ChunkIndex,
) -> None:
    collection = a_late_collection()
    chunk = a_chunk(collection)
    await index.upsert(collection, [chunk])
    assert await late_ids(index, collection, EVERYTHING, 1) == []
    await index.set_vectors(collection, [chunk.chunk_id], vectors(1), [packed_tokens(1, 2)])
    assert await late_ids(index, collection, EVERYTHING, 1) == [chunk.chunk_id]
    await index.upsert(collection, [chunk], vectors(1), [packed_tokens(3, 4)])
    [found] = await index.search(collection, [asked_late(3)], EVERYTHING, 10)
    assert found.found[0].score == pytest.approx(1.0, abs=0.05)


async def test_given_readers_and_revisions_then_late_interaction_finds_only_what_the_filter_allows(
    index: ChunkIndex,
) -> None:
    collection = a_late_collection()
    mine = a_chunk(collection, allowed=("user:anna",))
    others = a_chunk(collection, document_id="d2", allowed=("group:x",))
    await index.upsert(collection, [mine, others], vectors(1, 2), [packed_tokens(1, 2)] * 2)
    anna = reader_filter(Principal("default", "anna"))
    assert await late_ids(index, collection, anna, 1, 2) == [mine.chunk_id]
    hidden = And((anna, Not(AnyOf("revision", (mine.revision,)))))
    assert await late_ids(index, collection, hidden, 1, 2) == []
    both = [asked_late(1, 2), Search("q", vectors(2)[0])]
    late, dense = await index.search(collection, both, anna, 10)
    assert [item.chunk_id for item in (*late.found, *dense.found)] == [mine.chunk_id] * 2


async def test_given_a_deleted_chunk_then_late_interaction_finds_it_no_more(
    index: ChunkIndex,
) -> None:
    collection = a_late_collection()
    chunks = [a_chunk(collection), a_chunk(collection, document_id="d2")]
    await index.upsert(collection, chunks, vectors(1, 2), [packed_tokens(1, 2)] * 2)
    await index.delete(collection, eq("document_id", "d1"))
    assert await late_ids(index, collection, EVERYTHING, 1) == [chunks[1].chunk_id]


async def test_given_a_collection_without_late_interaction_then_a_search_by_it_says_what_to_do(
    index: ChunkIndex,
) -> None:
    collection = a_collection()
    await index.upsert(collection, [a_chunk(collection)], vectors(1), [packed_tokens(1, 2)])
    with pytest.raises(InputError, match="INGEST__TOKEN_VECTORS=search"):
        await index.search(collection, [asked_late(1)], EVERYTHING, 10)


async def test_given_token_vectors_of_another_model_then_they_are_refused(
    index: ChunkIndex,
) -> None:
    collection = a_collection(late=TOKEN_WIDTH + 2)
    odd = packed_tokens(1, 2, 3, 4, 5)
    with pytest.raises(InputError, match="token vectors of 18 numbers"):
        await index.upsert(collection, [a_chunk(collection)], vectors(1), [odd])


@pytest.mark.parametrize("seed", range(3))
async def test_given_many_chunks_then_late_interaction_finds_nearly_all_of_the_best(
    index: ChunkIndex, seed: int
) -> None:
    collection = a_late_collection()
    random = np.random.default_rng(seed)
    chunks = [a_chunk(collection) for _ in range(400)]
    words = [tuple(random.integers(1, 300, 12).tolist()) for _ in chunks]
    tokens = [packed_tokens(*word) for word in words]
    rows = vectors(*range(len(chunks)))
    await index.upsert(collection, chunks, rows, tokens)
    await index.optimize(collection)
    asked = words[7][:4]
    found = await late_ids(index, collection, EVERYTHING, *asked)
    best = sorted(
        range(len(chunks)),
        key=lambda i: -(token_vectors(*asked) @ token_vectors(*words[i]).T).max(axis=1).sum(),
    )
    assert found[0] == chunks[7].chunk_id
    assert len({chunks[i].chunk_id for i in best[:10]} & set(found)) >= 7
