"""The bundled English model in integers beside the same weights in floats, as ONNX Runtime runs
the package's own file.

Both embed the same texts in turn: passages of English Wikipedia, and questions about them. Ratios
are of one turn each; the medians of all turns are shown.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median

import numpy as np

from benchmarks.common import eval_data
from benchmarks.multilingual import ASKED, RANKED, latency, ndcg, passages, speeds
from benchmarks.row import Row
from ragstone.models.engines import model_file
from ragstone.models.minilm import MiniLm, tokenizer
from ragstone.models.onnx import open_session
from ragstone.plugins.evaluation import dataset
from ragstone.ports import Vectors

TEXTS = 32
BATCH = 4
"""Texts in one run of the floats: larger batches are no faster on a processor."""


def run() -> Iterator[Row]:
    yield from asyncio.run(measure())


class InFloats:
    """The package's file as ONNX Runtime opens it, on as many threads as there are processors."""

    def __init__(self) -> None:
        self._session = open_session(model_file())
        self._tokenizer = tokenizer()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        rows = [item.ids for item in self._tokenizer.encode_batch(list(texts))]
        found = np.zeros((len(rows), MiniLm.dimensions), np.float32)
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            ids = np.zeros((len(some), max(len(rows[i]) for i in some)), np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(some):
                ids[row, : len(rows[i])] = rows[i]
                mask[row, : len(rows[i])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            for i, states in zip(some, self._session.run(None, feed)[0], strict=True):
                mean = states[: len(rows[i])].mean(axis=0)
                found[i] = mean / np.linalg.norm(mean)
        return found


async def measure() -> list[Row]:
    floats, model = InFloats(), MiniLm()
    texts = [passage.text for passage in islice(passages("en"), TEXTS)]
    for embed in (floats.embed, model.embed_passages):
        await embed(texts[:4])
    turns, cosines = await speeds(texts, floats.embed, model.embed_passages)
    times, asked = await latency(floats.embed, model.embed_queries, "en")
    cosines = np.concatenate([cosines, asked])
    than = "relative to its weights in floats"
    return [
        Row("English model", median(b for _, b in turns), "passages/s", detail=True),
        Row(f"English model, {than}", median(b / a for a, b in turns), "x", least=1.5),
        Row("A question by the English model", median(b for _, b in times), "ms", detail=True),
        Row(
            f"A question by the English model, {than}",
            median(b / a for a, b in times),
            "x",
            most=0.8,
        ),
        Row("Its vectors beside those: lowest cosine", float(cosines.min()), least=0.99),
        Row("Its vectors beside those: mean cosine", float(cosines.mean()), detail=True),
        *await rankings(floats, model),
    ]


async def rankings(floats: InFloats, model: MiniLm) -> list[Row]:
    """Return what becomes of rankings, also where an index holds vectors in floats."""
    corpus = list(islice(passages("en"), RANKED))
    ids = [item.id for item in corpus]
    every = dataset.questions(eval_data() / "xquad" / "en", "dev")
    asked = dataset.spread([item for item in every if item.relevant & set(ids)], ASKED)
    texts, queries = [item.text for item in corpus], [item.text for item in asked]
    theirs, ours = await floats.embed(texts), await model.embed_passages(texts)
    base = ndcg(theirs @ (await floats.embed(queries)).T, ids, asked)
    queried = (await model.embed_queries(queries)).T
    what = "nDCG@10 less that of the floats, xquad en, "
    return [
        Row(what + index, ndcg(vectors @ queried, ids, asked) - base, least=-0.005)
        for index, vectors in (("an index of its own", ours), ("an index by the floats", theirs))
    ]
