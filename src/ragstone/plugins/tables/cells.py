"""The numbers of a table, each with what stands beside and above it, and what can be computed of
them: every change, share, sum, average and comparison that a question may mean.

A `CellComputation` is a computation with its cells. `describe` says in numbers how well it fits a
question; `cell_choice` weighs these.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, permutations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone.language.words import content_word_set, words
from ragstone.retrieve.typed_table import RecordTable, is_total_name

Operation = Literal["change", "percent", "sum", "average", "share", "ratio", "most", "least"]
Axis = Literal["row", "column", "heading"]
"""What the cells of a computation share: their row, their column, or both names below different
headings of the table."""

OPERATIONS: tuple[Operation, ...] = (
    "change", "percent", "sum", "average", "share", "ratio", "most", "least",
)  # fmt: skip
PAIRED: tuple[Operation, ...] = ("change", "percent", "share", "ratio")
"""Those of two cells, whose order matters."""

AXES: tuple[Axis, ...] = ("row", "column", "heading")

MAX_LIKELY_ROWS = 8
"""Rows of a table that are looked at: those that share most words with the question."""

MAX_MATCHED = 3
"""Words of a row's name from which a further one that the question has says no more."""

MAX_LINE = 12
"""Cells of a line of which all, and all pairs, are looked at."""

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FISCAL = re.compile(r"\bF(?:Y|iscal )?['’]?(\d\d)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NumberCell:
    """A number of a table. `heading` is the line without numbers above its row, `label` what its
    row is called, `header` its column; `start` and `end` are its place in the document's text."""

    heading: str
    label: str
    header: str
    text: str
    value: Decimal
    row: int
    column: int
    start: int
    end: int

    @property
    def is_percentage(self) -> bool:
        return "%" in self.text or "%" in self.label or "%" in self.header


@dataclass(frozen=True, slots=True)
class CellComputation:
    """A computation of cells in order: what is compared with what, divided by what."""

    operation: Operation
    axis: Axis
    cells: tuple[NumberCell, ...]
    whole: bool = False
    """The cells are all of their line."""

    @property
    def figure(self) -> Decimal | None:
        """What it comes to; None for a share of nothing, or a change in percent of it."""
        values = [cell.value for cell in self.cells]
        first, last = values[0], values[-1]
        match self.operation:
            case "sum":
                return sum(values, Decimal())
            case "average":
                return sum(values, Decimal()) / len(values)
            case "change":
                return first - last
            case "percent":
                return (first - last) / last * 100 if last else None
            case "share":
                return first / last * 100 if last else None
            case "ratio":
                return first / last if last else None
            case "most":
                return max(values)
            case "least":
                return min(values)

    @property
    def is_clear(self) -> bool:
        """Whether the figure means the same to everyone: a change in percent of percentages, or of
        a loss, does not, nor do two highest values say which one is the highest."""
        percentages = [cell.is_percentage for cell in self.cells]
        if self.operation == "percent":
            return self.cells[-1].value > 0 and not all(percentages)
        if self.operation in ("most", "least"):
            return len(self.extremes) == 1 and len(set(percentages)) == 1
        return self.operation in ("share", "ratio") or len(set(percentages)) == 1

    @property
    def extremes(self) -> list[NumberCell]:
        """The cells that hold the figure."""
        return [cell for cell in self.cells if cell.value == self.figure]

    def name_cell(self, cell: NumberCell) -> str:
        """Return what tells a cell from the others."""
        return _place(self.axis, cell)

    @property
    def subject(self) -> str:
        """What the cells have in common."""
        return ", ".join(name for name in _shared_names(self.axis, self.cells[0]) if name)

    @property
    def expression(self) -> str:
        """The computation as arithmetic; of the highest and lowest, a comparison."""
        numbers = [f"({c.value})" if c.value < 0 else str(c.value) for c in self.cells]
        formula = self.format_formula(numbers)
        return f"{formula} * 100" if self.operation in ("percent", "share") else formula

    def format_formula(self, numbers: Sequence[str]) -> str:
        """The formula over the cells' numbers, as these are written; a percentage as a share."""
        first, last = numbers[0], numbers[-1]
        match self.operation:
            case "sum":
                return " + ".join(numbers)
            case "average":
                return f"({' + '.join(numbers)}) / {len(numbers)}"
            case "change":
                return f"{first} - {last}"
            case "percent":
                return f"({first} - {last}) / {last}"
            case "share" | "ratio":
                return f"{first} / {last}"
            case "most" | "least":
                return f"{'max' if self.operation == 'most' else 'min'}({', '.join(numbers)})"


def read_cells(table: RecordTable) -> list[NumberCell]:
    """Return the numbers of a table; the first cell of a row is its name."""
    heading, found = "", []
    for number, record in enumerate(table.records):
        if len(record.parts) == 1:
            heading = record.parts[0].text
            continue
        label = record.parts[0].text
        found += [
            NumberCell(
                heading, label, part.name, part.text, part.value, number, part.column,
                part.start, part.start + len(part.text),
            )
            for part in record.parts[1:]
            if part.value is not None
        ]  # fmt: skip
    return found


def find_years(text: str) -> frozenset[str]:
    """Return the years that a text names, of four digits."""
    return frozenset((*_YEAR.findall(text), *(f"20{year}" for year in _FISCAL.findall(text))))


def list_candidates(
    question: str, cells: Sequence[NumberCell], operations: Collection[Operation]
) -> list[CellComputation]:
    """Return every computation of the cells, by these operations, that a question may mean."""
    asked, years = content_word_set(question), find_years(question)
    rows: dict[int, list[NumberCell]] = {}
    columns: dict[int, list[NumberCell]] = {}
    headings: dict[tuple[str, int], list[NumberCell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, []).append(cell)
        columns.setdefault(cell.column, []).append(cell)
        headings.setdefault((cell.label, cell.column), []).append(cell)

    def likeness(row: int) -> tuple[float, int]:
        own = content_word_set(rows[row][0].label)
        return -len(own & asked) / (len(own) + 2), row

    likely = set(sorted(rows, key=likeness)[:MAX_LIKELY_ROWS])
    found: list[CellComputation] = []
    for row in likely:
        found += _list_line("row", rows[row][:MAX_LINE], years)
    for line in columns.values():
        found += _list_column(line, [cell for cell in line if cell.row in likely])
    for line in headings.values():
        apart = {cell.heading for cell in line}
        if len(apart) == len(line) > 1 and likely & {cell.row for cell in line}:
            found += _list_line("heading", line[:MAX_LINE], years)
    return [item for item in found if item.operation in operations and item.figure is not None]


def _list_line(
    axis: Axis, line: Sequence[NumberCell], years: frozenset[str]
) -> Iterator[CellComputation]:
    for pair in permutations(line, 2):
        for operation in PAIRED:
            yield CellComputation(operation, axis, pair)
    chosen = {*combinations(line, 2), tuple(line), tuple(line[:3]), tuple(line[-3:])}
    if years:
        chosen.add(tuple(
            cell
            for cell in line
            if any(min(years) <= year <= max(years) for year in find_years(_place(axis, cell)))
        ))  # fmt: skip
    for cells in chosen:
        whole = len(cells) == len(line)
        if len(cells) > 1:
            yield CellComputation("sum", axis, cells, whole)
            yield CellComputation("average", axis, cells, whole)
            yield CellComputation("most", axis, cells, whole)
            yield CellComputation("least", axis, cells, whole)


def _list_column(
    line: Sequence[NumberCell], likely: Sequence[NumberCell]
) -> Iterator[CellComputation]:
    for pair in permutations(likely, 2):
        for operation in PAIRED:
            yield CellComputation(operation, "column", pair)
    for size in (2, 3):
        for cells in combinations(likely, size):
            yield CellComputation("sum", "column", cells)
            yield CellComputation("average", "column", cells)
    groups = {cell.heading: [c for c in line if c.heading == cell.heading] for cell in line}
    for group in (line, *groups.values()) if len(groups) > 1 else (line,):
        plain = tuple(cell for cell in group if not is_total_name(cell.label))
        if len(plain) > 1:
            yield CellComputation("sum", "column", plain, whole=True)
            yield CellComputation("average", "column", plain, whole=True)
            yield CellComputation("most", "column", plain, whole=True)
            yield CellComputation("least", "column", plain, whole=True)


def _place(axis: Axis, cell: NumberCell) -> str:
    """Return what tells a cell from the others of its line."""
    return cell.header if axis == "row" else cell.label if axis == "column" else cell.heading


def _shared_names(axis: Axis, cell: NumberCell) -> tuple[str, ...]:
    """Return what a cell has in common with the others of its line."""
    if axis == "row":
        return cell.heading, cell.label
    return (cell.header,) if axis == "column" else (cell.label, cell.header)


FEATURES = 26


class CandidateFeatures:
    """How well computations fit a question: numbers between about 0 and 1."""

    def __init__(self, question: str, cells: Sequence[NumberCell]) -> None:
        self._years = find_years(question)
        self._asked = content_word_set(question) - self._years
        self._order = words(question)
        self._plain = " " + " ".join(self._order) + " "
        known = frozenset[str]().union(
            *(content_word_set(f"{c.heading} {c.label} {c.header}") for c in cells)
        )
        self._known = self._asked & known
        self._all_years = frozenset[str]().union(
            *(find_years(f"{c.heading} {c.label} {c.header}") for c in cells)
        )

    def describe(self, item: CellComputation, operation_likelihood: float) -> NDArray[np.float64]:
        """Return the features of a computation."""
        axis, cells = item.axis, item.cells
        shared = " ".join(_shared_names(axis, cells[0]))
        named = cells if not (axis == "column" and item.whole) else ()
        labels = list(dict.fromkeys(c.label for c in cells)) if named or axis != "column" else []
        label_words = [content_word_set(label) - self._all_years for label in labels]
        recall = [len(w & self._asked) / len(w) if w else 0.0 for w in label_words]
        matched = frozenset[str]().union(*(w & self._asked for w in label_words)) if labels else ()
        held = content_word_set(shared).union(*(content_word_set(_place(axis, c)) for c in named))
        covered = len(held & self._known) / len(self._known) if self._known else 0.0
        exact = [f" {' '.join(words(label))} " in self._plain for label in labels]
        headers = frozenset[str]().union(*(content_word_set(c.header) for c in cells))
        headers -= self._all_years
        heading = content_word_set(cells[0].heading) if axis != "heading" else frozenset()
        places = [find_years(_place(axis, c)) for c in cells]
        years = frozenset[str]().union(*places)
        around = find_years(shared)
        asked = self._years
        inside = {y for y in years if asked and min(asked) <= y <= max(asked)}
        pair = len(cells) == 2
        newest = [max(p, default="") for p in places]
        positions = [self._position(_place(axis, c)) for c in cells]
        total = is_total_name(cells[-1].label)
        largest = abs(cells[-1].value) >= max(abs(c.value) for c in cells)
        units = len({c.is_percentage for c in cells}) > 1
        return np.array([
            operation_likelihood,
            sum(recall) / len(recall) if recall else 0.0,
            min(recall, default=0.0),
            covered,
            float(bool(exact) and all(exact)),
            min(len(matched), MAX_MATCHED) / MAX_MATCHED,
            len(headers & self._asked) / len(headers) if headers else 0.0,
            float(bool(headers)),
            len(heading & self._asked) / len(heading) if heading else 0.0,
            float(bool(heading)),
            len(asked & (years | around)) / len(asked) if asked else 0.0,
            len(years - inside) / len(years) if years and asked else 0.0,
            float(bool(asked) and years == asked),
            float(bool(asked) and set(asked) < set(years) and years == inside),
            float(not asked and bool(years)),
            float(not asked and item.whole),
            float(pair and newest[0] > newest[1]),
            float(pair and newest[0] == newest[1]),
            float(pair and 0 <= positions[0] < positions[1]),
            float(pair and 0 <= positions[1] < positions[0]),
            float(total),
            float(largest),
            float(units),
            float(cells[0].label == ""),
            float(any(places) and not all(places)),
            sum(is_total_name(c.header) or is_total_name(c.label) for c in cells) / len(cells),
        ])  # fmt: skip

    def _position(self, place: str) -> int:
        """Return where the question names it first, in words; -1 where it does not."""
        wanted = content_word_set(place)
        return next((i for i, word in enumerate(self._order) if word in wanted), -1)
