"""Vectors that a collection has already for what is written: of the same text in the version
before, or in another document with the same content, as after a file was renamed or copied."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragstone.core.chunk import Chunk, chunk_id
from ragstone.core.records import Collection, Document
from ragstone.ports import Catalog, ChunkIndex, Vectors

MOST = 8_192
"""Chunks of other versions that are looked at for one write."""

NEAR = 256
"""By how many places a text may have moved in its document."""


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """A chunk's vector, and its packed token vectors if there are some."""

    vector: Vectors
    tokens: bytes | None


async def known_vectors(
    index: ChunkIndex,
    catalog: Catalog,
    collection: Collection,
    documents: Sequence[Document],
    rows: Sequence[Chunk],
) -> Mapping[str, KnownVectors]:
    """What is known of `rows`, chunks of new versions of `documents`, by their ids."""
    before = await catalog.known([document.id for document in documents])
    hashes = {document.content_hash for document in documents if document.content_hash}
    same = await catalog.of_content(collection.tenant, collection.id, hashes)
    own = await _chunks(index, collection, before.values(), rows)
    others = await _chunks(index, collection, same.values(), rows)
    by_text = {_embedding_key(chunk): id for id, chunk in own.items()}
    by_content = {
        (hash_of, *_content_key(others[id])): id
        for hash_of, item in same.items()
        for id in (chunk_id(item.id, item.version, n) for n in range(item.chunks))
        if id in others
    }
    content = {document.id: document.content_hash for document in documents}
    there: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        known = by_text.get(_embedding_key(row)) or by_content.get(
            (content[row.document_id], *_content_key(row))
        )
        if known:
            there[known].append(row.chunk_id)
    if not there:
        return {}
    vectors = await index.vectors(collection, list(there))
    tokens = await index.tokens(collection, list(vectors))
    return {
        row: KnownVectors(vector, tokens.get(id))
        for id, vector in vectors.items()
        for row in there[id]
    }


async def _chunks(
    index: ChunkIndex, collection: Collection, sources: Iterable[Document], rows: Sequence[Chunk]
) -> Mapping[str, Chunk]:
    """The chunks of documents that answer which may have the texts of `rows`."""
    first = max(0, min(row.chunk_index for row in rows) - NEAR)
    last = max(row.chunk_index for row in rows) + NEAR
    ids = [
        chunk_id(source.id, source.version, number)
        for source in sources
        if source.version
        for number in range(first, min(source.chunks, last))
    ][:MOST]
    return await index.fetch(collection, ids) if ids else {}


def _embedding_key(chunk: Chunk) -> tuple[str, str]:
    """What a chunk's vectors are made of: its language decides which model reads it."""
    return chunk.searchable, chunk.language


def _content_key(chunk: Chunk) -> tuple[int, str, tuple[str, ...], str]:
    """What a chunk of the same content says, whatever the document is called: a renamed file is
    not embedded anew for its name, which its words have at once."""
    return chunk.chunk_index, chunk.text, chunk.section, chunk.language
