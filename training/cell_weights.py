"""Make `plugins/tables/data/cells.npz`: `python -m training.cell_weights`.

What a question asks to compute and of which cells is learned from the test set of TAT-QA, which
names the cells of each answer, and the former also from `computed_questions.json`, sentences of our
own in three languages. TAT-QA is read from the folder that RAGSTONE_PUBLIC_DATA names. How well its
development set, which nothing is learned from, is answered is printed.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.public.runner import clone
from benchmarks.public.tatqa import build_page
from ragstone.core.chunk import Chunk, chunk_id
from ragstone.core.document import encode_blocks
from ragstone.ingest.chunk import chunk
from ragstone.ingest.formats.html import parse_html
from ragstone.plugins.tables.cell_choice import (
    MIN_LIKELIHOOD,
    choose_candidate,
    describe_candidates,
    load_cell_weights,
    nothing_numbers,
    operation_numbers,
    read_operations,
)
from ragstone.plugins.tables.cells import (
    AXES,
    FEATURES,
    OPERATIONS,
    CellComputation,
    NumberCell,
    Operation,
    read_cells,
)
from ragstone.retrieve.typed_table import read_records

Floats = NDArray[np.float64]
Parts = dict[str, Floats]

QUESTIONS = Path(__file__).parent / "computed_questions.json"
TOPICS = 4
"""Topics that a sentence of our own is asked with."""

OWN_WEIGHT = 0.5
"""What such a sentence counts beside a question of TAT-QA."""

OPERATION_DECAY, SHARED_DECAY, KIND_DECAY = 3e-5, 1e-4, 3e-3
"""What pulls weights to nothing: those of pieces of a question, those of features, and what these
differ for an operation and axis."""

LEARNED = 0.1
"""The likelihood of all operations together from which a question is learned from: more than those
that are asked, so that what is not to be computed is known."""

ROUNDED = Decimal("0.0051")
"""How far an answer of two decimals is from the figure."""

MIN_WORDS = ("lowest", "smallest", "smaller", "least", "lower")
MAX_WORDS = ("highest", "largest", "larger", "higher", "greater", "most")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of TAT-QA with the tables of its page."""

    question: Mapping[str, Any]
    tables: tuple[list[NumberCell], ...]


def read_asked(name: str) -> Iterator[Asked]:
    """Yield the questions of a part of TAT-QA."""
    folder = clone("TAT-QA", "https://github.com/NExTplusplus/TAT-QA") / "dataset_raw"
    reports = json.loads((folder / f"tatqa_dataset_{name}.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "page.html")
        for report in reports:
            file.write_text(build_page(report), encoding="utf-8")
            tables = tuple(read_cells(table) for table in read_records(page_chunks(file)))
            yield from (Asked(question, tables) for question in report["questions"])


def page_chunks(file: Path) -> list[Chunk]:
    parsed = parse_html(file, ".html", 10**8)
    return [
        Chunk(
            chunk_id("page", 1, number), "page", 1, number, piece.text, "", "/page.html",
            "default", "default", piece.start, piece.end, piece.page, piece.section, piece.kind,
            "en", layout=encode_blocks(piece.blocks),
        )
        for number, piece in enumerate(chunk(parsed.blocks, 1200, 150))
    ]  # fmt: skip


def read_operation(question: Mapping[str, Any]) -> Operation | None:
    """The operation that TAT-QA computes an answer with; None where it is none, or not ours."""
    text = question["question"].casefold()
    if question["answer_type"] != "arithmetic":
        if question["answer_type"] != "span" or not question["req_comparison"] or "second" in text:
            return None
        if any(word in text for word in MIN_WORDS):
            return "least"
        return "most" if any(word in text for word in MAX_WORDS) else None
    signs = "".join(part for part in question["tree_derivation"] if part in "+-*/")
    if signs and set(signs) == {"+"}:
        return "sum"
    if signs[:1] == "/" and set(signs[1:]) == {"+"}:
        return "average"
    if signs == "/":
        return "share" if question["scale"] == "percent" else "ratio"
    known: dict[str, Operation] = {
        "-": "change", "*/-": "percent", "/-": "percent", "*-/": "percent", "*/": "share"
    }  # fmt: skip
    return known.get(signs)


def is_claim(question: Mapping[str, Any]) -> bool:
    """Tell whether the answer stands in the page, so that nothing is to be computed."""
    kinds = ("span", "multi-span")
    return question["answer_type"] in kinds and not question["req_comparison"]


def is_right(item: CellComputation, question: Mapping[str, Any]) -> bool:
    """Whether a computation has the answer of the question, with its sign if it is a change."""
    answer = question["answer"]
    first = str(answer[0] if isinstance(answer, list) else answer)
    if item.operation in ("most", "least"):
        named = {item.name_cell(cell).casefold() for cell in item.extremes}
        return len(named) == 1 and first.casefold() in named.pop()
    try:
        wanted = Decimal(first.replace(",", ""))
    except InvalidOperation:
        return False
    figure = item.figure or Decimal()
    if item.operation not in ("change", "percent"):
        figure, wanted = abs(figure), abs(wanted)
    return abs(figure - wanted) <= ROUNDED


def uses_facts(item: CellComputation, question: Mapping[str, Any]) -> bool:
    """Tell whether the cells are those that TAT-QA names."""
    try:
        facts = {abs(Decimal(fact.strip("$%").replace(",", ""))) for fact in question["facts"]}
    except InvalidOperation:
        return True
    return not facts or {abs(cell.value) for cell in item.cells} <= facts


def own_questions(chance: random.Random) -> Iterator[tuple[str, int]]:
    for held in json.loads(QUESTIONS.read_text(encoding="utf-8")).values():
        for number, name in enumerate((*OPERATIONS, "none")):
            for text in held[name]:
                for topic in chance.sample(held["topics"], TOPICS):
                    yield text.format(topic), number


def descend(parts: Parts, slope: Callable[[Parts], Parts], steps: int) -> Parts:
    """Return the parts where a function is least, by Adam with steps that grow shorter."""
    speed = {name: np.zeros_like(part) for name, part in parts.items()}
    square = {name: np.zeros_like(part) for name, part in parts.items()}
    for step in range(1, steps + 1):
        rate = 0.1 * (1 - step / (steps + 1))
        for name, down in slope(parts).items():
            speed[name] = 0.9 * speed[name] + 0.1 * down
            square[name] = 0.999 * square[name] + 0.001 * down**2
            mean = speed[name] / (1 - 0.9**step)
            size = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
            parts[name] = parts[name] - rate * mean / size
    return parts


def fit_operations(asked: Sequence[Asked]) -> Floats:
    examples = [(text, number, OWN_WEIGHT) for text, number in own_questions(random.Random(1))]
    for item in asked:
        operation = read_operation(item.question)
        if operation:
            examples.append((item.question["question"], OPERATIONS.index(operation), 1.0))
        elif is_claim(item.question):
            examples.append((item.question["question"], len(OPERATIONS), 1.0))
    rows = np.stack([operation_numbers(text) for text, _, _ in examples])
    wanted = np.eye(len(OPERATIONS) + 1)[[number for _, number, _ in examples]]
    mass = np.array([weight for _, _, weight in examples])

    def slope(parts: Parts) -> Parts:
        likely = np.exp(rows @ parts["weights"].T)
        likely /= likely.sum(axis=1, keepdims=True)
        away = (likely - wanted) * mass[:, None] / mass.sum()
        return {"weights": away.T @ rows + OPERATION_DECAY * parts["weights"]}

    start = {"weights": np.zeros((len(OPERATIONS) + 1, rows.shape[1]))}
    return descend(start, slope, 400)["weights"]


def fit_candidates(asked: Sequence[Asked], operations: Floats) -> tuple[Floats, Floats]:
    """The weights of the features for each operation and axis, and those of no computation."""
    rows, kinds, groups, right = [], [], [], []
    nothing: list[Floats] = []
    for item in asked:
        text, wanted = item.question["question"], read_operation(item.question)
        likely = read_operations(text, operations)
        if sum(likely.values()) < LEARNED:
            continue
        for cells in item.tables:
            found, features, numbers = describe_candidates(text, cells, likely)
            rows.append(features)
            kinds.append(numbers)
            groups += [len(nothing)] * len(found)
            right += [
                candidate.operation == wanted
                and is_right(candidate, item.question)
                and uses_facts(candidate, item.question)
                for candidate in found
            ]
        nothing.append(nothing_numbers(likely))
    every, kind, group = np.concatenate(rows), np.concatenate(kinds), np.array(groups)
    none, holds = np.stack(nothing), np.array(right, np.float64)
    answered = np.zeros(len(none))
    np.maximum.at(answered, group, holds)
    count = len(OPERATIONS) * len(AXES)
    order = np.argsort(kind, kind="stable")
    bounds = np.searchsorted(kind[order], np.arange(count + 1))

    def slope(parts: Parts) -> Parts:
        score = (every * (parts["shared"] + parts["kinds"][kind])).sum(axis=1)
        most = none @ parts["nothing"]
        least = most.copy()
        np.maximum.at(most, group, score)
        likely, likely_none = np.exp(score - most[group]), np.exp(least - most)
        total = likely_none.copy()
        np.add.at(total, group, likely)
        likely, likely_none = likely / total[group], likely_none / total
        held = np.zeros(len(none))
        np.add.at(held, group, likely * holds)
        # Of several computations that have the answer, the likelier ones are learned.
        wanted = likely * holds / np.maximum(held[group], 1e-12)
        down = every * ((likely - wanted) / len(none))[:, None]
        own = [down[order[a:b]].sum(axis=0) for a, b in pairwise(bounds)]
        return {
            "shared": down.sum(axis=0) + SHARED_DECAY * parts["shared"],
            "kinds": np.stack(own) + KIND_DECAY * parts["kinds"],
            "nothing": none.T @ ((likely_none - (answered == 0)) / len(none)),
        }

    start = {
        "shared": np.zeros(FEATURES),
        "kinds": np.zeros((count, FEATURES)),
        "nothing": np.array([1.0, 0.0]),
    }
    parts = descend(start, slope, 800)
    return parts["shared"] + parts["kinds"], parts["nothing"]


def print_quality(asked: Sequence[Asked]) -> None:
    counts = Counter[tuple[str, str]]()
    for item in asked:
        choice = choose_candidate(item.question["question"], item.tables)
        kind = "said" if is_claim(item.question) else "computed"
        outcome = "nothing" if choice is None else "wrong"
        if choice and is_right(choice.candidate, item.question):
            outcome = "right"
        counts[kind, outcome] += 1
    print(f"TAT-QA dev at {MIN_LIKELIHOOD}:")
    for (kind, outcome), count in sorted(counts.items()):
        print(f"  to be {kind}, {outcome}: {count}")


def main() -> None:
    asked = list(read_asked("test_gold"))
    operations = fit_operations(asked).astype(np.float16).astype(np.float64)
    candidates, nothing = fit_candidates(asked, operations)
    file = Path(str(files("ragstone.plugins.tables").joinpath("data/cells.npz")))
    file.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        file,
        operations=operations.astype(np.float16),
        candidates=candidates.astype(np.float32),
        nothing=nothing,
    )
    load_cell_weights.cache_clear()
    print_quality(list(read_asked("dev")))


if __name__ == "__main__":
    main()
