"""Reads the comments of a collection's tables, and keeps what was read in memory.

Which tables somebody may read the index says at each question, by the number of chunks inside its
filter; what is kept of a version of a document never changes. So nothing that is kept opens
anything to anybody.

The sentiment of comments from their vectors, by a few weights for each bundled embedder.

`python -m training.tone_weights` makes them.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import RagstoneError
from ragstone.core.filters import OWN_TEXT, And, Filter, eq
from ragstone.core.records import Collection
from ragstone.language.words import content_word_set, content_words
from ragstone.local.added import AdapterParts
from ragstone.plugins.comments.comment_table import read_comments
from ragstone.plugins.comments.comments import CustomerComment, Tone
from ragstone.ports import Adapters, ChunkIndex, Embedder, Vectors, in_bulk


@dataclass(frozen=True, slots=True)
class ToneWeights:
    """How a vector's tone is read: the product with `weights` (dimensions,) and `bias` is negative
    up to `low` and positive from `high`. `topic` is the cosine from which a comment speaks of a
    topic, whose words add up to `shared`."""

    weights: NDArray[np.float64]
    bias: float
    low: float
    high: float
    topic: float
    shared: float

    def tones(self, vectors: Vectors) -> list[Tone]:
        """Return the tone of each vector (n, dimensions)."""
        scores = vectors @ self.weights + self.bias
        return [
            "negative" if score <= self.low else "positive" if score >= self.high else "neutral"
            for score in scores
        ]


@cache
def load_weights(model: str) -> ToneWeights:
    """The weights of an embedder of this name; raises KeyError for one that is not bundled."""
    text = files(__package__).joinpath("data/tone.json").read_text(encoding="utf-8")
    every: Mapping[str, Mapping[str, object]] = json.loads(text)
    return ToneWeights(**{**every[model], "weights": np.array(every[model]["weights"])})  # type: ignore[arg-type]


log = logging.getLogger(__name__)

MAX_TABLES = 200
"""Documents with tables that are looked at."""

MAX_CHUNKS = 3_000
"""Chunks of a document; larger ones are left out."""

MAX_COMMENTS = 20_000
"""Comments that are counted for one question."""

KEPT_COMMENTS = 50_000
"""Comments kept in memory, about 2.5 kB each."""

AT_ONCE = 32
"""Comments that are embedded in one go."""

Key = tuple[str, int, str]
"""Collection, build of its index, version of a document."""


@dataclass(frozen=True, slots=True)
class ReadComments:
    """Comments with their vectors (n, dimensions). `left_out` says which tables are not among them
    and why; `waiting` are comments that are being read still, which are not among them either."""

    comments: tuple[CustomerComment, ...]
    vectors: Vectors
    left_out: tuple[str, ...] = ()
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Held:
    """What a version of a document holds. `chunks` of it hold tables. `vectors` are None until they
    are made."""

    chunks: int
    comments: tuple[CustomerComment, ...]
    vectors: Vectors | None = None


class LocalCommentReader:
    """Reads tables of comments."""

    def __init__(self, index: ChunkIndex, embedder: Embedder) -> None:
        self._index = index
        self._embedder = embedder
        self._held: OrderedDict[Key, _Held] = OrderedDict()
        self._making: dict[Key, asyncio.Task[None]] = {}

    async def read(self, collection: Collection, where: Filter, seconds: float) -> ReadComments:
        """Return the comments of the tables inside `where`, as far as they can be read in so many
        seconds; what was begun goes on, for the next call. A table of which a part lies outside is
        left out."""
        where = And((where, OWN_TEXT))
        tables = And((where, eq("kind", "table")))
        counts = await self._index.facet(collection, "revision", tables, MAX_TABLES + 1)
        left_out = []
        if len(counts) > MAX_TABLES:
            left_out.append(f"of more than {MAX_TABLES} documents with tables the others")
        found: list[Key] = []
        total = 0
        for revision in sorted(sorted(counts, key=lambda item: -counts[item])[:MAX_TABLES]):
            key = (collection.id, collection.build, revision)
            held, why = await self._table(collection, where, key, counts[revision])
            if held is None:
                left_out.append(why)
            elif total + len(held.comments) > MAX_COMMENTS:
                left_out.append(f"{revision}: more than {MAX_COMMENTS:,} comments in all")
            elif held.comments:
                total += len(held.comments)
                found.append(key)
        return await self._with_vectors(found, tuple(left_out), seconds)

    async def of_texts(self, comments: Sequence[CustomerComment]) -> ReadComments:
        """Comments that stand in no document, with their tones and vectors."""
        vectors = await self._embed([comment.text for comment in comments])
        return ReadComments(self._add_tones(comments, vectors), vectors)

    async def score_topic(self, topic: str, read: ReadComments) -> NDArray[np.float64]:
        """Tell how surely each comment speaks of a topic (n,), in any words; those that do have 0
        or more."""
        weights = load_weights(self._embedder.name)
        [vector] = await self._embedder.embed_queries([topic])
        words = set(content_words(topic))
        shared = [
            len(words & content_word_set(comment.text)) / max(1, len(words))
            for comment in read.comments
        ]
        cosines = (read.vectors @ vector).astype(np.float64)
        scores: NDArray[np.float64] = cosines + weights.shared * np.array(shared) - weights.topic
        return scores

    async def aclose(self) -> None:
        """Stop what is being read."""
        tasks = list(self._making.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _table(
        self, collection: Collection, where: Filter, key: Key, chunks: int
    ) -> tuple[_Held | None, str]:
        """Return what a version holds, without vectors the first time; None where not all of it is
        inside the filter or it is too large, and why."""
        held = self._held.get(key)
        if held is not None and held.chunks == chunks:
            self._held.move_to_end(key)
            return held, ""
        if chunks > MAX_CHUNKS:
            return None, f"{key[2]}: more than {MAX_CHUNKS:,} chunks"
        own = And((where, eq("revision", key[2])))
        read = [item async for batch in self._index.scan(collection, own) for item in batch]
        read.sort(key=lambda item: item.chunk_index)
        every = await self._index.count(collection, And((OWN_TEXT, eq("revision", key[2]))))
        if len(read) != every:
            return None, f"{key[2]}: not readable as a whole"
        comments = await asyncio.to_thread(read_comments, read)
        held = _Held(sum(item.kind == "table" for item in read), tuple(comments))
        self._keep(key, held)
        return held, ""

    def _keep(self, key: Key, held: _Held) -> None:
        self._held[key] = held
        self._held.move_to_end(key)
        kept = sum(1 + len(item.comments) for item in self._held.values())
        while kept > KEPT_COMMENTS and len(self._held) > 1:
            _, gone = self._held.popitem(last=False)
            kept -= 1 + len(gone.comments)

    async def _with_vectors(
        self, keys: Sequence[Key], left_out: tuple[str, ...], seconds: float
    ) -> ReadComments:
        """Return the comments of tables that were just read, once they have vectors, as far as the
        time allows."""
        own = {key: self._held[key] for key in keys if key in self._held}
        missing = [key for key, held in own.items() if held.vectors is None]
        for key in missing:
            if key not in self._making:
                task = asyncio.create_task(self._make(key, own[key]))
                self._making[key] = task
                task.add_done_callback(lambda _, key=key: self._making.pop(key, None))  # type: ignore[misc]
        tasks = [self._making[key] for key in missing if key in self._making]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error
        done = [held for key in own if (held := self._held.get(key)) and held.vectors is not None]
        waiting = sum(len(held.comments) for held in own.values()) - sum(
            len(held.comments) for held in done
        )
        vectors = [held.vectors for held in done if held.vectors is not None]
        together = np.concatenate(vectors) if vectors else np.zeros((0, 1), np.float32)
        comments = tuple(comment for held in done for comment in held.comments)
        return ReadComments(comments, together, left_out, waiting)

    async def _make(self, key: Key, held: _Held) -> None:
        try:
            vectors = await self._embed([comment.text for comment in held.comments])
        except RagstoneError as error:
            log.warning("The comments of %s could not be read: %s", key[2], error)
            raise
        self._keep(
            key, replace(held, comments=self._add_tones(held.comments, vectors), vectors=vectors)
        )

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        parts = []
        with in_bulk():
            for start in range(0, len(texts), AT_ONCE):
                parts.append(await self._embedder.embed_passages(texts[start : start + AT_ONCE]))
        return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)

    def _add_tones(
        self, comments: Sequence[CustomerComment], vectors: Vectors
    ) -> tuple[CustomerComment, ...]:
        """Return the comments with their tones: that of the rating where there is one."""
        if not comments:
            return ()
        tones = load_weights(self._embedder.name).tones(vectors)
        return tuple(
            comment if comment.tone != "unknown" else replace(comment, tone=tone)
            for comment, tone in zip(comments, tones, strict=True)
        )


def open_reader(parts: AdapterParts) -> LocalCommentReader:
    """Make the adapter of this process."""
    return LocalCommentReader(parts.index, parts.embedder)


def own_reader(adapters: Adapters) -> LocalCommentReader | None:
    """Return the reader that `open_reader` has made, None where there is none."""
    return adapters.added.get("comments")
