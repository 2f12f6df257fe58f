"""A cross-encoder from a directory: an ONNX file and its tokenizer, run by ONNX Runtime."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.models.onnx import session
from ragstone.ports import Judgement, Vectors
from ragstone.settings import RerankSettings

FILES = ("model.onnx", "model_quantized.onnx", "model_int8.onnx")
"""Names that exporters give the model, in the directory itself or in its `onnx` folder."""

INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""The model's inputs, and what the tokenizer calls them."""

BATCH = 8
MAX_TOKENS = 512


class CrossEncoder:
    """`ports.Reranker` from `RERANK__MODEL_PATH`. Loads with the first question.

    One number a pair is a logit; of two numbers the second is the relevant class.
    """

    def __init__(self, settings: RerankSettings) -> None:
        directory = Path(settings.model_path).expanduser()
        self.name = settings.model or directory.name
        self._weight = settings.weight
        self._file = _file(directory)
        self._vocabulary = directory / "tokenizer.json"
        if not self._vocabulary.is_file():
            raise ConfigError(f"RERANK__MODEL_PATH: there is no tokenizer.json in {directory}.")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cross-encoder")
        self._session: Any = None
        self._tokenizer: Any = None

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        pairs = [(question, chunk.searchable) for chunk in chunks]
        loop = asyncio.get_running_loop()
        try:
            scores = await loop.run_in_executor(self._thread, self._scores, pairs)
        except Exception as error:
            raise ModelUnavailable(
                f"The cross-encoder {self._file} failed ({type(error).__name__}: {error})."
            ) from error
        return Judgement(scores, self._weight, "question and passage read together")

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._session = self._tokenizer = None

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        if self._session is None:
            self._load()
        encoded = self._tokenizer.encode_batch(list(pairs))
        scores = np.zeros(len(pairs), np.float32)
        for rows in _batches(sorted(range(len(pairs)), key=lambda i: len(encoded[i].ids))):
            scores[rows] = self._forward([encoded[i] for i in rows])
        return scores

    def _load(self) -> None:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._vocabulary))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        self._session = session(self._file)
        self._tokenizer = tokenizer

    def _forward(self, encoded: Sequence[Any]) -> Vectors:
        width = max(len(one.ids) for one in encoded)
        feed = {}
        for wanted in self._session.get_inputs():
            rows = np.zeros((len(encoded), width), np.int64)
            for row, one in zip(rows, encoded, strict=True):
                row[: len(one.ids)] = getattr(one, INPUTS[wanted.name])
            feed[wanted.name] = rows
        logits = np.asarray(self._session.run(None, feed)[0], np.float32)
        logits = logits.reshape(len(encoded), -1)
        relevant = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        scores = 1 / (1 + np.exp(-relevant))
        return scores.astype(np.float32)


def _file(directory: Path) -> Path:
    for folder in (directory, directory / "onnx"):
        for name in FILES:
            if (folder / name).is_file():
                return folder / name
    raise ConfigError(
        f"RERANK__MODEL_PATH: there is no {' or '.join(FILES)} in {directory} or its onnx folder."
    )


def _batches(order: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(order), BATCH):
        yield list(order[start : start + BATCH])
