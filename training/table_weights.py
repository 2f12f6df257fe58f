"""Make `plugins/tables/data/readings.npz`: `python -m training.table_weights`.

What a question asks of a table is learned from `table_data/questions.txt`, questions of our own in
five languages by what they ask, from `questions.tsv` beside it, over tables of our own, and from
half A of `benchmarks/data/table_questions`, whose tables `RAGSTONE_PUBLIC_DATA` holds; which
reading is meant, from the latter two. The likelihoods that half A is learned with are those of
weights that have not seen its table. How well half B is read, of which nothing is learned, is
printed. Needs scipy.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from scipy.optimize import minimize

from benchmarks.public.runner import read_lines
from benchmarks.table_questions import DATA, folder
from ragstone.core.chunk import Chunk, chunk_id
from ragstone.core.document import encode_blocks
from ragstone.ingest.chunk import chunk
from ragstone.ingest.formats.types import FORMATS
from ragstone.language.language import detect
from ragstone.models.multilingual import MultilingualE5
from ragstone.plugins.tables.linking import Floats, Linker, TableIndex, list_texts
from ragstone.plugins.tables.question_text import read_question_text
from ragstone.plugins.tables.reading_choice import (
    CLASSES,
    LikelyReading,
    question_numbers,
    rank_readings,
    read_operations,
    right_numbers,
)
from ragstone.plugins.tables.readings import Readings, TableReading
from ragstone.plugins.tables.saying import describe_reading
from ragstone.reader.local import LocalReader
from ragstone.retrieve.typed_table import read_tables
from ragstone.verify.reading_judge import read_answering
from training.logistic import fit_logistic

OWN = Path(__file__).parent / "table_data" / "questions.txt"
FOLDS = 5
OTHERS = 2
"""Other tables over which a question is read too."""

OPERATION_DECAY, READING_DECAY, RIGHT_DECAY = 0.3, 0.3, 0.1
CHUNK, MAX_BYTES = 1200, 100_000_000
BEST = 8
"""Readings of a question whose sentences are read."""

KEYS = {"invoices": "invoice", "staff": "name", "courses": "course", "lakes": "lake"}
"""The column that names the rows of each table of our own."""

Question = dict[str, Any]


@dataclass(frozen=True)
class Read:
    """A question with its readings, their features, and which of them are right."""

    question: Question
    readings: list[TableReading]
    features: Floats
    right: np.ndarray[Any, np.dtype[np.bool_]]


class Vectors:
    """The vectors of texts, each computed once."""

    def __init__(self) -> None:
        self._embedder = MultilingualE5()
        self._loop = asyncio.new_event_loop()
        self.known: dict[str, Floats] = {}

    def add(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            found = self._loop.run_until_complete(self._embedder.embed_queries(new))
            self.known.update(zip(new, np.asarray(found, np.float64), strict=True))


def label(question: Question) -> str:
    """Return which of CLASSES a question asks; empty for one without an answer."""
    sql, kind = (question.get("sql") or "").lower(), question["kind"]
    if question["refuse"]:
        return ""
    if kind == "own":
        kind = "share" if "100.0*" in sql else "difference" if "abs(" in sql else kind
        if "distinct" in sql:
            return "values" if "where" not in sql else "cell"
    if kind in ("share", "difference", "yes_no"):
        return "yes or no" if kind == "yes_no" else kind
    if kind == "distinct":
        return "count" if "count" in sql else "values"
    if "group by" in sql:
        return "rarest" if "limit" in sql and " desc" not in sql else "commonest"
    if re.search(r"order by.*limit", sql):
        return "most" if " desc" in sql else "least"
    function = re.match(r"select (\w+)\(", sql)
    names = {"count": "count", "sum": "sum", "avg": "average", "max": "most", "min": "least"}
    if function:
        return names.get(function[1], "cell")
    if kind == "own":
        return "list" if sql.split()[1] == KEYS[question["table"]] else "cell"
    return "cell" if kind == "lookup" else "list"


def read_tables_of_our_own() -> list[Question]:
    """Questions of our own over tables of our own, in the form of `benchmarks.table_questions`."""
    found = []
    for line in (OWN.parent / "questions.tsv").read_text(encoding="utf-8").splitlines():
        table, text, sql = line.split("\t")
        query = sql.replace(" t", f" '{OWN.parent / table}.csv'", 1)
        rows = duckdb.connect().execute(query).fetchall() if sql else []
        found.append({
            "table": table, "question": text, "language": detect(text), "kind": "own",
            "sql": sql, "answer": rows, "refuse": not sql,
        })  # fmt: skip
    return found


def read_own() -> list[tuple[str, str]]:
    """Return the questions of our own, each with what it asks."""
    found, asked = [], ""
    for line in OWN.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            asked = line.removeprefix("# ")
        elif line:
            found.append((line, asked))
    return found


def fit_classes(rows: Floats, labels: Sequence[int], count: int, decay: float) -> Floats:
    """Return the weights (classes, columns) of a softmax that make the labels likeliest."""
    wanted = np.eye(count)[list(labels)]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(count, -1)
        logits = rows @ weights.T
        logits -= logits.max(axis=1, keepdims=True)
        likely = np.exp(logits)
        likely /= likely.sum(axis=1, keepdims=True)
        missed = -np.log((likely * wanted).sum(axis=1) + 1e-12).sum()
        slope = (likely - wanted).T @ rows + decay * weights
        return missed + decay * (flat @ flat) / 2, slope.ravel()

    start = np.zeros(count * rows.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    weights: Floats = found.x.reshape(count, -1)
    return weights


def fit_readings(questions: Sequence[Read]) -> Floats:
    """Return the weights of features, and at last the score of no reading, that make it likeliest
    that one of the right readings is chosen, and none where there is no right one."""
    known = [item for item in questions if item.readings]
    width = known[0].features.shape[1] + 1
    none = np.eye(1, width, width - 1)
    rows = np.vstack([
        np.vstack([np.pad(item.features, ((0, 0), (0, 1))), none]) for item in known
    ])  # fmt: skip
    right = np.concatenate([np.append(item.right, not item.right.any()) for item in known])
    starts = np.cumsum([0, *(len(item.readings) + 1 for item in known)])

    def loss(weights: Floats) -> tuple[Any, Floats]:
        scores, missed = rows @ weights, 0.0
        slope = np.zeros(len(scores))
        for start, end in pairwise(starts):
            likely = np.exp(scores[start:end] - scores[start:end].max())
            likely /= likely.sum()
            share = likely[right[start:end]].sum() + 1e-12
            missed -= np.log(share)
            slope[start:end] = likely - likely * right[start:end] / share
        return missed + READING_DECAY * (weights @ weights) / 2, (
            rows.T @ slope + READING_DECAY * weights
        )

    options = {"maxiter": 300}
    found = minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B", options=options)
    weights: Floats = found.x
    return weights


def cut_file(file: Path) -> list[Chunk]:
    """Return the chunks of a CSV file as it is ingested."""
    parsed = FORMATS.get("csv").parse(file, ".csv", MAX_BYTES)
    return [
        Chunk(
            chunk_id(file.name, 1, number), file.name, 1, number, piece.text, file.stem,
            f"/{file.name}", "default", "default", piece.start, piece.end, piece.page,
            piece.section, piece.kind, detect(piece.text), layout=encode_blocks(piece.blocks),
        )
        for number, piece in enumerate(chunk(parsed.blocks, CHUNK, CHUNK // 8))
    ]  # fmt: skip


class Trainer:
    """The vectors and tables that everything is learned from."""

    def __init__(self) -> None:
        self.vectors = Vectors()
        self._indexes: dict[str, TableIndex | None] = {}

    def index(self, name: str) -> TableIndex | None:
        if name not in self._indexes:
            own = OWN.parent / f"{name}.csv"
            chunks = cut_file(own if own.exists() else folder() / f"{name}.csv")
            tables = read_tables(chunks)
            self._indexes[name] = TableIndex(tables[0]) if tables else None
        return self._indexes[name]

    def numbers(self, texts: Sequence[str]) -> Floats:
        self.vectors.add(texts)
        return np.stack([question_numbers(t, self.vectors.known[t]) for t in texts])

    def fit_questions(self, questions: Sequence[Question]) -> Floats:
        """Return the weights of what is asked."""
        pairs = [(q["question"], label(q)) for q in questions if label(q)] + read_own()
        rows = self.numbers([text for text, _ in pairs])
        labels = [CLASSES.index(asked) for _, asked in pairs]
        return fit_classes(rows, labels, len(CLASSES), OPERATION_DECAY)

    def read(self, question: Question, weights: Floats, tables: Sequence[str]) -> Read:
        """Return the readings of a question over its table and, as in a collection of several, over
        some others, which are all wrong."""
        chance = random.Random(question["question"])
        others = chance.sample([name for name in tables if name != question["table"]], OTHERS)
        text = read_question_text(question["question"])
        [numbers] = self.numbers([question["question"]])
        operations = read_operations(numbers, weights)
        found, features, right = list[TableReading](), list[Floats](), list[bool]()
        for name in (question["table"], *others):
            index = self.index(name)
            if index is None:
                continue
            self.vectors.add(list_texts(text, [index]))
            readings = Readings(text, index, Linker(text, index, self.vectors.known))
            own = readings.list_all()
            found += own
            features.append(readings.describe(own, operations))
            is_own = name == question["table"]
            right += [is_own and is_right(question, item, index) for item in own]
        return Read(question, found, np.concatenate(features), np.array(right, np.bool_))


def is_right(question: Question, reading: TableReading, index: TableIndex) -> bool:
    """Tell whether a reading comes to what the question's query does."""
    if question["refuse"]:
        return False
    wanted = {_plain(row[0]) for row in question["answer"]}
    outcome = reading.outcome
    if outcome[0] == "figure":
        [figure, *more] = wanted
        try:
            return not more and abs(float(figure) - outcome[1]) <= 1e-4 * max(1, abs(outcome[1]))
        except ValueError:
            return False
    if outcome[0] == "values":
        return {_plain(value) for value in outcome[1]} == wanted
    rows = [index.table.rows[n] for n in outcome[1]]
    cells = [{_plain(v) for v in (*row.values, *row.cells)} for row in rows]
    return all(wanted & own for own in cells) and wanted <= set().union(*cells)


def _plain(value: object) -> str:
    """Return a value as different spellings of it are compared."""
    try:
        return f"{float(value):.6g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(value).strip().casefold()


def rank(item: Read, weights: Floats) -> list[LikelyReading]:
    scores = item.features @ weights[:-1] if item.readings else np.empty(0)
    return rank_readings(item.readings, scores, float(weights[-1]))


def best_rows(
    items: Sequence[Read], weights: Floats, reader: LocalReader, loop: asyncio.AbstractEventLoop
) -> list[tuple[Question, LikelyReading, bool, Floats]]:
    """The likeliest reading of each question by both, whether it is right, and its numbers."""
    found = []
    for item in items:
        ranked = rank(item, weights)[:BEST]
        if not ranked:
            continue
        sentences = [describe_reading(c.reading.asked, item.question["language"]) for c in ranked]
        pairs = [(item.question["question"], sentence) for sentence in sentences]
        read = loop.run_until_complete(read_answering(reader, pairs))
        for choice, answering in zip(ranked, read.tolist(), strict=True):
            place = item.readings.index(choice.reading)
            numbers = right_numbers(choice.likelihood, answering)
            found.append((item.question, choice, bool(item.right[place]), numbers))
    return found


def main() -> None:
    trainer, loop, reader = Trainer(), asyncio.new_event_loop(), LocalReader()
    halves = {half: list(read_lines(DATA / f"{half}.jsonl")) for half in ("A", "B")}
    halves["A"] += read_tables_of_our_own()
    tables = sorted({question["table"] for question in halves["A"]})
    fold = {name: place % FOLDS for place, name in enumerate(tables)}
    learned: list[Read] = []
    for number in range(FOLDS):
        seen = [q for q in halves["A"] if fold[q["table"]] != number]
        weights = trainer.fit_questions(seen)
        learned += [
            trainer.read(q, weights, tables) for q in halves["A"] if fold[q["table"]] == number
        ]  # fmt: skip
    weights = trainer.fit_questions(halves["A"])
    readings = fit_readings(learned)
    # How likely each is right is learned from questions whose table the weights have not seen.
    unseen = []
    for number in range(FOLDS):
        own = fit_readings([r for r in learned if fold[r.question["table"]] != number])
        held = [r for r in learned if fold[r.question["table"]] == number]
        unseen += best_rows(held, own, reader, loop)
    right = fit_logistic(
        np.stack([numbers for *_, numbers in unseen]),
        np.array([float(is_so) for _, _, is_so, _ in unseen]),
        np.ones(len(unseen)), RIGHT_DECAY,
    )  # fmt: skip
    others = sorted({question["table"] for question in halves["B"]})
    judged = [trainer.read(question, weights, others) for question in halves["B"]]
    _report("A, table not seen", halves["A"], unseen, right)
    _report("B", halves["B"], best_rows(judged, readings, reader, loop), right)
    for half, read in (("A", learned), ("B", judged)):
        known = [item for item in read if not item.question["refuse"]]
        print(half, "right among readings", np.mean([item.right.any() for item in known]).round(3))
    file = Path(str(files("ragstone.plugins.tables").joinpath("data/readings.npz")))
    np.savez_compressed(
        file, operations=weights.astype(np.float16),
        readings=readings[:-1].astype(np.float32), none=np.float32(readings[-1]),
        right=right.astype(np.float32),
    )  # fmt: skip


def _report(
    name: str, questions: Sequence[Question],
    rows: Sequence[tuple[Question, LikelyReading, bool, Floats]], weights: Floats,
) -> None:  # fmt: skip
    """Print how many questions are answered and how many of these rightly, by the bound from which
    the likeliest is given; what is not computed is left to search."""
    answerable = sum(not question["refuse"] for question in questions)
    best: dict[str, tuple[float, LikelyReading, bool]] = {}
    for question, choice, is_so, numbers in rows:
        likely = float(1 / (1 + np.exp(-numbers @ weights)))
        key = f"{question['table']} {question['question']}"
        if key not in best or likely > best[key][0]:
            best[key] = (likely, choice, is_so)
    found = [item for item in best.values() if item[1].reading.is_computed]
    print(f"{name}: {answerable} with an answer, likeliest right",
          sum(is_so for _, _, is_so in best.values()))  # fmt: skip
    for bound in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        given = [item for item in found if item[0] >= bound]
        good = sum(is_so for _, _, is_so in given)
        share = good / max(1, len(given))
        print(f"  from {bound}: {len(given)} computed, {share:.2f} of them rightly")
    print("  ", Counter(item[1].reading.asked.operation for item in found if item[0] >= 0.6))


if __name__ == "__main__":
    main()
