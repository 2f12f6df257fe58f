"""Reads what the chunks of new documents name, in the background: no ingest waits for it.

What is to be read is what answers and was not read, so nothing is lost by a crash, and what was
indexed before the graph was switched on is read too. What a chat model said of chunks, if one reads
them too (`model_reader.py`), is taken over here; so a graph that was kept up to date is the one
that would be built anew of the same readings.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.core.errors import RagstoneError
from ragstone.core.filters import AnyOf
from ragstone.core.records import Collection
from ragstone.ingest.turns import Waking
from ragstone.plugins.graph.communities import (
    FORMAT,
    SUMMED_UP,
    can_be_made,
    communities,
    own_sentences,
)
from ragstone.plugins.graph.entities import (
    ChunkReading,
    EntityMention,
    EntityRelation,
    EntityTheme,
    format_chunk_id,
)
from ragstone.plugins.graph.extract import READING, EntityRecognizer, extract_mentions
from ragstone.plugins.graph.mentions import SqlMentions
from ragstone.plugins.graph.model_extract import RECIPE, merge_readings
from ragstone.plugins.graph.model_readings import SqlModelReadings
from ragstone.plugins.graph.themes import SqlThemes
from ragstone.ports import Catalog, ChunkIndex

log = logging.getLogger(__name__)

REVISIONS = 50
"""Documents read in one batch; finished batches survive the end of the process."""

PAUSE = 0.001
"""Seconds between such rows, so that questions go first."""

IN_A_ROW = 32
"""Chunks that are read before a thread lets others go on."""

MAX_MENTIONS = 500_000
"""Mentions of an audience's documents up to which themes are made of them: communities of so many
take minutes, and 500 MB."""


def reading_name(by_model: bool, recognizer: EntityRecognizer | None = None) -> str:
    """Return the name of how chunks are read: by the rules, names by the `recognizer`, with what a
    chat model said."""
    read = f"{READING} {recognizer.name}" if recognizer else READING
    return f"{read} model {RECIPE}" if by_model else read


class GraphReader:
    """Keeps the entity graph of the collections that `wanted` says to have one up to date; `wake`
    it whenever there may be new documents, or when that has changed. `by_model` says that what a
    chat model said of chunks belongs to it, `groups` that themes are made where the library for
    that is installed. `recognizer` finds names in its languages."""

    def __init__(
        self,
        index: ChunkIndex,
        catalog: Catalog,
        mentions: SqlMentions,
        readings: SqlModelReadings,
        themes: SqlThemes,
        wanted: Callable[[Collection], bool],
        by_model: bool = False,
        groups: bool = True,
        recognizer: EntityRecognizer | None = None,
    ) -> None:
        self._index = index
        self._catalog = catalog
        self._mentions = mentions
        self._readings = readings
        self._themes = themes
        self._by_model = by_model
        self._recognizer = recognizer
        self._groups = groups and can_be_made()
        self.wanted = wanted
        self._waking = Waking(self._read)
        self._putting = asyncio.Lock()

    @property
    def _name(self) -> str:
        return reading_name(self._by_model, self._recognizer)

    def wake(self, collection: Collection) -> None:
        """Read what is new in `collection`, now or after what is being read; forget what was read
        if it is to have no graph."""
        self._waking.wake(collection)

    async def reread(self, collection: Collection, revision: str) -> None:
        """Read a document again at once, themes later: what a chat model said of it has come."""
        await self._put(collection, [revision])

    async def drain(self) -> None:
        """Return when everything has been read that was to be read."""
        await self._waking.drain()

    async def aclose(self, seconds: float = 3.0) -> None:
        """Wait some seconds for the running batch, then stop; the next start continues."""
        await self._waking.aclose(seconds)

    async def _read(self, collection: Collection) -> None:
        try:
            if not self.wanted(collection):
                await self._mentions.forget(collection)
                await self._themes.forget(collection)
                return
            unread = await self._mentions.unread(collection, self._name)
            for start in range(0, len(unread), REVISIONS):
                await self._put(collection, unread[start : start + REVISIONS])
            if self._groups:
                await self._group(collection)
        except RagstoneError as error:
            log.warning("The names in collection %r could not be read: %s", collection.name, error)

    async def _put(self, collection: Collection, revisions: Sequence[str]) -> None:
        # Two readings of one document at once would be mixed.
        async with self._putting:
            await self._put_alone(collection, revisions)

    async def _put_alone(self, collection: Collection, revisions: Sequence[str]) -> None:
        await self._mentions.begin(collection, revisions)
        # After that: what is kept from now on has these revisions read once more.
        known: Mapping[tuple[str, int], ChunkReading] = {}
        if self._by_model:
            known = await self._readings.of_revisions(collection, revisions, RECIPE)
        seen: set[str] = set()
        async for chunks in self._index.scan(collection, AnyOf("revision", tuple(revisions))):
            found: list[EntityMention] = []
            related: list[EntityRelation] = []
            for start in range(0, len(chunks), IN_A_ROW):
                some = chunks[start : start + IN_A_ROW]
                named, said = await asyncio.to_thread(
                    _collect_entities, some, known, self._recognizer
                )
                found, related = found + named, related + said
                await asyncio.sleep(PAUSE)
            await self._mentions.add(collection, found, related)
            seen |= {chunk.revision for chunk in chunks}
        # The others are not here any more: the collection moves, or was dropped.
        read = [revision for revision in revisions if revision in seen]
        await self._mentions.finish(collection, self._name, read)

    async def _group(self, collection: Collection) -> None:
        """Make the themes of audiences whose documents have changed."""
        for audience, (made_of, revisions) in (await self._themes.audiences(collection)).items():
            parts = (f"{name} {recipe}" for name, recipe in revisions.items())
            said = "\0".join((f"{FORMAT} {self._name}", *parts))
            now = hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()
            if not revisions:
                await self._themes.replace(collection, audience, "", ())
            elif now != made_of:
                themes = await self._make_themes(collection, audience, tuple(revisions))
                await self._themes.replace(collection, audience, now, themes)

    async def _make_themes(
        self, collection: Collection, audience: str, revisions: Sequence[str]
    ) -> list[EntityTheme]:
        mentions, relations = await self._mentions.of_revisions(collection, revisions)
        if len(mentions) > MAX_MENTIONS:
            log.warning(
                "Collection %r has no themes of documents for %s: they name too much.",
                *(collection.name, audience),
            )
            return []
        found = await asyncio.to_thread(communities, mentions, relations, audience)
        known: Mapping[str, EntityTheme] = {}
        if self._by_model:
            known = await self._themes.find_summarized(collection, audience)
        return [await self._sum_up_theme(collection, theme, known) for theme in found]

    async def _sum_up_theme(
        self, collection: Collection, theme: EntityTheme, known: Mapping[str, EntityTheme]
    ) -> EntityTheme:
        """Return a theme with the summary that a chat model made of the same passages before, or
        with sentences of them."""
        chunks = await theme_chunks(self._index, collection, theme)
        text = "\0".join(chunk.text for chunk in chunks).encode("utf-8", "replace")
        key = hashlib.blake2b(text, digest_size=16).hexdigest()
        if before := known.get(key):
            return replace(theme, summary=before.summary, by=before.by, key=key)
        own = await asyncio.to_thread(own_sentences, chunks)
        return replace(theme, summary=own, key=key)


async def theme_chunks(
    index: ChunkIndex, collection: Collection, theme: EntityTheme
) -> list[Chunk]:
    """Return the chunks that a theme is summed up from, the best first."""
    ids = [format_chunk_id(*place) for place in theme.passages[:SUMMED_UP]]
    found = await index.fetch(collection, ids)
    return [found[id] for id in ids if id in found]


def _collect_entities(
    chunks: Sequence[Chunk],
    known: Mapping[tuple[str, int], ChunkReading],
    recognizer: EntityRecognizer | None,
) -> tuple[list[EntityMention], list[EntityRelation]]:
    mentions: list[EntityMention] = []
    relations: list[EntityRelation] = []
    for chunk in chunks:
        reading = known.get((chunk.revision, chunk.chunk_index))
        named, said = merge_readings(chunk, extract_mentions(chunk, recognizer), reading)
        mentions, relations = mentions + named, relations + said
    return mentions, relations
