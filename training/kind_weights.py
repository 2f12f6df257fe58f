"""Make `verify/data/kinds.npz`: `python -m training.kind_weights`.

Two logistic regressions for each kind. The first tells its sentences from all others by the
embedder's numbers and pieces of characters. It learns from `statement_kinds.json` (sentences of our
own in twelve languages, whole ones and put together from parts) and sentences of xquad, read from
RAGSTONE_EVAL_DATA. The second makes a likelihood of that. For what the sources lack it adds how
little the sentence answers its question, and learns from the replies in the same file; for the
others it learns from what the first says of languages that it did not see. How well sentences of
such a language are told is printed.
"""

import asyncio
import gzip
import json
import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.evaluation.measures import auroc
from ragstone.language.markers import bare, cited_sentences
from ragstone.language.sentences import sentences
from ragstone.models.multilingual import MultilingualE5
from ragstone.reader.local import LocalReader
from ragstone.verify.statement_kinds import KINDS, WEIGHTS, read_answering, read_numbers
from training.logistic import fitted

Floats = NDArray[np.float64]

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
MOST = 600
"""Directions in which weights are fitted."""

FOLDS = 4
"""Groups of languages, each of which is told by what the others teach."""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence, its kind ("" for a claim), its language and its weight."""

    text: str
    kind: str
    language: str
    weight: float = 1.0


def examples() -> Iterator[Example]:
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
                    yield from (Example(text.format(topic), kind, language) for topic in some)
                else:
                    yield Example(text, kind, language, weight)
        yield from (Example(topic, "", language, 0.5) for topic in topics)
        for who, what, kind in (
            ("sources", "say_nothing", "gap"),
            ("people", "do_not", ""),
            ("sources", "differ", "disagreement"),
            ("people", "disagree", ""),
        ):
            for _ in range(COMPOSED):
                yield Example(compose(language, held, who, what, chance), kind, language)
    for language in FOREIGN:
        file = eval_data() / "xquad" / language / "corpus.jsonl.gz"
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line, _ in zip(lines, range(60), strict=False)]
        said = [text[span.start : span.end] for text in texts for span in sentences(text)]
        yield from (Example(text, "", language) for text in chance.sample(said, STRANGERS))


def compose(
    language: str, held: dict[str, Any], who: str, what: str, chance: random.Random
) -> str:
    """Return a sentence of a subject and what it does or does not; a third has more about it."""
    space = "" if language in UNSPACED else " "
    done = chance.choice(held[what]).format(chance.choice(held["topics"]))
    text = chance.choice(held[who]) + space + done
    if chance.random() < 1 / 3:
        text = chance.choice(held["openings"]) + text
    if what == "say_nothing" and chance.random() < 1 / 3:
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

    def fit(self, kind: str, without: Collection[str] = ()) -> Floats:
        """Return the weights of the numbers for a kind, learned without some languages."""
        used = np.array([one.language not in without for one in self._given])
        right = np.array([one.kind == kind for one in self._given], np.float64)[used]
        mass = np.array([one.weight for one in self._given])[used]
        for side in (0, 1):
            mass[right == side] *= EACH / mass[right == side].sum()
        weights = fitted(self._within[used], right, mass, DECAY)
        return weights @ self._basis[:, :-1] * self._factors

    def unseen(self, kind: str, rows: Floats) -> Floats:
        """Return what the weights of all other languages say of each example."""
        languages = np.array([one.language for one in self._given])
        said = np.zeros(len(rows))
        names = list(dict.fromkeys(languages.tolist()))
        for fold in range(FOLDS):
            own = np.isin(languages, names[fold::FOLDS])
            said[own] = (rows[own] - self.mean) @ self.fit(kind, names[fold::FOLDS])
        return said


def first_sentence(reply: str) -> str:
    return bare(next(text for text, _ in cited_sentences(reply)))


async def fit_gaps(weights: Floats, mean: Floats, embedder: MultilingualE5) -> Floats:
    """Return what makes a likelihood that the sources lack something, learned from replies."""
    reader = LocalReader()
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
    print(f"replies: {found} of {int(right.sum())} gaps, {false} of {int((1 - right).sum())} false")
    return fitted(columns, right, mass, SECOND_DECAY)


async def main() -> None:
    given = [Example(bare(x.text), x.kind, x.language, x.weight) for x in examples()]
    embedder = MultilingualE5()
    rows = await read_numbers(embedder, [one.text for one in given])
    space = Space(rows, given)
    sentence, together = [], []
    for kind in KINDS:
        weights = space.fit(kind)
        right = np.array([one.kind == kind for one in given])
        said = space.unseen(kind, rows)
        columns = np.stack([said, np.zeros(len(said)), np.ones(len(said))], axis=1)
        mass = np.array([one.weight for one in given])
        apart = fitted(columns, right.astype(np.float64), mass, SECOND_DECAY)
        likely = columns @ apart > 0
        print(
            f"{kind}: AUROC {auroc(said.tolist(), right.tolist()):.4f} in unseen languages, "
            f"{likely[right].mean():.3f} found, {likely[~right].mean():.3f} false"
        )
        sentence.append(weights)
        together.append(await fit_gaps(weights, space.mean, embedder) if kind == "gap" else apart)
    np.savez_compressed(
        str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}")),
        sentence=np.stack(sentence).astype(np.float16),
        together=np.stack(together).astype(np.float32),
        mean=space.mean.astype(np.float16),
    )


if __name__ == "__main__":
    asyncio.run(main())
