"""Makes `answer/extractive/data/answering.json`: `python -m training.answering_weights`.

How likely what the extractive answerer says is what was asked: two logistic regressions over
`answering_likelihood.evidence`, one with what the reader says and one without. Trained on
squad2_dev, xquad, cmrc2018_zh, jsquad_ja (CC BY-SA 4.0) and drcd_zh_hant (CC BY-SA 3.0), read from
RAGSTONE_EVAL_DATA, and on `training.near_topic`.
An answer is right if it holds an accepted one. `--collect FILE` keeps the evidence, `--from FILE`
uses it; `--halves` trains on one half of the documents and prints how well the other is calibrated,
`--ablation` how well each part of the evidence alone does.
"""

import asyncio
import json
import random
import sys
import tempfile
import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.answer.extractive.answering_likelihood import WEIGHTS, evidence
from ragstone.answer.extractive.extractive import (
    PASSAGES,
    Extractive,
    answer_lines,
    choose_units,
)
from ragstone.answer.extractive.meaning_closeness import MeaningCloseness
from ragstone.answer.extractive.token_closeness import TokenCloseness
from ragstone.build import open_reader
from ragstone.core.answer import LEVELS
from ragstone.core.turn import Ask, Passage
from ragstone.engine.engine import Engine
from ragstone.engine.recipe import Recipe
from ragstone.language.language import detect
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.answers import auroc, normalise_answer
from ragstone.plugins.evaluation.dataset import CorpusPassage, Question
from ragstone.plugins.evaluation.indexed import NAME, index_passages
from ragstone.recipes.recipe import Recipes
from ragstone.retrieve.held_tokens import HeldTokens
from ragstone.retrieve.sampled_rarity import SampledRarity
from ragstone.settings import load
from training import logistic
from training.near_topic import name_papers, office, swap_names
from training.reader.example import is_held_out
from training.reader.real import split_of

Floats = NDArray[np.float64]

SEED = 7
OFFICES = 40

HOUSED = 6
"""Of so many answerable questions one is asked again with the name of the house."""

ANSWERABLE, PROGRAM = 0.8, 0.25
"""What questions that the documents answer weigh together, and those of `office`."""

REFUSED = 0.38
"""The likelihood under which the figures count an answer as one to refuse."""

DECAY = 5.0

MODELS = {
    "read": ("sureness", "share", "read"),
    "unread": ("sureness", "share"),
}
"""The numbers that each model weighs."""


@dataclass(frozen=True)
class Case:
    """One answer: its evidence, whether it is right, its half, and how the question was made."""

    set: str
    made: str
    half: int
    right: bool
    values: dict[str, float]


@dataclass(frozen=True)
class Part:
    """A set: how many documents and questions are read, in what the questions are asked, and whose
    questions nothing here answers."""

    name: str
    documents: int
    questions: int
    asked_in: str = ""
    strangers: str = ""


PARTS = (
    Part("squad2_dev", 1204, 900, strangers="scifact"),
    Part("xquad/en", 240, 200, strangers="scifact"),
    Part("xquad/de", 240, 200, strangers="cmrc2018_zh"),
    Part("xquad/es", 240, 150),
    Part("cmrc2018_zh", 300, 250, strangers="xquad/zh"),
    Part("jsquad_ja", 300, 200),
    Part("drcd_zh_hant", 250, 150),
    Part("xquad/de", 240, 120, "xquad/en"),
    Part("xquad/zh", 240, 120, "xquad/de"),
    Part("xquad/en", 240, 120, "xquad/de"),
    Part("xquad/en", 240, 120, "xquad/es"),
    Part("xquad/en", 240, 120, "xquad/ru"),
    Part("xquad/en", 240, 120, "xquad/zh"),
)


async def collect_evidence(target: Path) -> None:
    """Write the evidence of every set."""
    with target.open("w", encoding="utf-8") as out:
        papers, asked = office(OFFICES, random.Random(SEED))
        async for case in cases("office", papers, [(item, _make_evidence(item)) for item in asked]):
            print(json.dumps(asdict(case)), file=out, flush=True)
        for part in PARTS:
            papers, questions = of_part(part)
            async for case in cases(
                (part.asked_in and f"{part.asked_in}>{part.name}") or part.name, papers, questions
            ):
                print(json.dumps(asdict(case)), file=out, flush=True)


def _make_evidence(question: Question) -> str:
    return "asked" if question.answerable else "unanswerable"


def of_part(part: Part) -> tuple[list[CorpusPassage], list[tuple[Question, str]]]:
    """Return the documents, and questions with how they were made: of documents that the reader did
    not learn from, as of the others it is surer than it will be."""
    chance = random.Random(SEED)
    papers = dataset.corpus(eval_data() / part.name)[: part.documents]
    held = {paper.id for paper in papers}
    own = dataset.questions(eval_data() / (part.asked_in or part.name), "dev")
    if part.asked_in:
        own = [
            replace(item, relevant=frozenset(_in(part.name, id_) for id_ in item.relevant))
            for item in own
        ]
        answers = {
            question.id.split(":")[-1]: question.answers
            for question in dataset.questions(eval_data() / part.name, "dev")
        }
        own = [replace(item, answers=answers[item.id.split(":")[-1]]) for item in own]
    own = [item for item in own if item.relevant & held and (item.answers or not item.answerable)]
    strange = {
        paper.id
        for paper in papers
        if is_held_out(split_of(part.name.split("/")[0], asdict(paper)))
    }
    own = [item for item in own if item.relevant <= strange]
    own = list(dataset.spread(own, part.questions))
    asked = [(item, _make_evidence(item)) for item in own]
    answerable = [item for item in own if item.answerable]
    asked += [(item, "without") for item in dataset.spread(answerable, part.questions // 4)]
    others = list(swap_names(answerable, chance))
    asked += [(item, "asked") for item in name_papers(answerable[:: max(1, HOUSED)], chance)]
    asked += [(item, "swapped") for item in dataset.spread(others, part.questions // 6)]
    return papers, asked + [(question, "strange") for question in strange_questions(part)]


def strange_questions(part: Part) -> list[Question]:
    """Return questions of another set, which the documents of this one do not answer."""
    if not part.strangers:
        return []
    found = dataset.questions(eval_data() / part.strangers, "dev", part.questions // 4)
    return [replace(question, answerable=False) for question in found]


def _in(name: str, id_: str) -> str:
    return f"{name.split('/')[-1]}:{id_.split(':')[-1]}"


async def cases(
    name: str, papers: Sequence[CorpusPassage], asked: Sequence[tuple[Question, str]]
) -> AsyncIterator[Case]:
    """Yield the evidence of what is answered to each question."""
    settings = load()
    async with index_passages(papers, settings) as index, open_reader(settings) as reader:
        stages = Recipes(settings).of("plain", "standard").stages
        upto = [stage.name for stage in stages].index("assemble") + 1
        adapters = index.adapters
        engine = Engine(adapters, {"standard": Recipe(stages[:upto])})
        rarity = SampledRarity(adapters.index, adapters.embedders)
        tokens = HeldTokens(adapters.index)
        extractive = Extractive(
            TokenCloseness(adapters.catalog, tokens, adapters.embedders, rarity),
            MeaningCloseness(adapters.catalog, adapters.embedders),
            reader=reader,
        )
        for question, made in asked:
            turn = await engine.answer(Ask(question.text, collection=NAME))
            passages = [_note_language(passage) for passage in turn.passages[:PASSAGES]]
            if made == "without":
                passages = [p for p in passages if p.hit.chunk.document_id not in question.relevant]
            if not passages:
                continue
            ask = Ask(turn.question, collection=NAME)
            ranking = await extractive.rank(ask, passages)
            if not ranking.best:
                continue
            chosen = choose_units(ranking)
            said = "\n".join(line.text for line in answer_lines(chosen))
            right = _holds(said, question.answers)
            if made == "without" and right:
                continue
            values = evidence(chosen, ranking.best, ranking.sure)
            paper = min(question.relevant, default=question.id).rsplit("-", 1)[0]
            half = zlib.crc32(paper.split(":")[-1].encode()) % 2
            yield Case(name, made, half, right and question.answerable, values)


def _note_language(passage: Passage) -> Passage:
    """Return the passage with its language, as an ingest notes it."""
    chunk = replace(passage.hit.chunk, language=detect(passage.text))
    return replace(passage, hit=replace(passage.hit, chunk=chunk))


def _holds(said: str, answers: Sequence[str]) -> bool:
    text = f" {normalise_answer(said)} "
    return any(item and f" {item} " in text for item in map(normalise_answer, answers))


def masses(cases: Sequence[Case]) -> Floats:
    """What each case weighs: most people ask what is there, and programs ask in few words."""
    asked = np.array([case.made == "asked" for case in cases])
    program = np.array([case.set == "office" for case in cases])
    found = np.zeros(len(cases))
    for made, part in ((program, PROGRAM), (~program, 1 - PROGRAM)):
        for own, share in ((made & asked, ANSWERABLE), (made & ~asked, 1 - ANSWERABLE)):
            found[own] = part * share / max(1, own.sum())
    weighed: Floats = found / found.sum() * len(cases)
    return weighed


def fit_weights(cases: Sequence[Case], names: Sequence[str]) -> tuple[Floats, float]:
    """Return weights of the named numbers and the bias of the log-odds that the answer is right."""
    rows = table(cases, names)
    right = np.array([case.right for case in cases], np.float64)
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    scaled = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    decay = np.r_[np.full(len(names), DECAY), 1e-6]
    found = logistic.fit_logistic(scaled, right, masses(cases), decay)
    weights: Floats = found[:-1] / spread
    return weights, float(found[-1] - weights @ mean)


def table(cases: Sequence[Case], names: Sequence[str]) -> Floats:
    """The numbers (cases, names)."""
    return np.array([[case.values[name] for name in names] for case in cases], np.float64)


def likelihoods_by_halves(cases: Sequence[Case], names: Sequence[str]) -> Floats:
    """Tell how likely each answer is right by the weights of the other half of the documents."""
    likely, half = np.zeros(len(cases)), np.array([case.half for case in cases])
    rows = table(cases, names)
    for own in (0, 1):
        weights, bias = fit_weights([case for case in cases if case.half == own], names)
        likely[half != own] = 1 / (1 + np.exp(-rows[half != own] @ weights - bias))
    return likely


def halves(name: str, cases: Sequence[Case]) -> None:
    """Print how each half's answers do under the weights of the other half."""
    likely = likelihoods_by_halves(cases, MODELS[name])
    right, mass = np.array([case.right for case in cases]), masses(cases)
    asked = np.array([case.made == "asked" for case in cases])
    high, low = likely >= LEVELS[0][1], likely < REFUSED
    print(
        f"{name}: {len(cases)} answers, {np.average(right, weights=mass):.3f} right; "
        f"high {np.average(high, weights=mass):.3f}, "
        f"of those right {np.average(right[high], weights=mass[high]):.3f}, "
        f"high and wrong {np.average(high & ~right, weights=mass):.3f}; "
        f"calibration error {calibration_error(right, likely, mass):.3f}; AUROC "
        f"{auroc(likely[right].tolist(), likely[~right].tolist()):.3f}; "
        f"under {REFUSED} {low[asked].mean():.3f}, of those without one {low[~asked].mean():.3f}"
    )
    for made in sorted({(case.set, case.made) for case in cases}):
        own = np.array([(case.set, case.made) == made for case in cases])
        print(
            f"  {' '.join(made):28} {own.sum():5} right {right[own].mean():.3f} likely "
            f"{likely[own].mean():.3f} high {high[own].mean():.3f} under {low[own].mean():.3f}"
        )


def ablation(cases: Sequence[Case]) -> None:
    """Print the AUROC in each set of every choice of numbers, by the other half's weights."""
    right = np.array([case.right for case in cases])
    names = MODELS["read"]
    chosen = [names, *(tuple(set(names) - {name}) for name in names), *((name,) for name in names)]
    sets = {name: np.array([case.set == name for case in cases]) for name in {c.set for c in cases}}
    for columns in chosen:
        likely = likelihoods_by_halves(cases, columns)
        told = [
            f"{name} {auroc(likely[own & right].tolist(), likely[own & ~right].tolist()):.3f}"
            for name, own in sorted(sets.items())
        ]
        print(" + ".join(sorted(columns)), "|", ", ".join(told))


def calibration_error(
    right: NDArray[np.bool_], likely: Floats, mass: Floats, bins: int = 10
) -> float:
    """Return the mean gap between how likely and how often right, over ten steps of likelihood."""
    step = np.minimum((likely * bins).astype(int), bins - 1)
    gaps = [
        mass[step == item].sum()
        * abs(np.average((likely - right)[step == item], weights=mass[step == item]))
        for item in set(step.tolist())
    ]
    return float(sum(gaps) / mass.sum())


def main(arguments: Sequence[str]) -> None:
    if "--collect" in arguments:
        asyncio.run(collect_evidence(Path(arguments[1])))
        return
    with tempfile.TemporaryDirectory() as directory:
        kept = Path(arguments[1]) if "--from" in arguments else Path(directory) / "cases.jsonl"
        if "--from" not in arguments:
            asyncio.run(collect_evidence(kept))
        lines = kept.read_text(encoding="utf-8").splitlines()
    every = [Case(**json.loads(line)) for line in lines]
    data = {}
    for name, names in MODELS.items():
        cases = [case for case in every if set(names) <= case.values.keys()]
        if "--halves" in arguments:
            halves(name, cases)
            continue
        weights, bias = fit_weights(cases, names)
        told = {item: round(float(w), 4) for item, w in zip(names, weights, strict=True)}
        data[name] = {"weights": told, "bias": round(bias, 4)}
    if "--ablation" in arguments:
        ablation([case for case in every if set(MODELS["read"]) <= case.values.keys()])
    elif "--halves" not in arguments:
        target = Path(str(files("ragstone.answer.extractive").joinpath(f"data/{WEIGHTS}")))
        target.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
