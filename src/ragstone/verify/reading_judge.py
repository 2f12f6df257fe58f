"""Whether an answer is what was asked: question and answer are read together.

The reader sees two things: whether the answer, taken as a passage, answers the question, and
whether the cited sources support the two together, as they would a statement. The first knows
sentences and the second short answers ("1871"). Both are weighed with `data/judge.json`, which
`python -m training.judge_weights` makes.
"""

import asyncio
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ragstone.core.answer import StatementKind, log_odds, probability
from ragstone.core.turn import Ask, Passage
from ragstone.language.markers import strip_markers
from ragstone.language.sentences import sentences
from ragstone.ports import Checker, Claim, Embedder, EvidenceSource, Pair, PairReader, Support


@cache
def load_weights(file: str, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the weights of `names` in a JSON file that a script of `training` has made."""
    text = files("ragstone.verify").joinpath(f"data/{file}").read_text(encoding="utf-8")
    held = json.loads(text)
    return tuple(float(held[name]) for name in names)


KINDS_FILE = "kinds.npz"

KINDS: tuple[StatementKind, ...] = ("gap", "disagreement", "announcement")
"""The kinds, in the order of the weights."""

BUCKETS = 4096
"""Numbers that all pieces of characters share."""

PIECES = (2, 3, 4, 5)
"""Characters of a piece."""

MIN_PROBABILITY = 1e-4
"""Probabilities nearer to 0 or 1 than this count as this."""

LIKELY = {"gap": 0.5, "disagreement": 0.8, "announcement": 0.5}
"""The likelihood from which a sentence may be of a kind."""

SUPPORT, MARGIN = 1.5, 1.0
"""What the log-odds that a source supports a sentence count against those that it is of another
kind than a gap, and how much more these must be."""

MAX_ASKED = 3
"""Passages, the best first, of which is read whether they answer the question."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KindWeights:
    """Of the embedder's numbers and the pieces (384 + `BUCKETS` of each of `KINDS`), what makes a
    likelihood of the sum of these (5 for each: of the sum, of what
    `read_gaps` returns, a constant),
    and the means that are taken from the numbers first."""

    sentence: Floats
    together: Floats
    mean: Floats


@cache
def load_kind_weights() -> KindWeights:
    with np.load(str(files("ragstone.verify").joinpath(f"data/{KINDS_FILE}"))) as held:
        return KindWeights(*(held[n].astype(np.float64) for n in ("sentence", "together", "mean")))


async def read_gaps(
    reader: PairReader,
    question: str,
    sentences: Sequence[str],
    supports: Sequence[Support],
    passages: Sequence[str],
) -> Floats:
    """Return what tells of each sentence whether it says that the passages lack what was asked, in
    log-odds (sentences, 3): that it answers the question, that a passage does, and that the passage
    which supports it most says neither it nor otherwise, 0 at most: what is surely not said may be
    made up as well."""
    read = await read_answering(
        reader, [(question, text) for text in (*sentences, *passages[:MAX_ASKED])]
    )
    answering, answerable = read[: len(sentences)], read[len(sentences) :]
    unsaid = np.array([min(log_odds(item.unsaid, MIN_PROBABILITY), 0.0) for item in supports])
    known = np.full_like(answering, answerable.max(initial=log_odds(0.0, MIN_PROBABILITY)))
    return np.stack([answering, known, unsaid], axis=1)


async def kind_likelihoods(
    embedder: Embedder,
    reader: PairReader,
    question: str,
    sentences: Sequence[str],
    supports: Sequence[Support],
    passages: Sequence[str],
) -> list[dict[StatementKind, float]]:
    """Return how likely (0..1) each sentence of an answer to `question` is of each kind, the one
    first that its meaning and spelling are most of.

    A gap says that the sources lack something ("They do not say why"), a disagreement that they
    disagree; an announcement says what follows, offers help or heads a part. Each is recognised by
    its meaning (the vector of `embedder`, multilingual-e5-small, of which the weights are) and its
    spelling, a gap also by what the passages say of the question (`read_gaps`).
    `python -m training.kind_weights` makes `data/kinds.npz` from sentences in twelve languages.
    """
    if not sentences:
        return []
    weights = load_kind_weights()
    numbers = await read_numbers(embedder, sentences)
    gaps = await read_gaps(reader, question, sentences, supports, passages)
    meant = (numbers - weights.mean) @ weights.sentence.T
    constant = np.ones(len(sentences))
    found = [
        np.column_stack([meant[:, kind], gaps, constant]) @ weights.together[kind]
        for kind in range(len(KINDS))
    ]
    rows = np.stack(found, axis=1).tolist()
    orders = (-meant).argsort(axis=1).tolist()
    return [
        {KINDS[kind]: probability(row[kind]) for kind in order}
        for row, order in zip(rows, orders, strict=True)
    ]


def choose_kind(likely: dict[StatementKind, float], supported: float) -> StatementKind | None:
    """Return the kind of a sentence, None if it claims something, by how likely it is of each and
    how likely the sources support it."""
    needed = SUPPORT * log_odds(supported, MIN_PROBABILITY) + MARGIN
    return next(
        (
            kind
            for kind, share in likely.items()
            if share >= LIKELY[kind]
            and (kind == "gap" or log_odds(share, MIN_PROBABILITY) > needed)
        ),
        None,
    )


async def read_numbers(embedder: Embedder, sentences: Sequence[str]) -> Floats:
    """Return the embedder's numbers of each sentence, and those of its pieces."""
    vectors = await embedder.embed_passages(sentences)
    pieces = await asyncio.to_thread(lambda: np.stack([count_pieces(text) for text in sentences]))
    return np.concatenate([np.asarray(vectors, np.float64), pieces], axis=1)


async def read_answering(reader: PairReader, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Return the log-odds that each sentence answers its question."""
    read = await reader.read([Pair(asked, text, question=True) for asked, text in pairs])
    return np.array([log_odds(reading.answers, MIN_PROBABILITY) for reading in read])


def count_pieces(text: str) -> Floats:
    """Return the root of how often each bucket's pieces stand in `text`, of length 1; digits are
    all alike."""
    counts = np.zeros(BUCKETS)
    said = f" {re.sub(r'[0-9]', '0', text.casefold())} "
    for size in PIECES:
        for start in range(len(said) - size + 1):
            counts[zlib.crc32(said[start : start + size].encode()) % BUCKETS] += 1
    counts = np.sqrt(counts)
    found: Floats = counts / max(float(np.linalg.norm(counts)), 1.0)
    return found


WEIGHTS = "judge.json"
NAMES = ("answers", "supported", "constant")
"""Of the weights: of the two log-odds, and what is added to them."""

MAX_STATEMENT_CHARS = 400
"""Characters of an answer that are read as a statement, in whole sentences: a reader's claim is
short."""


class ReadingJudge:
    """`ports.AnswerJudge`; `embedder` is multilingual-e5-small."""

    def __init__(self, reader: PairReader, checker: Checker, embedder: Embedder) -> None:
        self._reader = reader
        self._checker = checker
        self._embedder = embedder

    async def answers(self, ask: Ask, said: str, passages: Sequence[Passage]) -> float:
        if not passages:
            return 0.0
        sources = [EvidenceSource(p.text, p.hit.chunk.heading, p.blocks) for p in passages]
        read = await self.read(ask.question, said, sources)
        return probability(sum(map(mul, load_weights(WEIGHTS, NAMES), (*read, 1.0))))

    async def read_answering(self, question: str, sentences: Sequence[str]) -> Sequence[float]:
        pairs = [(question, sentence) for sentence in sentences]
        return list((await read_answering(self._reader, pairs)).tolist())

    async def kinds(
        self,
        question: str,
        sentences: Sequence[str],
        supports: Sequence[Support],
        passages: Sequence[str],
    ) -> list[StatementKind | None]:
        likely = await kind_likelihoods(
            self._embedder, self._reader, question, sentences, supports, passages
        )
        return list(map(choose_kind, likely, (support.probability for support in supports)))

    async def read(
        self, question: str, said: str, sources: Sequence[EvidenceSource]
    ) -> tuple[float, float]:
        """Return the log-odds that `said` answers the question, and that the sources support the
        two together."""
        text = strip_markers(said)
        statement = await asyncio.to_thread(_cut_statement, text)
        cited = tuple(range(len(sources)))
        [answering] = (await read_answering(self._reader, [(question, text)])).tolist()
        [support] = await self._checker.support([Claim(f"{question} {statement}", cited)], sources)
        return answering, log_odds(support.probability, MIN_PROBABILITY)


def _cut_statement(text: str) -> str:
    """Return the sentences that end within `MAX_STATEMENT_CHARS` characters, at least the first."""
    spans = sentences(text)
    ends = [span.end for span in spans if span.end <= MAX_STATEMENT_CHARS]
    return text[: ends[-1] if ends else MAX_STATEMENT_CHARS]
