"""Make `verify/data/judge.json`: `python -m training.judge_weights`.

How what the reader makes of an answer adds up to the probability that it is what was asked. To
questions over documents that the reader did not learn from (squad2_dev, xquad, cmrc2018_zh, read
from RAGSTONE_EVAL_DATA), right answers are the accepted one, its sentence, and that with its
neighbours; wrong ones are another sentence of the same document, a sentence of another document,
the answer to another question, and what answers nothing. Prints in each set the AUROC of the two
numbers alone and of the fit without that set.
"""

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.language.sentences import sentences
from ragstone.models.multilingual import MultilingualE5
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.dataset import CorpusPassage, Question
from ragstone.plugins.evaluation.measures import auroc
from ragstone.ports import EvidenceSource
from ragstone.reader.local import LocalReader
from ragstone.verify.checker import ReadingChecker
from ragstone.verify.reading_judge import NAMES, WEIGHTS, ReadingJudge
from training import logistic
from training.reader.example import is_held_out
from training.reader.real import split_of

Floats = NDArray[np.float64]

SETS = ("squad2_dev", "xquad/de", "xquad/es", "xquad/zh", "xquad/ru", "cmrc2018_zh")
QUESTIONS = 60
SEED = 1

RIGHT = 0.75
"""What right answers weigh together: most answers are."""

NOTHING = (
    "I have read the documents.",
    "Yes.",
    "The documents contain information about this.",
    "It depends.",
    "42",
    "REACHED the model.",
    "Thank you for your question!",
)


@dataclass(frozen=True)
class Answer:
    """What is said to a question, which cites `source`, and how it was made."""

    set: str
    question: str
    said: str
    source: CorpusPassage
    made: str

    @property
    def right(self) -> bool:
        return self.made.startswith("right")


def answers_of(name: str) -> Iterator[Answer]:
    """Yield right and wrong answers to the questions of a set."""
    chance = random.Random(SEED)
    papers = {paper.id: paper for paper in dataset.corpus(eval_data() / name)}
    unseen = {i for i, p in papers.items() if is_held_out(split_of(name.split("/")[0], asdict(p)))}
    asked = [
        question
        for question in dataset.questions(eval_data() / name, "dev")
        if question.answers and question.relevant and question.relevant <= unseen
    ]
    asked = list(dataset.spread(asked, QUESTIONS))
    for question in asked:
        paper = papers[min(question.relevant)]
        other = papers[chance.choice(sorted(unseen - question.relevant))]
        yield from _answers_to(name, question, paper, chance.choice(asked), other, chance)


def _answers_to(
    name: str,
    question: Question,
    paper: CorpusPassage,
    another: Question,
    other: CorpusPassage,
    chance: random.Random,
) -> Iterator[Answer]:
    said = [paper.text[span.start : span.end] for span in sentences(paper.text)]
    held = [i for i, item in enumerate(said) if question.answers[0] in item]
    free = [item for item in said if not any(answer in item for answer in question.answers)]
    made = {"right short": question.answers[0], "wrong nothing": chance.choice(NOTHING)}
    if held:
        made["right sentence"] = said[held[0]]
        made["right long"] = " ".join(said[max(0, held[0] - 1) : held[0] + 2])
    if free:
        made["wrong sentence"] = chance.choice(free)
    if another.text != question.text:
        made["wrong short"] = another.answers[0]
    for kind, text in made.items():
        yield Answer(name, question.text, text, paper, kind)
    elsewhere = [other.text[span.start : span.end] for span in sentences(other.text)]
    if elsewhere:
        yield Answer(name, question.text, chance.choice(elsewhere), other, "wrong document")


async def read(answers: Sequence[Answer]) -> Floats:
    """Return the two numbers of each answer and a one (answers, 3)."""
    reader = LocalReader()
    judge = ReadingJudge(reader, ReadingChecker(reader), MultilingualE5())
    rows = []
    for answer in answers:
        source = EvidenceSource(answer.source.text, answer.source.title)
        rows.append([*await judge.read(answer.question, answer.said, [source]), 1.0])
    await reader.aclose()
    return np.array(rows)


def weights(rows: Floats, right: NDArray[np.bool_]) -> Floats:
    """Return the weights of the columns; right answers weigh `RIGHT` together."""
    mass = np.where(right, RIGHT / right.sum(), (1 - RIGHT) / (~right).sum()) * len(right)
    return logistic.fit_logistic(rows, right.astype(np.float64), mass)


def main() -> None:
    answers = [answer for name in SETS for answer in answers_of(name)]
    rows = asyncio.run(read(answers))
    right = np.array([answer.right for answer in answers])
    for name in SETS:
        own = np.array([answer.set == name for answer in answers])
        fit = rows @ weights(rows[~own], right[~own])
        told = [f"{name:12}"]
        for column in (rows[:, 0], rows[:, 1], fit):
            told.append(f"{auroc(column[own].tolist(), right[own].tolist()):.3f}")
        print(*told)
    likely = 1 / (1 + np.exp(-rows @ weights(rows, right)))
    for made in sorted({answer.made for answer in answers}):
        own = np.array([answer.made == made for answer in answers])
        print(f"{made:16} mean {likely[own].mean():.2f}, under .5 {(likely[own] < 0.5).mean():.2f}")
    held = dict(zip(NAMES, weights(rows, right).round(3).tolist(), strict=True))
    target = Path(str(files("ragstone.verify").joinpath(f"data/{WEIGHTS}")))
    target.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
