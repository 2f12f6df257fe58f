"""Random cases of documents, principal, filter and query over every chunk index.

Nothing outside the filter is ever returned, whatever the search; nothing inside is missed by an
exact one. The oracle is the plain-Python evaluator of filters. 500 cases for each of seven indexes
in every run; `make test-permissions` gives each 10,000.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from ragstone.core.chunk import EVERYONE, Chunk
from ragstone.core.filters import (
    And,
    AnyOf,
    Filter,
    Not,
    Or,
    Range,
    matches,
    path_filter,
    reader_filter,
)
from ragstone.core.records import Collection
from ragstone.core.turn import Principal
from ragstone.ingest.migrate import End, copy_all
from ragstone.ports import ChunkIndex, Search
from tests.conformance.test_chunk_index import (
    INDEXES,
    a_chunk,
    a_collection,
    an_index,
    pytestmark,
    vectors,
)

__all__ = ["pytestmark"]

CASES = int(os.environ.get("RAGSTONE_PERMISSION_CASES", "500"))
PER_CORPUS = 125
WORDS = ("whale", "harbour", "安全", "подшипник", "ship")
GROUPS = ("red", "green", "blue")
FOLDERS = ("/", "/a", "/a/b", "/a/bc", "/ä", "/%_")
MANY = 100


@dataclass(frozen=True)
class Case:
    """Who asks what, within which filter."""

    principal: Principal
    condition: Filter
    query: str
    vector_seed: int

    @property
    def where(self) -> Filter:
        return And((reader_filter(self.principal), self.condition))


def a_document(r: random.Random, collection: Collection, number: int) -> Chunk:
    allowed = r.choice([(EVERYONE,), (), tuple(r.sample(GROUPS, 2)), (r.choice("uvw"),)])
    return a_chunk(
        collection,
        " ".join(r.choices(WORDS, k=r.randint(1, 4))),
        document_id=f"d{number % 20}",
        path=r.choice(FOLDERS).rstrip("/") + f"/{number}.txt",
        version=r.randint(1, 3),
        page=r.choice([None, 1, 2, 300]),
        kind=r.choice(["normal", "glossary", "table_of_contents"]),
        language=r.choice(["en", "zh", ""]),
        media_type=r.choice(["text/plain", "application/pdf"]),
        modified=r.choice([0.0, 1.5e9, 1.7e9]),
        allowed=allowed,
        metadata=r.choice([{}, {"k": 1}, {"k": "1"}, {"k": [True, "x"]}, {"a": {"b": "c d"}}]),
    )


def a_condition(r: random.Random, depth: int = 2) -> Filter:
    if depth and r.random() < 0.6:
        parts = tuple(a_condition(r, depth - 1) for _ in range(r.randint(0, 3)))
        return r.choice([And(parts), Or(parts), Not(a_condition(r, depth - 1))])
    leaves: list[Filter] = [
        AnyOf("document_id", tuple(f"d{r.randint(0, 22)}" for _ in range(r.randint(0, 6)))),
        AnyOf("kind", (r.choice(["normal", "glossary", "none"]),)),
        AnyOf("language", (r.choice(["en", "zh", ""]),)),
        AnyOf("media_type", ("text/plain",)),
        AnyOf("page", (r.choice([1, 2, 7]),)),
        AnyOf("metadata.k", (r.choice([1, "1", True, "x"]),)),
        AnyOf("metadata.a.b", ("c d",)),
        Range("modified", r.choice([None, 0.0, 1.6e9]), r.choice([None, 1.5e9, 1.8e9])),
        Range("version", r.choice([None, 2]), r.choice([None, 2])),
        path_filter(r.choice(FOLDERS)),
    ]
    return r.choice(leaves)


def a_case(r: random.Random) -> Case:
    groups = tuple(r.sample(GROUPS, r.randint(0, 2)))
    tenant = "default" if r.random() < 0.95 else "other"
    principal = Principal(tenant, r.choice("uvw"), groups)
    query = " ".join(r.choices(WORDS, k=r.randint(1, 2)))
    return Case(principal, a_condition(r), query, r.randint(0, 1_000))


Corpus = list[tuple[Chunk, dict[str, Any]]]
"""Each chunk with its payload."""


async def check(index: ChunkIndex, collection: Collection, corpus: Corpus, case: Case) -> None:
    inside = [chunk for chunk, payload in corpus if matches(case.where, payload)]
    meant = {chunk.chunk_id for chunk in inside}
    asked = set(case.query.split())
    said = {chunk.chunk_id for chunk in inside if asked & set(chunk.text.split())}
    searches = [Search("", vectors(case.vector_seed)[0]), Search(case.query)]
    exact, near = await asyncio.gather(
        index.search(collection, searches, case.where, MANY, exact=True),
        index.search(collection, searches, case.where, 5),
    )
    found = [{scored.chunk_id for scored in item.found} for item in (*exact, *near)]
    assert found[0] == meant, case
    assert found[1] == said, case
    assert found[2] <= meant, case
    assert found[3] <= said, case
    assert len(found[3]) == min(5, len(said)), case
    assert await index.count(collection, case.where) == len(meant), case


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("seed", range(CASES // PER_CORPUS))
async def test_given_any_principal_filter_and_query_then_exactly_what_may_be_read_is_found(
    kind: str, seed: int, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    r = random.Random(seed)
    index, collection = an_index(kind, request, tmp_path / "index"), a_collection(language="")
    chunks = [a_document(r, collection, number) for number in range(60)]
    corpus = [(chunk, chunk.payload()) for chunk in chunks]
    await index.upsert(collection, chunks, vectors(*range(60)))
    for number in range(PER_CORPUS):
        if number == PER_CORPUS // 2:
            gone = a_condition(r)
            await index.delete(collection, gone)
            corpus = [item for item in corpus if not matches(gone, item[1])]
        await check(index, collection, corpus, a_case(r))
    await index.drop(collection)
    await index.aclose()


@pytest.mark.parametrize("kind", INDEXES)
async def test_given_chunks_with_other_readers_then_these_find_them_with_their_vectors(
    kind: str, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    index, collection = an_index(kind, request, tmp_path / "index"), a_collection(language="")
    chunks = [a_document(random.Random(1), collection, number) for number in range(20)]
    chunks = [
        replace(item, chunk_id=str(UUID(int=n)), allowed=("u",)) for n, item in enumerate(chunks)
    ]
    await index.upsert(collection, chunks[:15], vectors(*range(15)))
    await index.upsert(collection, chunks[15:])

    async def with_others() -> AsyncIterator[Sequence[Chunk]]:
        async for some in index.scan(collection):
            yield [replace(chunk, allowed=("v",)) for chunk in some]

    place = End(index, collection)
    async with aclosing(copy_all(place, place, with_others())) as batches:
        assert [step async for step in batches] == [(20, 20)]

    for user, expected in (("u", 0), ("v", 15)):
        where = AnyOf("allowed", (user,))
        search = [Search("", vectors(3)[0])]
        [found] = await index.search(collection, search, where, MANY, exact=True)
        assert len(found.found) == expected
        assert await index.count_without_vectors(collection, where) == expected // 3
    await index.drop(collection)
    await index.aclose()
