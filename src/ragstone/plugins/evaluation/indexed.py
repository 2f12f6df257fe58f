"""A throw-away index of an evaluation set, made by the same parts as a user's own.

Settings for an evaluation, which touches nothing that a server uses.
"""

import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from ragstone.build import open_adapters
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block
from ragstone.ingest.embedding import embed, late_dimensions
from ragstone.language.language import detect
from ragstone.plugins.evaluation.dataset import CorpusPassage
from ragstone.ports import Adapters
from ragstone.settings import ConversationSettings, IngestSettings, Settings, StateSettings


def apart(settings: Settings, directory: Path) -> Settings:
    """Return the settings on a directory of its own, which shares its state with no server."""
    alone = {"ragstone_data": directory, "state": StateSettings()}
    index = settings.index.model_copy(update={"from_url": ""})
    others = {"conversation": ConversationSettings(), "index": index}
    return settings.model_copy(update={**alone, **others})


NAME = "evaluation"
BATCH = 512


@dataclass(frozen=True, slots=True)
class Indexed:
    """The kit of the throw-away directory, and how fast the set went in."""

    adapters: Adapters
    collection: Collection
    chunks: int
    seconds: float


@asynccontextmanager
async def index_passages(
    entries: Sequence[CorpusPassage], settings: Settings
) -> AsyncIterator[Indexed]:
    """Index `entries` in a temporary directory, with `settings` otherwise."""
    with tempfile.TemporaryDirectory(prefix="ragstone-eval-") as directory:
        uncached = settings.cache.model_copy(update={"enabled": False})
        chosen = apart(settings, Path(directory)).model_copy(update={"cache": uncached})
        async with open_adapters(chosen) as (adapters, _, _):
            collection = build_collection(entries, adapters, settings.ingest)
            await adapters.index.create(collection)
            await adapters.catalog.put_collection(collection)
            chunks = [
                c for entry in entries for c in chunk_entry(entry, collection, settings.ingest)
            ]
            embedder = adapters.embedders.find_indexing(collection)
            await embedder.embed_queries(["warm"])
            started = time.perf_counter()
            for start in range(0, len(chunks), BATCH):
                batch = chunks[start : start + BATCH]
                with_tokens = settings.ingest.keeps_token_vectors or collection.late > 0
                vectors = await embed(embedder, batch, with_tokens)
                await adapters.index.upsert(collection, batch, *vectors)
            seconds = time.perf_counter() - started
            await adapters.index.optimize(collection)
            yield Indexed(adapters, collection, len(chunks), seconds)


def build_collection(
    entries: Sequence[CorpusPassage], adapters: Adapters, settings: IngestSettings
) -> Collection:
    """Return a collection for the language of most of `entries`."""
    step = max(1, len(entries) // 50)
    found = [detect(entry.text[:4000]) for entry in entries[::step]]
    known = [language for language in found if language] or ["en"]
    language = max(set(known), key=known.count)
    embedder = adapters.embedders.choose(language)
    return Collection(
        "default",
        NAME,
        embedder.name,
        embedder.fingerprint,
        embedder.dimensions,
        language,
        late=late_dimensions(embedder, settings),
    )


def chunk_entry(
    entry: CorpusPassage, collection: Collection, settings: IngestSettings
) -> list[Chunk]:
    """Return the chunks of one entry, its id as their document's."""
    block = Block(entry.text, "paragraph")
    pieces = chunk([block], settings.chunk_size, settings.chunk_overlap)
    return [
        Chunk(
            chunk_id=str(uuid5(NAMESPACE_OID, f"{entry.id}#{number}")),
            document_id=entry.id,
            version=1,
            chunk_index=number,
            text=piece.text,
            title=entry.title,
            path=f"/{entry.id}",
            tenant=collection.tenant,
            collection=collection.id,
            start=piece.start,
            end=piece.end,
            language=detect(piece.text) or collection.language,
        )
        for number, piece in enumerate(pieces)
    ]
