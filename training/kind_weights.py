"""Make `verify/data/kinds.npz`: `python -m training.kind_weights`.

Two logistic regressions for each kind. The first tells its sentences from all others by the
embedder's numbers and pieces of characters. It learns from `statement_kinds.json` (sentences of our
own in twelve languages, whole ones and put together from parts) and sentences of xquad, read from
RAGSTONE_EVAL_DATA. The second makes a likelihood of what the first says of sentences that it was
fitted without, written with other words, for what the sources lack with what `read_gaps` tells of
a question and a passage. How well these are told is printed.
"""

import asyncio
import gzip
import json
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.language.markers import sentences_with_citations, strip_markers
from ragstone.language.sentences import sentences
from ragstone.models.multilingual import MultilingualE5
from ragstone.plugins.evaluation.measures import auroc
from ragstone.ports import Claim, EvidenceSource
from ragstone.reader.local import LocalReader
from ragstone.verify.checker import ReadingChecker
from ragstone.verify.reading_judge import KINDS, KINDS_FILE, read_gaps, read_numbers
from training.logistic import fit_logistic

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

STATEMENTS = Path(__file__).parent / "statement_kinds.json"
TOPICS = 4
"""Topics that a sentence with a blank is written with."""

COMPOSED = 40
"""Sentences of each kind that are put together in a language."""

FOREIGN = ("en", "de", "es", "zh", "ru", "ar")
STRANGERS = 80
"""Sentences of strangers in each of these languages."""

UNSPACED = ("zh", "ja", "ko")
SCALE = 20.0
"""The root mean square distance from the mean of either kind of numbers, which `DECAY` is for."""

DECAY, SECOND_DECAY = 1.0, 0.1
EACH = 500.0
"""What the sentences of a kind weigh together, and what all else does."""

DIMENSIONS = 384
MOST = 800
"""Directions in which weights are fitted."""

REPLIES = 0.95
"""What replies weigh together of all: the passages beside other sentences are any."""

FOLDS = 4
"""Groups of examples, each of which is told by what the others teach."""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, its kind ("" for a claim), its language and its weight."""

    text: str
    kind: str
    language: str
    weight: float = 1.0
    form: str = ""
    """The words that it was written with."""
    question: str = ""
    passage: str = ""
    """What it stands beside, in languages that have replies."""
    replies: bool = False
    """Whether it is a reply to this question from this passage."""


def examples() -> Iterator[Example]:
    """Yield the sentences. Those that are no replies stand beside any question and passage, what
    the sources lack beside a question that its passage leaves open."""
    held = json.loads(STATEMENTS.read_text(encoding="utf-8"))
    chance = random.Random(2)
    for example in sentences_of_kinds():
        replies = held[example.language]["replies"]
        if replies and not example.replies:
            wanted = [item for item in replies if item[2] or example.kind != "gap"]
            question, _, _, passage = chance.choice(wanted)
            example = replace(example, question=question, passage=passage)
        yield example


def sentences_of_kinds() -> Iterator[Example]:
    chance = random.Random(1)
    for language, held in json.loads(STATEMENTS.read_text(encoding="utf-8")).items():
        topics = held["topics"]
        for name, kind, weight in (
            ("gaps", "gap", 3.0),
            ("disagreements", "disagreement", 3.0),
            ("announcements", "announcement", 3.0),
            ("claims", "", 3.0),
        ):
            for text in held[name]:
                if "{}" in text:
                    some = chance.sample(topics, min(TOPICS, len(topics)))
                    for topic in some:
                        yield Example(text.format(topic), kind, language, form=text)
                else:
                    yield Example(text, kind, language, weight, form=text)
        yield from (Example(topic, "", language, 0.5, form=topic) for topic in topics)
        for question, reply, is_gap, passage in held["replies"]:
            kind = "gap" if is_gap else ""
            begins = first_sentence(reply)
            yield Example(begins, kind, language, 3.0, reply, question, passage, replies=True)
        for who, what, kind in (
            ("sources", "say_nothing", "gap"),
            ("people", "do_not", ""),
            ("sources", "differ", "disagreement"),
            ("people", "disagree", ""),
        ):
            for _ in range(COMPOSED):
                text, form = compose(language, held, who, what, chance)
                yield Example(text, kind, language, form=form)
    for language in FOREIGN:
        file = eval_data() / "xquad" / language / "corpus.jsonl.gz"
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line, _ in zip(lines, range(60), strict=False)]
        said = [text[span.start : span.end] for text in texts for span in sentences(text)]
        some = chance.sample(said, STRANGERS)
        yield from (Example(text, "", language, form=text) for text in some)


def compose(
    language: str, held: dict[str, Any], who: str, what: str, chance: random.Random
) -> tuple[str, str]:
    """Return a sentence of a subject and what it does or does not, and the words for that; a third
    has more about it."""
    space = "" if language in UNSPACED else " "
    form: str = chance.choice(held[what])
    text = chance.choice(held[who]) + space + form.format(chance.choice(held["topics"]))
    if chance.random() < 1 / 3:
        text = chance.choice(held["openings"]) + text
    if what == "say_nothing" and chance.random() < 1 / 3:
        text += chance.choice(held["endings"])
    text = text[0].upper() + text[1:]
    ended = text if text[-1] in ".。" else text + ("。" if language in ("zh", "ja") else ".")
    return ended, form


def scale_numbers(rows: Floats) -> tuple[Floats, Floats]:
    """Return the means of the columns, and what each is multiplied with to make either kind of
    numbers as far from its mean as `SCALE` says."""
    mean = rows.mean(axis=0)
    away = ((rows - mean) ** 2).sum(axis=0) / len(rows)
    factors = np.empty(rows.shape[1])
    for part in (slice(0, DIMENSIONS), slice(DIMENSIONS, None)):
        factors[part] = SCALE / np.sqrt(away[part].sum())
    return mean, factors


def main_directions(rows: Floats) -> Floats:
    """Return the `MOST` directions in which the rows differ most, nearly."""
    start = np.random.default_rng(1).standard_normal((rows.shape[1], MOST))
    within = np.linalg.qr(rows @ start)[0]
    for _ in range(2):
        within = np.linalg.qr(rows @ (rows.T @ within))[0]
    found: Floats = np.linalg.svd(within.T @ rows, full_matrices=False)[2]
    return found


class Space:
    """The `MOST` directions in which the examples differ most: a regression is fitted in them. A
    sum needs no constant here, as the second regression has one."""

    def __init__(self, rows: Floats, given: list[Example]) -> None:
        self.mean, self._factors = scale_numbers(rows)
        self._given = given
        scaled = np.concatenate([(rows - self.mean) * self._factors, np.ones((len(rows), 1))], 1)
        self._basis = main_directions(scaled)
        self._within = scaled @ self._basis.T

    def fit(self, kind: str, without: Flags | None = None) -> Floats:
        """Return the weights of the numbers for a kind, learned without some examples."""
        used = np.ones(len(self._given), np.bool_) if without is None else ~without
        right = np.array([item.kind == kind for item in self._given], np.float64)[used]
        mass = np.array([item.weight for item in self._given])[used]
        for side in (0, 1):
            mass[right == side] *= EACH / mass[right == side].sum()
        weights = fit_logistic(self._within[used], right, mass, DECAY)
        return weights @ self._basis[:, :-1] * self._factors

    def unseen(self, kind: str, rows: Floats, folds: Sequence[Flags]) -> Floats:
        """Return what the weights that are learned without its fold say of each example in one."""
        said = np.zeros(len(rows))
        for own in folds:
            said[own] = (rows[own] - self.mean) @ self.fit(kind, own)
        return said


def first_sentence(reply: str) -> str:
    return strip_markers(next(text for text, _ in sentences_with_citations(reply)))


async def read_beside(reader: LocalReader, example: Example) -> Floats:
    """Return what `read_gaps` tells of a sentence beside its question and passage."""
    source = EvidenceSource(example.passage)
    supports = await ReadingChecker(reader).support([Claim(example.text, (0,))], [source])
    found = await read_gaps(reader, example.question, [example.text], supports, [example.passage])
    row: Floats = found[0]
    return row


def folds_of(given: Sequence[Example], used: Flags) -> list[Flags]:
    """Return which examples are in each group of those that are used; what was written with the
    same words is in one."""
    numbers = np.array([zlib.crc32(example.form.encode()) % FOLDS for example in given])
    return [used & (numbers == fold) for fold in range(FOLDS)]


async def main() -> None:
    given = [replace(example, text=strip_markers(example.text)) for example in examples()]
    embedder, reader = MultilingualE5(), LocalReader()
    rows = await read_numbers(embedder, [item.text for item in given])
    space = Space(rows, given)
    beside = np.array([bool(item.question) for item in given])
    replies = np.array([item.replies for item in given])
    kinds = np.array([item.kind for item in given])
    gaps = np.zeros((len(given), 3))
    gaps[beside] = [await read_beside(reader, item) for item in given if item.question]
    sentence, together = [], []
    for kind in KINDS:
        used = beside & np.isin(kinds, ("gap", "")) if kind == "gap" else ~replies
        folds = folds_of(given, used)
        said = space.unseen(kind, rows, folds)
        told = gaps if kind == "gap" else 0 * gaps
        columns = np.column_stack([said, told, np.ones(len(said))])
        right = kinds[used] == kind
        mass = np.where(replies[used], REPLIES, 1 - REPLIES)
        for side, is_reply in product((False, True), (False, True)):
            group = (right == side) & (replies[used] == is_reply)
            mass[group] /= max(np.mean(group), 1e-9)
        weights = fit_logistic(columns[used], right.astype(np.float64), mass, SECOND_DECAY)
        odds = columns[used] @ weights
        print(
            f"{kind}: of {len(odds)} not learned from, AUROC "
            f"{auroc(odds.tolist(), right.tolist()):.4f}, {(odds[right] > 0).mean():.3f} found, "
            f"{(odds[~right] > 0).mean():.3f} false"
        )
        sentence.append(space.fit(kind))
        together.append(weights)
    np.savez_compressed(
        str(files("ragstone.verify").joinpath(f"data/{KINDS_FILE}")),
        sentence=np.stack(sentence).astype(np.float16),
        together=np.stack(together).astype(np.float32),
        mean=space.mean.astype(np.float16),
    )


if __name__ == "__main__":
    asyncio.run(main())
