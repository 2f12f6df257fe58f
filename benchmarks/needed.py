"""Sets whose questions one passage seldom answers, and how much of what a question needs was found.

What that is differs by what the sets tell. Of hotpotqa and musique it is each passage that a
question needs; of rgb/zh_int one passage for each part of the answer, whichever of the ten that say
it; of graphrag_bench_medical, one long text without marked passages, the words of the accepted
answers that the question does not say, weighed by how rare they are. Its "creative generation" is
left out, whose answers are whole essays.
"""

import math
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from ragstone.core.turn import Ask, Hit, SearchOptions, Strategy
from ragstone.engine.engine import Engine
from ragstone.language.words import content_word_set
from ragstone.plugins.evaluation import dataset, measures
from ragstone.plugins.evaluation.dataset import CorpusPassage, read_rows
from ragstone.ports import Adapters
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings

SETS = ("hotpotqa", "musique", "rgb/zh_int", "graphrag_bench_medical")

CREATIVE = "Creative Generation"

WINDOW = 1_000
"""Characters of a text for which the rarity of a word is counted, about a chunk."""


@dataclass(frozen=True, slots=True)
class Needing:
    """A question and what it needs: of each of `parts` a document, or the words of its answer,
    by their weights."""

    text: str
    parts: tuple[frozenset[str], ...] = ()
    words: Mapping[str, float] | None = None

    def recall(self, hits: Sequence[Hit], most: int) -> float:
        """Return the share of it that the first documents, or the first chunks, hold."""
        if self.words is not None:
            held = content_word_set(" ".join(hit.chunk.text for hit in hits[:most]))
            return sum(weight for word, weight in self.words.items() if word in held) / sum(
                self.words.values()
            )
        first = _documents(hits)[:most]
        return fmean(any(item in part for item in first) for part in self.parts)

    def ndcg(self, hits: Sequence[Hit]) -> float:
        """nDCG@10 of the documents of all parts."""
        return measures.ndcg(_documents(hits), frozenset[str]().union(*self.parts), 10)


@dataclass(frozen=True, slots=True)
class Found:
    """What one way of searching found: the mean recall among the first so many, nDCG@10 where
    passages are marked, and the seconds of each search."""

    recall: Mapping[int, float]
    ndcg: float | None
    seconds: Sequence[float]


async def ask_all(
    adapters: Adapters,
    collection: str,
    settings: Settings,
    asked: Sequence[Needing],
    strategy: Strategy | None,
    top_k: int,
    depths: Sequence[int],
) -> Found:
    """Ask every question; a strategy that is named is measured without reranking."""
    options = SearchOptions() if strategy is None else SearchOptions(rerank=False)
    base = Ask("warm", collection=collection, strategy=strategy, top_k=top_k, wanted=options)
    hits, seconds = [], []
    async with aclosing(Engine(adapters, Recipes(settings).search_recipe)) as engine:
        await engine.answer(replace(base, cache=False))
        for question in asked:
            started = time.perf_counter()
            turn = await engine.answer(replace(base, question=question.text, cache=False))
            seconds.append(time.perf_counter() - started)
            hits.append(turn.hits)
    pairs = list(zip(asked, hits, strict=True))
    recall = {at: fmean(item.recall(some, at) for item, some in pairs) for at in depths}
    marked = all(needing.parts for needing in asked)
    ndcg = fmean(item.ndcg(some) for item, some in pairs) if marked else None
    return Found(recall, ndcg, seconds)


def without_hops(settings: Settings) -> Settings:
    """Return the settings without the part `multi_hop` of the stage `rerank`."""
    return settings.model_copy(update={"stages": {"rerank": {"seeds": 0}}})


def limit() -> int:
    """Return questions of a set that are asked at most."""
    return int(os.environ.get("BENCH_QUESTIONS", "300"))


def corpus(directory: Path) -> list[CorpusPassage]:
    """Return the passages of a set: with BENCH_PASSAGES so many of them, first those that its
    questions need."""
    every = dataset.corpus(directory)
    most = int(os.environ.get("BENCH_PASSAGES", len(every)))
    asked = questions(directory, every)
    needed = {id for needing in asked for part in needing.parts for id in part}
    kept = sorted(range(len(every)), key=lambda place: every[place].id not in needed)[:most]
    return [every[place] for place in sorted(kept)]


def questions(directory: Path, corpus: Sequence[CorpusPassage]) -> list[Needing]:
    """Return the questions of the dev side, evenly spread where they are more than the limit."""
    rows = list(read_rows(dataset.dataset_file(directory / "dev", "queries")))
    rows = [row for row in rows if row.get("type") != CREATIVE]
    marked = any(row.get("relevant") for row in rows)
    rarity: Mapping[str, float] = {} if marked else _rarity(corpus)
    asked = (_needing(row, rarity) for row in dataset.spread(rows, limit()))
    return [item for item in asked if item.parts or item.words]


def _needing(row: Mapping[str, object], rarity: Mapping[str, float]) -> Needing:
    text = str(row["query"])
    groups = row.get("relevant_groups") or [[item] for item in _list(row.get("relevant"))]
    if groups:
        return Needing(text, tuple(frozenset(map(str, _list(item))) for item in _list(groups)))
    answers = " ".join(map(str, _list(row.get("answers"))))
    new = content_word_set(answers) - content_word_set(text)
    # What the text never says, the answer puts in words of its own: no passage can hold it.
    return Needing(text, words={word: rarity[word] for word in new if word in rarity})


def _documents(hits: Sequence[Hit]) -> list[str]:
    return list(dict.fromkeys(hit.chunk.document_id for hit in hits))


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _rarity(corpus: Sequence[CorpusPassage]) -> dict[str, float]:
    """Tell how rare each word of the texts is."""
    pieces = [
        passage.text[start : start + WINDOW]
        for passage in corpus
        for start in range(0, len(passage.text), WINDOW)
    ]
    held = Counter(word for piece in pieces for word in content_word_set(piece))
    return {word: math.log(1 + len(pieces) / count) for word, count in held.items()}
