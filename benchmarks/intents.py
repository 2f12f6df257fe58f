"""Small talk against questions: what is recognised, what is taken for it, and how fast."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.plugins.evaluation.intents import evaluate, open_judge, rows, share
from ragstone.settings import load

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")


def run() -> Iterator[Row]:
    data = eval_data()
    talk = data / "clinc150" / "dev" / "intents.jsonl.gz"
    found = asyncio.run(evaluate(talk, load(), queries(data / "squad2_dev")))
    least = found["smalltalk_recall"] or 0.0
    yield Row("small talk recognised", least, least=0.95)
    yield Row("questions taken for small talk", found["smalltalk_false"] or 0.0, most=0.005)
    note = "banking, travel and the like"
    yield Row("other requests taken for small talk", found["others_false"] or 0.0, note=note)
    yield Row("intent by rules and examples, p95", found["p95_ms"] or 0.0, "ms", most=5)
    for language, false in asyncio.run(languages(data / "xquad")).items():
        yield Row(f"questions taken for small talk, {language}", false, most=0.005, detail=True)


async def languages(sets: Path) -> dict[str, float]:
    """Return the share of each language's questions that is taken for small talk."""
    found = {}
    async with open_judge(load()) as judged:
        for language in LANGUAGES:
            asked = [row["query"] for row in rows(queries(sets / language))]
            found[language] = share(await judged(asked)) or 0.0
    return found


def queries(directory: Path) -> Path:
    return directory / "dev" / "queries.jsonl.gz"
