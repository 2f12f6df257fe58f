"""Make `verify/data/gaps.npz`: `python -m training.gap_weights`.

Two logistic regressions. The first tells statements that sources lack something from claims, above
all ones that deny ("The law does not mention dogs"), and from courtesies, by the embedder's numbers
and pieces of characters. It learns from `gap_statements.json` (sentences of our own in eleven
languages, whole ones and put together from parts) and sentences of xquad, read from
RAGSTONE_EVAL_DATA. The second adds how little the sentence answers its question; it learns from the
replies in the same file, and how well it tells those of a language that it did not see is printed.
"""

import asyncio
import gzip
import json
import random
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.language.markers import bare, cited_sentences
from ragstone.language.sentences import sentences
from ragstone.models.multilingual import MultilingualE5
from ragstone.reader.local import LocalReader
from ragstone.verify.gap_statements import WEIGHTS, read_answering, read_numbers
from training.logistic import fitted

Floats = NDArray[np.float64]

STATEMENTS = Path(__file__).parent / "gap_statements.json"
TOPICS = 4
"""Topics that a sentence with a blank is written with."""

COMPOSED = 60
"""Sentences of each kind that are put together in a language."""

FOREIGN = ("en", "de", "es", "zh", "ru")
STRANGERS = 80
"""Sentences of strangers in each of these languages."""

UNSPACED = ("zh", "ja", "ko")
SCALE = 20.0
"""The root mean square distance from the mean of either kind of numbers, which `DECAY` is for."""

DECAY, SECOND_DECAY = 1.0, 0.1
EACH = 500.0
"""What gaps weigh together, and what all else does."""

DIMENSIONS = 384

Example = tuple[str, bool, float]
"""A sentence, whether it is a gap, and its weight."""


def examples() -> Iterator[Example]:
    chance = random.Random(1)
    for language, held in json.loads(STATEMENTS.read_text(encoding="utf-8")).items():
        topics = held["topics"]
        for kind, weight in (("gaps", 3.0), ("claims", 3.0), ("others", 2.0)):
            for text in held[kind]:
                if "{}" in text:
                    some = chance.sample(topics, min(TOPICS, len(topics)))
                    yield from ((text.format(topic), kind == "gaps", 1.0) for topic in some)
                else:
                    yield text, kind == "gaps", weight
        yield from ((topic, False, 0.5) for topic in topics)
        for _ in range(COMPOSED):
            yield compose(language, held, held["sources"], held["say_nothing"], chance), True, 1.0
            yield compose(language, held, held["people"], held["do_not"], chance), False, 1.0
    for language in FOREIGN:
        file = eval_data() / "xquad" / language / "corpus.jsonl.gz"
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line, _ in zip(lines, range(60), strict=False)]
        said = [text[span.start : span.end] for text in texts for span in sentences(text)]
        yield from ((text, False, 1.0) for text in chance.sample(said, STRANGERS))


def compose(
    language: str, held: dict[str, Any], who: list[str], what: list[str], chance: random.Random
) -> str:
    """Return a sentence of a subject and what it does not do; a third has more about it."""
    space = "" if language in UNSPACED else " "
    text = chance.choice(who) + space + chance.choice(what).format(chance.choice(held["topics"]))
    if chance.random() < 1 / 3:
        text = chance.choice(held["openings"]) + text
    if what is held["say_nothing"] and chance.random() < 1 / 3:
        text += chance.choice(held["endings"])
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".。" else text + ("。" if language in ("zh", "ja") else ".")


def scale_numbers(rows: Floats) -> tuple[Floats, Floats]:
    """Return the means of the columns, and what each is multiplied with to make either kind of
    numbers as far from its mean as `SCALE` says."""
    mean = rows.mean(axis=0)
    away = ((rows - mean) ** 2).sum(axis=0) / len(rows)
    factors = np.empty(rows.shape[1])
    for part in (slice(0, DIMENSIONS), slice(DIMENSIONS, None)):
        factors[part] = SCALE / np.sqrt(away[part].sum())
    return mean, factors


def fit_sentences(rows: Floats, given: list[Example]) -> tuple[Floats, Floats]:
    """Return the weights of the numbers, and the means that are taken from them first. A sum needs
    no constant here: the second regression has one."""
    mean, factors = scale_numbers(rows)
    right = np.array([is_gap for _, is_gap, _ in given], np.float64)
    mass = np.array([weight for *_, weight in given])
    for kind in (0, 1):
        mass[right == kind] *= EACH / mass[right == kind].sum()
    # In the space of the examples: far fewer than the numbers, and the same weights.
    scaled = np.concatenate([(rows - mean) * factors, np.ones((len(rows), 1))], axis=1)
    basis = np.linalg.svd(scaled, full_matrices=False)[2]
    basis = basis[: min(len(basis), len(rows))]
    return fitted(scaled @ basis.T, right, mass, DECAY) @ basis[:, :-1] * factors, mean


def first_sentence(reply: str) -> str:
    return bare(next(text for text, _ in cited_sentences(reply)))


async def main() -> None:
    given = [(bare(text), is_gap, weight) for text, is_gap, weight in examples()]
    embedder, reader = MultilingualE5(), LocalReader()
    rows = await read_numbers(embedder, [text for text, *_ in given])
    weights, mean = fit_sentences(rows, given)
    held = json.loads(STATEMENTS.read_text(encoding="utf-8"))
    replies = [(language, *row) for language, one in held.items() for row in one["replies"]]
    said = [first_sentence(reply) for _, _, reply, _ in replies]
    meant = (await read_numbers(embedder, said) - mean) @ weights
    asked = [(question, text) for (_, question, *_), text in zip(replies, said, strict=True)]
    answering = await read_answering(reader, asked)
    columns = np.stack([meant, answering, np.ones(len(said))], axis=1)
    right = np.array([is_gap for *_, is_gap in replies], np.float64)
    languages = np.array([language for language, *_ in replies])
    mass = np.ones(len(said))
    likely = np.zeros(len(said))
    for language in set(languages.tolist()):
        own = languages == language
        likely[own] = columns[own] @ fitted(columns[~own], right[~own], mass[~own], SECOND_DECAY)
    found, false = (likely[right == 1] > 0).sum(), (likely[right == 0] > 0).sum()
    print(f"{found} of {int(right.sum())} gaps found, {false} of {int((1 - right).sum())} false")
    together = fitted(columns, right, mass, SECOND_DECAY)
    target = str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}"))
    np.savez_compressed(
        target,
        sentence=weights.astype(np.float16),
        together=together.astype(np.float32),
        mean=mean.astype(np.float16),
    )


if __name__ == "__main__":
    asyncio.run(main())
