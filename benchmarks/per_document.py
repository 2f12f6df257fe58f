"""nDCG@10 of the ten results that a search gives, by how many passages of one document are among
them at most: 0 is no bound, 1 lets the ten be ten documents.

`retrieval` asks for fifty passages instead, so that ten documents are among them either way.
"""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from statistics import fmean

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.core.turn import Ask, SearchOptions
from ragstone.engine.engine import Engine
from ragstone.plugins.evaluation import dataset, measures
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.plugins.evaluation.retrieval import documents
from ragstone.recipes.recipe import Recipes
from ragstone.settings import load

SETS = ("cranfield", "scifact")
BOUNDS = (0, 1, 2, 3)
QUESTIONS = 120


def run() -> Iterator[Row]:
    for name in SETS:
        yield from asyncio.run(_measure(name))


async def _measure(name: str) -> list[Row]:
    directory = eval_data() / name
    asked = [
        question for question in dataset.questions(directory, "dev", QUESTIONS) if question.relevant
    ]
    rows = []
    async with (
        index_passages(dataset.corpus(directory), load()) as index,
        aclosing(Engine(index.adapters, Recipes(load()).search_recipe)) as engine,
    ):
        for bound in BOUNDS:
            wanted = SearchOptions(per_document=bound)
            found = [
                documents(
                    await engine.answer(
                        Ask(item.text, collection=NAME, top_k=10, wanted=wanted, cache=False)
                    )
                )
                for item in asked
            ]
            ndcg = fmean(
                measures.ndcg(ids, item.relevant, 10)
                for ids, item in zip(found, asked, strict=True)
            )
            note = f"{fmean(map(len, found)):.1f} documents among ten results"
            label = "no bound" if bound == 0 else f"{bound} of a document at most"
            rows.append(Row(f"nDCG@10 of ten results, {name}, {label}", ndcg, note=note))
    return rows
