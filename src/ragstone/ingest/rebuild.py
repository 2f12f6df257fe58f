"""Builds a collection's index anew with another embedding model, beside the one that answers."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from ragstone.core.errors import IndexUnavailable, UnknownCollection
from ragstone.core.records import Collection
from ragstone.ingest import readers
from ragstone.ingest.embedding import (
    Pending,
    embed_pending,
    explain_missing_late,
    late_dimensions,
    main_language,
)
from ragstone.ingest.move import drop_unused, list_retired, remove_others
from ragstone.ingest.progress import Tracker
from ragstone.ingest.sharing import Sharing
from ragstone.ports import (
    Catalog,
    ChunkIndex,
    Embedders,
    Parts,
    bulk_load,
    check_late,
    home,
    may_share,
)
from ragstone.service import Progress
from ragstone.settings import IngestSettings

log = logging.getLogger(__name__)

SAME_MODEL = 0.9
"""Cosine of a text's vector and the one in the index, which may have been rounded to bytes (.99),
from which both are of one model: those of two models have nothing in common."""


async def rebuild(
    job: str,
    collection: Collection,
    index: ChunkIndex,
    catalog: Catalog,
    embedders: Embedders,
    report: Callable[[Progress], None],
    settings: IngestSettings,
    parts: Parts | None = None,
) -> Progress:
    """Copy every chunk, embed it with the configured model, switch, drop the old index. Other
    processes embed some of the chunks where there are `parts`.

    Until the switch the old index answers. A rebuild that was killed continues where it was.
    """
    old = await catalog.find_by_id(collection.tenant, collection.id)
    if old is None:
        raise UnknownCollection(collection.name)
    tracker = Tracker(job, report)
    new = await _successor(old, index, embedders, settings)
    check_late(index, new)
    await _begin(index, embedders, new)
    tracker.expect(1, 1)
    async with bulk_load(index, new):
        copied = await _copy(old, new, index)
    tracker.count_indexed(1, copied, 0)
    # A rebuild that was cut off has some vectors already.
    tracker.count_reused(copied - await index.count_without_vectors(new))
    while True:
        tracker.phase("embedding")
        pending = Pending(index, new)
        sharing = Sharing(parts, job, new, pending, tracker, _ignore_files, _ignore_files)
        await _embed(index, catalog, embedders, new, tracker, settings, pending, sharing)
        tracker.phase("building")
        await index.optimize(new)
        async with readers.lock_readers(catalog, old), catalog.keep_all():
            # Nobody gives readers now: those of a copied chunk would be the old ones.
            # What was deleted meanwhile, and forgotten since, is hidden no more.
            gone = await list_retired(catalog)
            if not await remove_others(index, catalog, old, new, gone):
                await catalog.put_collection(new, known=True)
                break
        await _copy(old, new, index)
    await drop_unused(index, catalog)
    tracker.note(f"Collection {old.name!r} is now embedded with {new.model}.")
    if said := explain_missing_late(new, embedders.find_indexing(new), settings):
        tracker.note(said)
    return tracker.finish()


async def _begin(index: ChunkIndex, embedders: Embedders, new: Collection) -> None:
    """Make room for the new index. What a rebuild that was cut off left there stays if it has
    vectors of this model already; of another one it may be too narrow, or would be mixed."""
    try:
        await index.create(new)
        if await _has_model_vectors(index, embedders, new):
            return
    except IndexUnavailable as error:
        log.info("What is left of a rebuild of %r is of no use: %s", new.name, error)
    await index.drop(new)
    await index.create(new)


async def _has_model_vectors(index: ChunkIndex, embedders: Embedders, new: Collection) -> bool:
    if await index.count(new) == await index.count_without_vectors(new):
        return False
    async for chunks in index.scan(new):
        held = await index.vectors(new, [chunk.chunk_id for chunk in chunks])
        for chunk in chunks:
            if (vector := held.get(chunk.chunk_id)) is not None:
                [made] = await embedders.find_indexing(new).embed_passages([chunk.searchable])
                return vector.shape == made.shape and float(vector @ made) > SAME_MODEL
    return False


async def _successor(
    old: Collection, index: ChunkIndex, embedders: Embedders, settings: IngestSettings
) -> Collection:
    """Return the same collection under the model that its text asks for now."""
    language = main_language(await index.facet(old, "language")) or old.language
    embedder = embedders.choose(language)
    return replace(
        old,
        model=embedder.name,
        fingerprint=embedder.fingerprint,
        dimensions=embedder.dimensions,
        language=language,
        build=old.build + 1,
        late=late_dimensions(embedder, settings),
        place=home(index),
        shared=may_share(index, await index.count(old)),
    )


async def _embed(
    index: ChunkIndex,
    catalog: Catalog,
    embedders: Embedders,
    new: Collection,
    tracker: Tracker,
    settings: IngestSettings,
    pending: Pending,
    sharing: Sharing,
) -> None:
    """Embed all that waits, some of it in other processes."""
    async with asyncio.TaskGroup() as group:
        group.create_task(sharing.run())
        embedding = group.create_task(
            embed_pending(
                index,
                catalog,
                embedders,
                new,
                lambda: sharing.embedding,
                tracker.count_embedded,
                settings.keeps_token_vectors,
                pending,
            )
        )
        embedding.add_done_callback(lambda _: sharing.end())


async def _ignore_files(*_: object) -> None:
    """A rebuild reads no files."""


async def _copy(old: Collection, new: Collection, index: ChunkIndex) -> int:
    copied = 0
    async for chunks in index.scan(old):
        there = await index.fetch(new, [chunk.chunk_id for chunk in chunks])
        await index.upsert(new, [chunk for chunk in chunks if chunk.chunk_id not in there])
        copied += len(chunks)
        await asyncio.sleep(0)
    return copied
