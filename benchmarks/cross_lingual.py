"""Questions in other languages over English passages, with the multilingual embedder."""

import asyncio
from collections.abc import Iterator

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.engine.engine import Engine
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.indexed import index_passages
from ragstone.plugins.evaluation.retrieval import measure_retrieval
from ragstone.recipes.recipe import Recipes
from ragstone.settings import load

LANGUAGES = ("de", "es", "ru", "zh")


def run() -> Iterator[Row]:
    for language, recall in asyncio.run(recalls()).items():
        yield Row(f"recall@5, {language} questions over English passages", recall, least=0.80)


async def recalls() -> dict[str, float]:
    settings = load(**{"embedding.model": "multilingual"})
    sets = eval_data() / "xquad"
    found = {}
    async with index_passages(dataset.corpus(sets / "en"), settings) as index:
        engine = Engine(index.adapters, Recipes(settings).search_recipe)
        for language in LANGUAGES:
            asked = [over_english(q) for q in dataset.questions(sets / language, "dev")]
            found[language] = (await measure_retrieval(engine, asked))["recall@5"]
    return found


def over_english(question: dataset.Question) -> dataset.Question:
    """The question with the English passages that its own ones are translations of."""
    relevant = frozenset("en:" + item.partition(":")[2] for item in question.relevant)
    return dataset.Question(question.id, question.text, relevant, (), True)
