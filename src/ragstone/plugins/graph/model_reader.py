"""Has the chat model read chunks for the entity graph, after they are readable by the rules alone.

What it says of a chunk is kept by the hash of what it was shown, with the version of the document,
and goes with that. Which documents lack theirs is asked of the state, so an ingest that was cut off
goes on where it was, and the same text is not paid for twice.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ragstone.core.answer import Usage
from ragstone.core.chunk import Chunk
from ragstone.core.errors import RagstoneError
from ragstone.core.filters import OWN_TEXT, And, eq
from ragstone.core.records import Collection
from ragstone.ingest.progress import Tracker
from ragstone.language.code_blocks import fence_text
from ragstone.language.language import language_name
from ragstone.language.markers import (
    citation_numbers,
    neutralize_markers,
    normalise_markers,
    strip_markers,
)
from ragstone.language.templates import choose_by_language, fill_places, load_shipped
from ragstone.language.tokens import count
from ragstone.plugins.graph.entities import EntityTheme
from ragstone.plugins.graph.model_extract import (
    RECIPE,
    Taken,
    cache_key,
    format_chunk,
    format_passages,
    is_read,
    parse_reply,
)
from ragstone.plugins.graph.model_readings import SqlModelReadings
from ragstone.plugins.graph.reader import GraphReader, theme_chunks
from ragstone.plugins.graph.themes import SqlThemes
from ragstone.ports import ChunkIndex, Completer, Priced, Templates

PROMPT = "graph_reading"
SUMMARY_PROMPT = "sum_up"

AT_A_TIME = 4
"""Calls of the chat model; the questions that are being answered meanwhile need it too."""

PASSAGES = 4
"""Passages of one document in one call."""

SHOWN_AT_ONCE = 8_000
"""Characters of passages in one call, but for a longer one alone."""

REPLY_TOKENS = 700
"""For each passage, at most."""

EXPECTED_TOKENS = 200
"""For each passage, by which the cost is estimated before."""

SUMMARY_TOKENS = 300

SUMMARY_SHOWN = 1_500
"""Characters of each passage of a theme that the model reads."""

MOST_OF_ONE = 100_000
"""Chunks of a document of which no more are held in memory at once."""


@dataclass(frozen=True, slots=True)
class GraphEstimate:
    """What it is going to take to read a collection: passages that are to be shown, those that
    are known, calls, tokens of both directions, and US dollars, None where the price is not
    known."""

    passages: int = 0
    known: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float | None = None


class GraphModelReader:
    """Has `model` read the collections that have an entity graph, which `reader` keeps."""

    def __init__(
        self,
        index: ChunkIndex,
        readings: SqlModelReadings,
        themes: SqlThemes,
        templates: Templates,
        reader: GraphReader,
        model: Completer,
    ) -> None:
        self._index = index
        self._readings = readings
        self._themes = themes
        self._templates = templates
        self._reader = reader
        self._model = model

    async def make(self, collection: Collection, tracker: Tracker) -> None:
        """Read what lacks in a collection, and sum up its themes. Where the model fails the rest is
        left for the next ingest, and a note says so."""
        if not self._reader.wanted(collection):
            tracker.note(
                "INGEST__GRAPH=model has no effect on this collection: it has no entity graph "
                "(rag.knowledge_graph_enabled)."
            )
            return
        estimate = await self.estimate(collection)
        if estimate.passages:
            tracker.note(_foretold(self._model.name, estimate))
        made = _Made(tracker)
        lacking = await self._readings.list_lacking(collection, RECIPE)
        for number, revision in enumerate(lacking):
            if failure := await self._read(collection, revision, made):
                made.failure = failure
                made.left = len(lacking) - number
                break
        if not made.failure:
            await self._sum_up(collection, made)
        for sentence in _report_lines(self._model.name, made):
            tracker.note(sentence)

    async def estimate(self, collection: Collection) -> GraphEstimate:
        """Return what reading a collection is going to take."""
        passages = known = calls = prompt = 0
        for revision in await self._readings.list_lacking(collection, RECIPE):
            chunks = await self._chunks(collection, revision)
            rules = await self._rules(chunks)
            keys = {cache_key(rules, chunk) for chunk in chunks}
            held = await self._readings.find_readings(collection, keys)
            new = [item for item in chunks if cache_key(rules, item) not in held]
            passages, known = passages + len(new), known + len(chunks) - len(new)
            for some in _batches(new):
                calls += 1
                prompt += count(rules) + count(format_passages(some))
            await asyncio.sleep(0)
        reply = EXPECTED_TOKENS * passages
        priced = isinstance(self._model, Priced) and passages
        cost = self._model.price(prompt, reply) if priced else None  # type: ignore[attr-defined]
        return GraphEstimate(passages, known, calls, prompt + reply, cost)

    async def _chunks(self, collection: Collection, revision: str) -> list[Chunk]:
        """Return the chunks of a document that are shown to the model, in order."""
        found: list[Chunk] = []
        where = And((eq("revision", revision), OWN_TEXT))
        async for batch in self._index.scan(collection, where):
            found += [item for item in batch if is_read(item)]
            if len(found) >= MOST_OF_ONE:
                break
        return sorted(found, key=lambda item: item.chunk_index)

    async def _rules(self, chunks: Sequence[Chunk], name: str = PROMPT) -> str:
        if not chunks:
            return ""
        language = chunks[0].language
        own = choose_by_language(
            await self._templates.texts(chunks[0].tenant), name, lambda: language
        )
        text = own or load_shipped(name) or ""
        if name == SUMMARY_PROMPT:
            text = fill_places(text, language=language_name(language))
        return text.strip()

    async def _read(self, collection: Collection, revision: str, made: "_Made") -> str:
        """Read one document to its end; why it could not be, else nothing."""
        chunks = await self._chunks(collection, revision)
        rules = await self._rules(chunks)
        keys = {chunk.chunk_index: cache_key(rules, chunk) for chunk in chunks}
        held = await self._readings.find_readings(collection, set(keys.values()))
        known = [
            replace(held[key], revision=revision, chunk_index=number)
            for number, key in keys.items()
            if key in held
        ]
        waiting = list(_batches([chunk for chunk in chunks if keys[chunk.chunk_index] not in held]))
        for start in range(0, len(waiting), AT_A_TIME):
            some = waiting[start : start + AT_A_TIME]
            said = await asyncio.gather(*(self._ask(rules, item, made) for item in some))
            found = [item.reading for part in said for item in part.taken]
            await self._readings.keep(collection, found, RECIPE)
            if failure := next((part.failure for part in said if part.failure), ""):
                return failure
        await self._readings.keep(collection, known, RECIPE, whole=revision)
        await self._reader.reread(collection, revision)
        made.known += len(known)
        return ""

    async def _ask(self, rules: str, chunks: Sequence[Chunk], made: "_Made") -> "_Said":
        """Return what the model says of some passages."""
        try:
            said = await self._model.complete(
                rules, format_passages(chunks), REPLY_TOKENS * len(chunks)
            )
        except RagstoneError as error:
            return _Said(failure=error.message)
        found = await asyncio.to_thread(parse_reply, said.text, chunks, rules)
        made.add(found, said.usage)
        return _Said(tuple(found))

    async def _sum_up(self, collection: Collection, made: "_Made") -> None:
        """Have the model sum up the themes that it has not summed up."""
        self._reader.wake(collection)
        await self._reader.drain()
        for theme in await self._themes.every(collection):
            if theme.by:
                continue
            try:
                summary = await self._summary(collection, theme, made)
            except RagstoneError as error:
                made.failure = error.message
                return
            if summary:
                await self._themes.sum_up(collection, theme.id, summary, self._model.name)
                made.themes += 1

    async def _summary(self, collection: Collection, theme: EntityTheme, made: "_Made") -> str:
        """Return what the model says of a theme's passages; nothing if that names none of them."""
        chunks = await theme_chunks(self._index, collection, theme)
        if not chunks:
            return ""
        parts = [
            f"[{number}] {neutralize_markers(format_chunk(chunk))[:SUMMARY_SHOWN]}"
            for number, chunk in enumerate(chunks, 1)
        ]
        rules = await self._rules(chunks, SUMMARY_PROMPT)
        text = fence_text("part", "\n\n".join(parts))
        said = await self._model.complete(rules, text, SUMMARY_TOKENS)
        made.spend(said.usage)
        summary = normalise_markers(said.text.strip(), lambda number: 0 < number <= len(chunks))
        if not citation_numbers(summary):
            made.unsupported += 1
            return ""
        return " ".join(strip_markers(summary).split())


@dataclass(frozen=True, slots=True)
class _Said:
    """What a call gave, or why it gave nothing."""

    taken: tuple[Taken, ...] = ()
    failure: str = ""


@dataclass(slots=True)
class _Made:
    """What one run has made so far."""

    tracker: Tracker
    read: int = 0
    known: int = 0
    broken: int = 0
    left_out: int = 0
    entities: int = 0
    relations: int = 0
    themes: int = 0
    unsupported: int = 0
    left: int = 0
    failure: str = ""
    usage: Usage = field(default_factory=Usage)

    def add(self, found: Sequence[Taken], usage: Usage) -> None:
        self.read += len(found)
        self.broken += sum(item.reading.broken for item in found)
        self.left_out += sum(item.left_out for item in found)
        self.entities += sum(len(item.reading.entities) for item in found)
        self.relations += sum(len(item.reading.relations) for item in found)
        self.spend(usage)

    def spend(self, usage: Usage) -> None:
        self.usage += usage
        self.tracker.count_questions(0, usage)


def _batches(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    """Yield the passages of each call."""
    some: list[Chunk] = []
    length = 0
    for chunk in chunks:
        own = len(format_chunk(chunk))
        if some and (len(some) >= PASSAGES or length + own > SHOWN_AT_ONCE):
            yield some
            some, length = [], 0
        some.append(chunk)
        length += own
    if some:
        yield some


def _foretold(model: str, estimate: GraphEstimate) -> str:
    cost = "" if estimate.cost is None else f", {estimate.cost:.4f} US dollars"
    known = f"; {estimate.known:,} are known" if estimate.known else ""
    return (
        f"{model} is going to read {estimate.passages:,} passages for the graph{known}: about "
        f"{estimate.calls:,} calls, {estimate.tokens:,} tokens{cost}."
    )


def _report_lines(model: str, made: _Made) -> Iterator[str]:
    used = made.usage
    if made.read or made.known or made.themes:
        tokens = (
            f"{used.total_tokens:,} tokens" if used.counted else "tokens that it does not count"
        )
        cost = "" if used.cost is None else f", {used.cost:.4f} US dollars"
        yield (
            f"{model} read {made.read:,} passages for the graph, {made.known:,} were known: "
            f"{made.entities:,} entities, {made.relations:,} relations, {made.themes:,} themes "
            f"summed up: {used.calls:,} calls, {tokens}{cost}."
        )
    if made.broken:
        yield (
            f"Nothing could be made of what it said of {made.broken:,} passages: what the rules "
            "read stands for it."
        )
    if made.left_out:
        yield (
            f"{made.left_out:,} of the names and relations that it said were left out: they do "
            "not stand in their passage, or were too many."
        )
    if made.unsupported:
        yield (
            f"{made.unsupported:,} of its summaries of themes named no passage: the documents' own "
            "sentences stand for them."
        )
    if made.failure and made.left:
        yield (
            f"{made.left:,} further documents were not read for the graph: {made.failure} Ingest "
            "again to go on."
        )
    elif made.failure:
        yield f"Not all themes were summed up: {made.failure} Ingest again to go on."
