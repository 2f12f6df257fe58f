"""Which reading of a question over a table is meant, by weights that were learned.

`python -m training.table_weights` makes `data/readings.npz`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ragstone.core.answer import log_odds, probability
from ragstone.language.language import detect
from ragstone.plugins.tables.linking import Floats, Linker, TableIndex, list_texts
from ragstone.plugins.tables.question_text import QuestionText, read_question_text
from ragstone.plugins.tables.readings import Outcome, Readings, TableReading
from ragstone.plugins.tables.saying import describe_reading
from ragstone.plugins.tables.table_question import OPERATIONS, Condition
from ragstone.ports import AnswerJudge, Embedder
from ragstone.retrieve.typed_table import TypedTable
from ragstone.verify.reading_judge import MIN_PROBABILITY, count_pieces

CLASSES = (*OPERATIONS, "yes or no")
VECTOR_SCALE, PIECES_SCALE = 8.0, 2.0
"""What makes the vector of a question and its counted pieces weigh alike where both are learned
from (`training.table_weights`)."""

MIN_OPERATION = 1e-4
"""Likelihoods of an operation below this count as this."""


MIN_ASKED = 0.2
"""The likelihood that rows are asked from which tables are looked at."""

MIN_LIKELIHOOD = 0.6
"""The likelihood from which an answer is given."""

MIN_COMPUTED = 0.8
"""The likelihood from which what is asked is told by no single row: of questions for a cell of half
B of `benchmarks.table_questions` 6 in 100 are taken for such, of those that compute 77."""

SHOWN_BY_ROWS = ("cell", "list")
"""Operations whose outcome stands in the rows as they are."""

MAX_TABLES = 3
BEST = 8
"""The readings whose sentences are read."""


@dataclass(frozen=True)
class ReadingWeights:
    """What makes the log-odds of each of CLASSES of the numbers of a question; the score of a
    reading of its features, and that of none; and the log-odds that the likeliest is right of its
    own and of how well its sentence answers."""

    operations: Floats
    readings: Floats
    none: float
    right: Floats


@dataclass(frozen=True, slots=True)
class LikelyReading:
    """A reading, and how likely what it comes to is what is asked."""

    reading: TableReading
    likelihood: float


@cache
def load_reading_weights() -> ReadingWeights:
    with np.load(str(files(__package__).joinpath("data/readings.npz"))) as held:
        operations, readings, none, right = (
            held[name].astype(np.float64) for name in ("operations", "readings", "none", "right")
        )
        return ReadingWeights(operations, readings, float(none), right)


@dataclass(frozen=True, slots=True)
class TableChoice:
    """What a question surely asks of the rows of a table, None where that is not clear; `computes`
    says whether it surely asks for what no single row tells."""

    choice: LikelyReading | None
    computes: bool


async def weigh_rows(question: str, embedder: Embedder) -> float:
    """Tell how likely a question asks for something that is computed over rows."""
    [vector] = await embedder.embed_queries([question])
    numbers = question_numbers(question, np.asarray(vector, np.float64))
    likely = read_operations(numbers, load_reading_weights().operations)
    return float(1 - np.exp(likely["cell"]) - np.exp(likely["yes or no"]))


async def choose_reading(
    question: str, tables: Sequence[TypedTable], embedder: Embedder, judge: AnswerJudge | None
) -> TableChoice:
    """Return what the question asks of the rows of one of the tables.

    The vectors find what may be asked, and the sentences in which the likeliest would be answered
    are read beside the question."""
    text = read_question_text(question)
    indexes = await asyncio.to_thread(lambda: [TableIndex(table) for table in tables[:MAX_TABLES]])
    texts = list_texts(text, indexes)
    found = np.asarray(await embedder.embed_queries(texts), np.float64)
    vectors = dict(zip(texts, found, strict=True))
    ranked, computes = await asyncio.to_thread(_rank_tables, text, indexes, vectors)
    best = ranked[:BEST]
    if not best or judge is None:
        return TableChoice(None, computes)
    language = detect(question)
    sentences = await asyncio.to_thread(
        lambda: [describe_reading(choice.reading.asked, language) for choice in best]
    )
    answering = await judge.read_answering(question, sentences)
    weights = load_reading_weights().right
    sure = [
        LikelyReading(
            choice.reading, probability(float(weights @ right_numbers(choice.likelihood, read)))
        )
        for choice, read in zip(best, answering, strict=True)
    ]
    chosen = max(sure, key=lambda choice: choice.likelihood)
    is_sure = chosen.likelihood >= MIN_LIKELIHOOD and chosen.reading.is_computed
    return TableChoice(chosen if is_sure else None, computes)


def _rank_tables(
    text: QuestionText, indexes: Sequence[TableIndex], vectors: Mapping[str, Floats]
) -> tuple[list[LikelyReading], bool]:
    """Return the readings over all tables, best first, and whether something is surely computed: by
    the question alone, and by those of its readings that are likely."""
    weights = load_reading_weights()
    numbers = question_numbers(text.text, vectors[text.text])
    operations = read_operations(numbers, weights.operations)
    found, scores = list[TableReading](), [np.empty(0)]
    for index in indexes:
        readings = Readings(text, index, Linker(text, index, vectors))
        own = readings.list_all()
        found += own
        scores.append(readings.describe(own, operations) @ weights.readings)
    ranked = rank_readings(found, np.concatenate(scores), weights.none)
    shown = sum(c.likelihood for c in ranked if c.reading.asked.operation in SHOWN_BY_ROWS)
    every = sum(choice.likelihood for choice in ranked)
    asked = 1 - sum(np.exp(operations[name]) for name in (*SHOWN_BY_ROWS, "yes or no"))
    return ranked, bool(asked >= MIN_COMPUTED and every and 1 - shown / every >= MIN_COMPUTED)


def right_numbers(likelihood: float, answering: float) -> Floats:
    """Return what tells whether a reading is right: the log-odds that it is meant, and that its
    sentence answers the question."""
    return np.array([log_odds(likelihood, MIN_PROBABILITY), answering, 1.0])


def question_numbers(question: str, vector: Floats) -> Floats:
    """Return what the operation is read from."""
    pieces = count_pieces(question) * PIECES_SCALE
    return np.concatenate([vector * VECTOR_SCALE, pieces, [1.0]])


def read_operations(numbers: Floats, weights: Floats) -> dict[str, float]:
    """Return the log-likelihood of each of CLASSES."""
    logits = weights @ numbers
    likely = np.exp(logits - logits.max())
    likely = np.maximum(likely / likely.sum(), MIN_OPERATION)
    return dict(zip(CLASSES, np.log(likely).tolist(), strict=True))


def rank_readings(
    readings: Sequence[TableReading], scores: Floats, none: float
) -> list[LikelyReading]:
    """Return the likeliest reading of each outcome, best first. Those that come to the same count
    together, and so do those of the same range: its row says them all."""
    if not readings:
        return []
    likely = np.exp(np.append(scores, none) - max(float(scores.max()), none))
    likely = likely[:-1] / likely.sum()
    shares: dict[tuple[Outcome | tuple[Condition, ...], str], float] = defaultdict(float)
    best: dict[tuple[Outcome | tuple[Condition, ...], str], int] = {}
    for place, share in enumerate(likely.tolist()):
        reading = readings[place]
        comes_to = reading.asked.conditions if reading.by_range else reading.outcome
        outcome = (comes_to, reading.asked.table.name)
        shares[outcome] += share
        if share > likely[best.setdefault(outcome, place)]:
            best[outcome] = place
    chosen = [LikelyReading(readings[best[outcome]], share) for outcome, share in shares.items()]
    return sorted(chosen, key=lambda choice: -choice.likelihood)
