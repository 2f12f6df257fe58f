"""The entity graph over what chunks name: two hops from a question, within what it may read.

It is made for each question, of the mentions of chunks inside the question's filter alone. So what
the asker may not read has no part in it, and there is nothing that a deletion would leave behind.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Collection as Several
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ragstone.core.chunk import Chunk
from ragstone.core.filters import Filter, matches
from ragstone.core.records import Collection
from ragstone.language.mentions import function_words, names
from ragstone.language.similar_names import find_similar
from ragstone.language.words import STOPWORDS, content_word_set
from ragstone.local.added import AdapterParts
from ragstone.plugins.graph.entities import (
    EntityMention,
    EntityRelation,
    EntityTheme,
    entity_key,
    format_chunk_id,
)
from ragstone.plugins.graph.extract import EntityRecognizer
from ragstone.plugins.graph.mentions import SqlMentions
from ragstone.plugins.graph.model_readings import SqlModelReadings
from ragstone.plugins.graph.spacy_names import SpacyNames
from ragstone.plugins.graph.themes import SqlThemes
from ragstone.plugins.graph.walk import Place, walk_graph
from ragstone.ports import Adapters, ChunkIndex
from ragstone.ports.graph import RelatedChunk
from ragstone.store.sql.database import Database

LONGEST_NAME = 6
"""Words of a name in a question, and, of scripts without spaces, half its characters."""

MAX_NAMES = 400
"""Runs of words of a question that are looked up."""

MAX_ASKED = 16
"""Entities that a question begins at."""

OF_ASKED = 100
"""Chunks of an entity that the question names."""

OF_OTHERS = 40
"""Chunks of an entity up to which it leads on: what most chunks name leads everywhere."""

MAX_CHUNKS = 200
"""Chunks of the first hop, and again as many of the second."""

MAX_ENTITIES = 150
"""Entities that the first hop leads on to."""

FOUND = 10
"""Chunks that a search has found from which walks begin too."""

ALIKE = 0.86
"""Share of characters in common from which a name that nothing has is taken for one that is."""

MAX_SIMILAR_NAMES = 500
"""Names with the same first letters that are compared with it."""

MAX_THEMES = 2_000
"""Themes that a question is compared with, those of the most passages."""

BEST_THEMES = 5
"""Themes that a question is answered from."""

_WORD = re.compile(r"[^\W_](?:[\w'’.&+#-]*[\w+#])?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
_HANGUL = re.compile(r"[가-힣]")


class LocalEntityGraph:
    """`ports.EntityGraph` on what is kept of chunks, and on the index for what they are. What finds
    names in chunks besides rules is the `recognizer`."""

    def __init__(
        self, database: Database, index: ChunkIndex, recognizer: EntityRecognizer | None = None
    ) -> None:
        self.mentions = SqlMentions(database)
        self.readings = SqlModelReadings(database)
        self.themes = SqlThemes(database)
        self.recognizer = recognizer
        self._index = index

    async def find_related(
        self,
        collection: Collection,
        readers: Several[str],
        where: Filter,
        queries: Sequence[str],
        found: Mapping[str, float],
        limit: int,
    ) -> list[RelatedChunk]:
        asked: list[str] = []
        for query in queries:
            asked += await self.find_linked(collection, readers, query)
        asked = list(dict.fromkeys(asked))[:MAX_ASKED]
        begins = dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:FOUND])
        named = await self._find_mentions(collection, readers, asked, OF_ASKED)
        first = [item for some in named.values() for item in some]
        chunks = await self._chunks(collection, where, first, begins)
        inside = await self._inside(collection, readers, chunks)
        if not inside:
            return []
        onward = await asyncio.to_thread(_onward, inside, named)
        others = await self.mentions.of_rare(collection, readers, onward, OF_OTHERS)
        second = [mention for some in others.values() for mention in some]
        further = await self._chunks(collection, where, second, {}, chunks)
        chunks |= further
        inside += await self._inside(collection, readers, further)
        said = await self.mentions.find_relations(collection, readers, sorted(chunks))
        inside = await asyncio.to_thread(_count_relations, inside, said)
        return (await asyncio.to_thread(_walk, inside, chunks, named, begins))[:limit]

    async def find_themed(
        self,
        collection: Collection,
        readers: Several[str],
        where: Filter,
        queries: Sequence[str],
        found: Mapping[str, float],
        limit: int,
    ) -> list[RelatedChunk]:
        themes = await self.themes.readable(collection, readers, MAX_THEMES)
        best = await asyncio.to_thread(_best_themes, themes, queries, found)
        ranked = _of_themes(best)[:MAX_CHUNKS]
        fetched = await self._index.fetch(collection, [item.chunk_id for item in ranked])
        inside = await asyncio.to_thread(_keep_matching, where, fetched.values())
        ids = {chunk.chunk_id for chunk in inside.values()}
        return [item for item in ranked if item.chunk_id in ids][:limit]

    async def find_linked(
        self, collection: Collection, readers: Several[str], text: str
    ) -> Sequence[str]:
        """Return the entities that a text names, by key."""
        runs = await asyncio.to_thread(_runs, text)
        keys = {run.key for run in runs}
        known = await self.mentions.filter_known(collection, readers, keys)
        held = [run for run in runs if run.key in known]
        whole = [item for item in held if not any(item.inside(other) for other in held)]
        asked = list(dict.fromkeys(item.key for item in whole))
        for name in await asyncio.to_thread(_proper, text):
            if not any(name in key or key in name for key in asked):
                asked += await self._alike(collection, readers, name)
        return list(dict.fromkeys(asked))[:MAX_ASKED]

    async def _alike(self, collection: Collection, readers: Several[str], name: str) -> list[str]:
        """Return the entity whose key is most like one that nothing has."""
        near = await self.mentions.like(collection, readers, name[:2], MAX_SIMILAR_NAMES)
        return await asyncio.to_thread(find_similar, name, near, 1, ALIKE)

    async def _find_mentions(
        self, collection: Collection, readers: Several[str], entities: Sequence[str], limit: int
    ) -> dict[str, list[EntityMention]]:
        """Return the mentions of these entities, and of those that chunks say are the same."""
        found = await self.mentions.of_entities(collection, readers, entities, limit)
        same = {item.same for some in found.values() for item in some if item.same}
        if more := sorted(same - found.keys())[:MAX_ASKED]:
            found |= await self.mentions.of_entities(collection, readers, more, limit)
        return found

    async def _chunks(
        self,
        collection: Collection,
        where: Filter,
        mentions: Iterable[EntityMention],
        begins: Mapping[str, float],
        known: Mapping[Place, Chunk] = {},
    ) -> dict[Place, Chunk]:
        """Return the chunks of mentions, and those that were found, as far as they are inside
        `where`: those first in which most is named."""
        weights: dict[str, int] = dict.fromkeys(begins, len(begins) + MAX_ASKED)
        for mention in mentions:
            if (mention.revision, mention.chunk_index) not in known:
                weights[mention.chunk_id] = weights.get(mention.chunk_id, 0) + 1
        ids = sorted(weights, key=lambda id: (-weights[id], id))[:MAX_CHUNKS]
        fetched = await self._index.fetch(collection, ids)
        return await asyncio.to_thread(_keep_matching, where, fetched.values())

    async def _inside(
        self, collection: Collection, readers: Several[str], chunks: Several[Place]
    ) -> list[EntityMention]:
        return await self.mentions.of_chunks(collection, readers, sorted(chunks))


def open_graph(parts: AdapterParts) -> LocalEntityGraph:
    """Make the graph of this process; raises ConfigError."""
    pipelines = parts.settings.ingest.graph_pipelines
    recognizer = SpacyNames(pipelines) if pipelines else None
    return LocalEntityGraph(parts.database, parts.index, recognizer)


def own_graph(adapters: Adapters) -> LocalEntityGraph:
    """Return the graph that `open_graph` has made; raises TypeError for another one."""
    if not isinstance(adapters.graph, LocalEntityGraph):
        raise TypeError(f"Not an entity graph of this plugin: {adapters.graph!r}.")
    return adapters.graph


def _keep_matching(where: Filter, chunks: Iterable[Chunk]) -> dict[Place, Chunk]:
    return {
        (chunk.revision, chunk.chunk_index): chunk
        for chunk in chunks
        if matches(where, chunk.payload())
    }


def _onward(inside: Sequence[EntityMention], named: Several[str]) -> list[str]:
    """Return what the first hop's chunks name besides what was asked: what most of them name, and
    what tells most, first."""
    chunks: dict[str, int] = {}
    for mention in inside:
        if mention.entity not in named:
            chunks[mention.entity] = chunks.get(mention.entity, 0) + 1
    return sorted(chunks, key=lambda key: (-chunks[key], -len(key), key))[:MAX_ENTITIES]


def _count_relations(
    inside: Sequence[EntityMention], said: Sequence[EntityRelation]
) -> list[EntityMention]:
    """Return the mentions, each counted once more for every relation that its chunk tells of it."""
    told: Counter[tuple[str, int, str]] = Counter()
    for relation in said:
        told.update(
            (relation.revision, relation.chunk_index, end)
            for end in (relation.entity, relation.other)
        )
    counted = (
        (mention, told[mention.revision, mention.chunk_index, mention.entity]) for mention in inside
    )
    return [replace(item, count=item.count + more) if more else item for item, more in counted]


def _best_themes(
    themes: Sequence[EntityTheme], queries: Sequence[str], found: Mapping[str, float]
) -> list[tuple[EntityTheme, float]]:
    """Return the themes nearest to a question with how near they are: by the words that they share
    with it, rare ones before frequent ones, and by the passages that a search found of them."""
    asked = frozenset(word for query in queries for word in content_word_set(query))
    said = [content_word_set(_theme_text(item)) for item in themes]
    held = Counter(word for words in said for word in words & asked)
    rarity = {word: math.log(1 + len(themes) / held[word]) for word in held}
    most = sum(rarity.values()) or 1.0
    whole = sum(found.values()) or 1.0
    scored = []
    for theme, words in zip(themes, said, strict=True):
        ids = {format_chunk_id(*place) for place in theme.passages}
        named = sum(rarity[word] for word in words & asked) / most
        there = sum(score for id, score in found.items() if id in ids) / whole
        if named + there > 0:
            scored.append((theme, named + there))
    return sorted(scored, key=lambda item: (-item[1], item[0].id))[:BEST_THEMES]


def _theme_text(theme: EntityTheme) -> str:
    return " ".join((theme.title, theme.summary, *(entity.name for entity in theme.entities)))


def _of_themes(themes: Sequence[tuple[EntityTheme, float]]) -> list[RelatedChunk]:
    """The passages of themes, the best of each first; one of several themes counts for all."""
    scores: dict[str, float] = {}
    titles: dict[str, str] = {}
    for theme, near in themes:
        for rank, place in enumerate(theme.passages):
            id = format_chunk_id(*place)
            scores[id] = scores.get(id, 0.0) + near / (1 + rank)
            titles.setdefault(id, theme.title)
    whole = sum(scores.values()) or 1.0
    order = sorted(scores, key=lambda id: (-scores[id], id))
    return [RelatedChunk(id, scores[id] / whole, (titles[id],)) for id in order]


def _walk(
    inside: Sequence[EntityMention],
    chunks: Mapping[Place, Chunk],
    named: Mapping[str, Sequence[EntityMention]],
    begins: Mapping[str, float],
) -> list[RelatedChunk]:
    ids = {place: chunk.chunk_id for place, chunk in chunks.items()}
    there: dict[str, int] = {}
    for mention in inside:
        there[mention.entity] = there.get(mention.entity, 0) + 1
    weights = {key: 1 / math.sqrt(there[key]) for key in named if key in there}
    found = {place: begins[id] for place, id in ids.items() if id in begins}
    return walk_graph(inside, weights, found, ids)


class _Run:
    """Words of a question in a row that may be a name, and where they stand."""

    def __init__(self, key: str, start: int, end: int) -> None:
        self.key = key
        self.start = start
        self.end = end

    def inside(self, other: "_Run") -> bool:
        """Tell whether this is a part of another, longer one."""
        longer = other.end - other.start > self.end - self.start
        return longer and other.start <= self.start and self.end <= other.end


def _runs(text: str) -> list[_Run]:
    """Return all that may be a name in a question, longer ones first."""
    runs = sorted(_all_runs(text), key=lambda run: (run.start - run.end, run.start))
    return runs[:MAX_NAMES]


def _all_runs(text: str) -> Iterator[_Run]:
    words = list(_WORD.finditer(text))
    for first, start in enumerate(words):
        for last in words[first : first + LONGEST_NAME]:
            said = text[start.start() : last.end()]
            if "\n" in said:
                break
            for key in _keys(said):
                yield _Run(key, start.start(), last.end())
        if _HANGUL.search(start.group()):
            yield from _parts(start.group(), start.start(), first_only=True)
    for match in _UNSPACED.finditer(text):
        yield from _parts(match.group(), match.start())


def _parts(run: str, place: int, first_only: bool = False) -> Iterator[_Run]:
    """Parts of a run without spaces; of a Korean word, which carries its particles, the first."""
    for begin in range(1 if first_only else len(run)):
        for end in range(begin + 2, min(len(run), begin + 2 * LONGEST_NAME) + 1):
            yield _Run(entity_key(run[begin:end]), place + begin, place + end)


def _keys(said: str) -> Iterator[str]:
    """The keys of a run of words: also that of the abbreviation that a word may be, and that of
    the singular."""
    key = entity_key(said)
    if not key or key in STOPWORDS or key in function_words():
        return
    yield key
    if " " not in key and key.isascii() and 2 <= len(key) <= 8:
        yield key.upper()
    if key.endswith("s") and len(key) > 4:
        yield key[:-1]


def _proper(text: str) -> list[str]:
    """Return the keys of names in a question that are written with capitals."""
    return [key for name in names(text) if len(key := entity_key(name.text)) > 4]
