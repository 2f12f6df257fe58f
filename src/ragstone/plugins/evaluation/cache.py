"""Does the cache tell the same question from another one? Pairs of questions, labelled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ragstone.build import open_embedders
from ragstone.cache.same_question import Mode, compare
from ragstone.core.errors import InputError
from ragstone.language.language import detect
from ragstone.plugins.evaluation.dataset import read_rows
from ragstone.ports import Embedder
from ragstone.settings import Settings

BATCH = 64


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """Two questions, and whether they ask the same."""

    first: str
    second: str
    same: bool


def pairs(file: Path) -> list[QuestionPair]:
    """Return the rows `a`, `b` and `same` of a file of JSON lines, plain or gzipped.

    Raises InputError.
    """
    try:
        rows = read_rows(file)
        return [QuestionPair(_plain(row["a"]), _plain(row["b"]), bool(row["same"])) for row in rows]
    except (InputError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is not a file of JSON lines with a, b and same.") from error


async def evaluate(
    file: Path, settings: Settings, limit: int | None = None
) -> Mapping[str, float | None]:
    """Ask the second question of each pair when the first is in the cache.

    `precision` is the share of hits that are the same question, `recall` the share of the same
    questions that hit, `hit_rate` the share of all pairs that hit.
    """
    found = list(islice(pairs(file), limit))
    async with open_embedders(settings) as embedders:
        embedder = embedders.choose(_language(found))
        hits = await decide_pairs(found, embedder, settings.cache.threshold_mode)
    return measure_pairs(found, hits)


async def decide_pairs(pairs: Sequence[QuestionPair], embedder: Embedder, mode: Mode) -> list[bool]:
    """Tell whether the cache takes each pair for the same question."""
    unrelated = embedder.cosines[0]
    hits: list[bool] = []
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        vectors = await embedder.embed_queries(
            [text for p in batch for text in (p.first, p.second)]
        )
        cosines = (vectors[::2] * vectors[1::2]).sum(axis=1)
        for pair, cosine in zip(batch, cosines.tolist(), strict=True):
            likeness = (min(1.0, cosine) - unrelated) / (1 - unrelated)
            hits.append(compare(pair.first, pair.second, likeness, mode).same)
    return hits


def measure_pairs(pairs: Sequence[QuestionPair], hits: Sequence[bool]) -> dict[str, float | None]:
    """Precision, recall and hit rate; None where nothing was there to count."""
    right = [pair.same for pair, hit in zip(pairs, hits, strict=True) if hit]
    found = [hit for pair, hit in zip(pairs, hits, strict=True) if pair.same]
    return {
        "pairs": len(pairs),
        "hits": sum(hits),
        "precision": _share(right),
        "recall": _share(found),
        "hit_rate": _share(hits),
    }


def _share(values: Iterable[bool]) -> float | None:
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers) if numbers else None


def _plain(text: str) -> str:
    return " ".join(text.split())


def _language(pairs: Sequence[QuestionPair]) -> str:
    """Return the language of most of the pairs: English or another one."""
    step = max(1, len(pairs) // 50)
    languages = [detect(pair.first) for pair in pairs[::step]]
    known = [language for language in languages if language]
    english = known.count("en")
    return "en" if 2 * english >= len(known) else max(set(known), key=known.count)
