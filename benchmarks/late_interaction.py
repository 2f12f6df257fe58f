"""Late interaction as an index of its own, against the reranker and against neither.

Over the sets of `BENCH_SETS` (scifact and squad2_dev without it), of which `BENCH_PASSAGES`
passages are indexed, those that questions need first, and `BENCH_QUESTIONS` questions asked (0 is
all). All ways ask the same index. Besides: how many of the passages that MaxSim over all of them
puts first the index finds, what it takes on the disk, and what the multi-vectors of Qdrant Edge
would take.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import qdrant_edge as edge

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.core.chunk import Chunk
from ragstone.core.filters import EVERYTHING
from ragstone.core.turn import RankedList
from ragstone.engine.engine import Engine
from ragstone.index.edge.index import EdgeIndex
from ragstone.index.late import rank_by_maxsim
from ragstone.ingest.migrate import migrate
from ragstone.language.late_interaction import unpack_deviations
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.indexed import Indexed, index_passages
from ragstone.plugins.evaluation.retrieval import measure_retrieval
from ragstone.ports import LateEmbedder, Search
from ragstone.recipes import recipe
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings, load

SETS = "scifact,squad2_dev"
WEIGHTS = os.environ.get("BENCH_WEIGHTS", "0.5").split(",")
"""What late interaction counts against meaning and words together."""

BEST, LIMIT = 10, 100
SCANNED = 20
"""Questions that are compared with every passage."""


def run() -> Iterator[Row]:
    for name in os.environ.get("BENCH_SETS", SETS).split(","):
        yield from asyncio.run(_measure(name))


async def _measure(name: str) -> list[Row]:
    most, asked_most = (int(os.environ.get(f"BENCH_{n}", 0)) for n in ("PASSAGES", "QUESTIONS"))
    directory, settings = eval_data() / name, load()
    settings = settings.model_copy(
        update={"ingest": settings.ingest.model_copy(update={"token_vectors": "search"})}
    )
    asked = [
        replace(question, history=())
        for question in dataset.questions(directory, "dev", asked_most or None)
        if question.answerable and question.relevant
    ]
    needed = {id for item in asked for id in item.relevant}
    entries = sorted(dataset.corpus(directory), key=lambda item: item.id not in needed)
    rows = []
    async with index_passages(entries[: most or None], settings) as index:
        where = f"{name}, {index.chunks:,} chunks, {len(asked)} questions"
        ways = [("meaning and words", 0.0, False), ("the reranker", 0.0, True)]
        for weight in map(float, WEIGHTS):
            ways += [(f"the index at {weight:g}", weight, False)]
            ways += [(f"the index at {weight:g} and the reranker", weight, True)]
        for label, weight, rerank in ways:
            found = await _ask(index, settings, asked, weight, rerank)
            for measure in ("ndcg@10", "recall@5"):
                rows.append(Row(f"{measure}, {label}, {where}", found[measure], detail=True))
            rows.append(Row(f"A search, p50, {label}, {where}", found["p50_ms"], "ms", detail=True))
        rows += [row async for row in _candidates(index, asked[:SCANNED], where)]
        rows += [row async for row in _sizes(index, where)]
    return rows


async def _ask(
    index: Indexed,
    settings: Settings,
    asked: Sequence[dataset.Question],
    weight: float,
    rerank: bool,
) -> dict[str, float]:
    recipe.LATE_WEIGHT = weight
    rag = settings.rag.model_copy(update={"rerank": rerank})
    recipes = Recipes(settings.model_copy(update={"rag": rag}))
    async with aclosing(Engine(index.adapters, recipes.search_recipe)) as engine:
        return await measure_retrieval(engine, asked)


async def _candidates(
    index: Indexed, asked: Sequence[dataset.Question], where: str
) -> AsyncIterator[Row]:
    """Tell how many of the best by MaxSim over all passages the index has among its best."""
    adapters, collection = index.adapters, index.collection
    embedder = adapters.embedders.find_indexing(collection)
    if not isinstance(embedder, LateEmbedder):
        raise TypeError(f"{embedder.name} gives no token vectors")
    held = await adapters.index.tokens(
        collection, [chunk.chunk_id for chunk in await _chunks(index)]
    )
    shards = await asyncio.to_thread(_multi_vectors, list(held.values()), collection.late)
    alone, beside, scans = [], [], []
    for question in asked:
        encoded = await embedder.embed_question(question.text)
        late = await adapters.statistics.late_query(collection, encoded)
        if late is None:
            continue
        best = rank_by_maxsim(late, question.text, held, BEST)
        own = Search(question.text, late=late)
        others = [Search(question.text, encoded.vector), Search(question.text)]
        [first] = await adapters.index.search(collection, [own], EVERYTHING, LIMIT)
        [second, *_] = await adapters.index.search(collection, [own, *others], EVERYTHING, LIMIT)
        alone.append(_share(best, first))
        beside.append(_share(best, second))
        began = time.perf_counter()
        rows = (late.vectors * late.scale * late.weights[:, None]).tolist()
        shards.shard.query(edge.QueryRequest(LIMIT, query=edge.Query.Nearest(rows, using="late")))
        scans.append(time.perf_counter() - began)
    shards.shard.close()
    shards.folder.cleanup()
    best_of_all = "Of the ten best by MaxSim over all passages"
    yield Row(f"{best_of_all}, found by the encodings alone, {where}", fmean(alone), detail=True)
    yield Row(f"{best_of_all}, found beside meaning and words, {where}", fmean(beside), detail=True)
    scan = f"A scan of Qdrant Edge's multi-vectors, {where}"
    yield Row(scan, 1000 * fmean(scans), "ms", detail=True)
    yield Row(f"Multi-vectors of Qdrant Edge, {where}", shards.bytes, "bytes a chunk", detail=True)


class _Shard:
    """A shard of Edge that holds every token's vector, and its bytes a chunk."""

    def __init__(self, folder: "tempfile.TemporaryDirectory[str]", shard: edge.EdgeShard) -> None:
        self.folder = folder
        self.shard = shard
        self.bytes = 0.0


def _multi_vectors(packed: Sequence[bytes], dimensions: int) -> _Shard:
    folder = tempfile.TemporaryDirectory(prefix="ragstone-multi-")
    params = edge.EdgeVectorParams(
        dimensions,
        edge.Distance.Dot,
        multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
        datatype=edge.VectorStorageDatatype.Float16,
        memory=edge.Memory.Cold,
        hnsw_config=edge.HnswIndexConfig(0, 100, 10_000),
    )
    config = edge.EdgeConfig(vectors={"late": params})
    edge.EdgeShard.create(folder.name, config).close()
    shard = edge.EdgeShard.load(folder.name, config)
    before = _bytes(Path(folder.name))
    for number, item in enumerate(packed):
        rows = unpack_deviations(item, dimensions).tolist()
        point = edge.Point(number, {"late": rows}, {})
        shard.update(edge.UpdateOperation.upsert_points([point]))
    shard.flush()
    made = _Shard(folder, shard)
    made.bytes = (_bytes(Path(folder.name)) - before) / len(packed)
    return made


async def _sizes(index: Indexed, where: str) -> AsyncIterator[Row]:
    """Yield what the index of late interaction takes: the same collection with and without it."""
    sizes = []
    for late in (index.collection.late, 0):
        with tempfile.TemporaryDirectory(prefix="ragstone-late-") as folder:
            other = EdgeIndex(Path(folder))
            collection = replace(index.collection, late=late)
            async for _ in migrate(index.adapters.index, other, collection):
                pass
            await other.aclose()
            sizes.append(_bytes(Path(folder)))
    more = (sizes[0] - sizes[1]) / index.chunks
    yield Row(f"The index of late interaction, {where}", more, "bytes a chunk", detail=True)


async def _chunks(index: Indexed) -> list[Chunk]:
    scan = index.adapters.index.scan(index.collection)
    return [chunk async for batch in scan for chunk in batch]


def _share(best: RankedList, found: RankedList) -> float:
    wanted = {item.chunk_id for item in best.found}
    return len(wanted & {item.chunk_id for item in found.found}) / len(wanted)


def _bytes(folder: Path) -> int:
    return sum(item.stat().st_blocks * 512 for item in folder.rglob("*") if item.is_file())
