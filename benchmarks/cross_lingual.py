"""Questions in other languages than the passages, with the multilingual embedder: over English
passages alone, and over passages of six languages, of which those in a question's own language say
nothing of it."""

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
MIXED = ("en", "de", "es", "zh", "ru", "ar")
EVERY = 4
"""Every fourth question is asked over passages of six languages."""


def run() -> Iterator[Row]:
    for language, recall in asyncio.run(recalls()).items():
        yield Row(f"recall@5, {language} questions over English passages", recall, least=0.80)
    for kind, found in asyncio.run(measure_mixed()).items():
        for measure in ("recall@5", "mrr@10"):
            what = f"{measure} over passages of six languages, question in {kind}"
            yield Row(what, found[measure], least=0.75 if measure == "recall@5" else None)


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


async def measure_mixed() -> dict[str, dict[str, float]]:
    """Each article stands in one language only, the articles in turn."""
    settings = load(**{"embedding.model": "multilingual"})
    sets = eval_data() / "xquad"

    def is_kept(language: str, passage: str) -> bool:
        article = int(passage.partition(":")[2].partition("-")[0])
        return MIXED[article % len(MIXED)] == language

    entries = {language: dataset.corpus(sets / language) for language in MIXED}
    kept = [e for language, own in entries.items() for e in own if is_kept(language, e.id)]
    kinds: dict[str, list[dataset.Question]] = {"its own language": [], "another": []}
    languages = {entry.id.partition(":")[2]: entry.id for entry in kept}
    for language in MIXED:
        for question in dataset.questions(sets / language, "dev")[::EVERY]:
            [passage] = question.relevant
            known = languages[passage.partition(":")[2]]
            kind = "its own language" if known == passage else "another"
            item = dataset.Question(question.id, question.text, frozenset({known}), (), True)
            kinds[kind].append(item)
    async with index_passages(kept, settings) as index:
        engine = Engine(index.adapters, Recipes(settings).search_recipe)
        return {kind: await measure_retrieval(engine, asked) for kind, asked in kinds.items()}


def over_english(question: dataset.Question) -> dataset.Question:
    """Return the question with the English passages that its own ones are translations of."""
    relevant = frozenset("en:" + item.partition(":")[2] for item in question.relevant)
    return dataset.Question(question.id, question.text, relevant, (), True)
