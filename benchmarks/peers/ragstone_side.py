"""Ragstone: the engine with its recipe of a search, as the settings are by default.

Everything but the model's own work on the question is done and timed: the question's vector, and
its token vectors for reranking, are read.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.latency import HYBRID, a_search
from benchmarks.peers.embedded import read_packed, read_questions
from benchmarks.peers.exported import Exported
from benchmarks.peers.side import DEPTH, Search, main
from ragstone.build import open_adapters
from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.core.turn import Ask
from ragstone.engine.engine import Engine
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.plugins.evaluation.indexed import NAME
from ragstone.ports import Adapters, Embedder, Vectors
from ragstone.settings import Settings, SpellingSettings

BATCH = 500

AS_SPELT = SpellingSettings(enabled=False)
"""Only the vectors of the questions as they are have been exported."""

PLANS: Mapping[str, Mapping[str, Any]] = {"default": {}, "without reranking and feedback": HYBRID}


class KnownMiniLm(MiniLm):
    """Reads the vectors of questions; tokenizes itself."""

    def __init__(self, known: Mapping[str, EncodedQuestion]) -> None:
        super().__init__()
        self._known = known

    async def embed_question(self, text: str) -> EncodedQuestion:
        return self._known[text]


class KnownE5(MultilingualE5):
    """Reads the vectors of questions."""

    def __init__(self, known: Mapping[str, EncodedQuestion]) -> None:
        super().__init__()
        self._known = known

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._known[text].vector for text in texts])


class OneEmbedder:
    """`ports.Embedders` with one for everything."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def choose(self, language: str) -> Embedder:
        return self._embedder

    def find_indexing(self, collection: Collection) -> Embedder:
        return self._embedder

    def find_comparing(self, collection: Collection) -> None:
        return None

    def find_bridging(self, collection: Collection) -> None:
        return None


@contextmanager
def opened(data: Exported) -> Iterator[Mapping[str, Search]]:
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            adapters = runner.run(_fill(stack, Path(directory), data))
            yield {
                name: _search(runner, a_search(adapters, plan, Settings(spelling=AS_SPELT)))
                for name, plan in PLANS.items()
            }
        finally:
            runner.run(stack.aclose())


async def _fill(stack: AsyncExitStack, directory: Path, data: Exported) -> Adapters:
    adapters, _, _ = await stack.enter_async_context(
        open_adapters(Settings(ragstone_data=directory))
    )
    known = dict(zip(data.questions, read_questions(Path(data.asked)), strict=True))
    usual = adapters.embedders.choose(data.language)
    embedder = KnownMiniLm(known) if isinstance(usual, MiniLm) else KnownE5(known)
    collection = Collection(
        "default", NAME, usual.name, usual.fingerprint, usual.dimensions, data.language
    )
    await adapters.index.create(collection)
    await adapters.catalog.put_collection(collection)
    vectors, packed = np.load(data.passages)["vectors"], read_packed(Path(data.passages))
    for start in range(0, len(data.chunks), BATCH):
        some = slice(start, start + BATCH)
        chunks = [Chunk.from_payload(payload) for payload in data.chunks[some]]
        await adapters.index.upsert(collection, chunks, vectors[some], packed and packed[some])
    await adapters.index.optimize(collection)
    return replace(adapters, embedders=OneEmbedder(embedder))


def _search(runner: asyncio.Runner, engine: Engine) -> Search:
    async def search(question: str) -> list[str]:
        turn = await engine.answer(Ask(question, collection=NAME, top_k=DEPTH, cache=False))
        return [hit.chunk.chunk_id for hit in turn.hits]

    return lambda question: runner.run(search(question))


if __name__ == "__main__":
    main(opened)
