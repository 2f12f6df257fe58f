"""What a question may ask of a table: every operation over the columns and conditions that its
words are linked to, each with its outcome and with numbers that tell how well it fits.

`reading_choice` weighs these numbers (`FEATURES` of them), most of which are between 0 and 1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import log
from typing import Literal, get_args

import numpy as np

from ragstone.language.polarity import negations
from ragstone.plugins.tables.linking import Floats, Kind, Link, Linker, Mask, TableIndex
from ragstone.plugins.tables.question_text import Places, QuestionText
from ragstone.plugins.tables.table_question import OPERATIONS, Operation, TableQuestion

KINDS: tuple[Kind, ...] = get_args(Kind)
DENYING: frozenset[Kind] = frozenset(("no", "empty", "not exact", "not vector"))

_EXCLUDING = re.compile(
    r"\b(?:except|excluding|other than|apart from|außer|ausgenommen|sauf|hormis|autres? que|excepto"
    r"|salvo|aparte de)\b|除了?|以外",
    re.IGNORECASE,
)
"""What takes cells out, as a negation does: what reads over it says the contrary."""

MAX_LINKS, MAX_TRIPLE_LINKS, MAX_SETS = 26, 12, 36
"""Conditions that are combined in pairs, and three at a time; combinations that are read."""

MEASURES, GROUPS, ASKED = 4, 3, 5
"""The nearest columns that are computed with, grouped by, and whose cells are asked."""

MAX_LIMIT, MAX_CELL_ROWS, MAX_LISTED, MAX_TIES, MAX_COMPARED = 10, 4, 40, 3, 8

EXTREMES: tuple[Operation, ...] = ("most", "least")

Outcome = (
    tuple[Literal["figure"], float]
    | tuple[Literal["values"], tuple[str, ...]]
    | tuple[Literal["rows"], tuple[int, ...]]
)
"""What a reading comes to: a number, values of a column, or rows by their numbers; equal ones are
the same answer."""


@dataclass(frozen=True, slots=True)
class TableReading:
    """What may be asked, the links of its conditions, its outcome, how many rows it is computed of,
    and how many rows or values it names."""

    asked: TableQuestion
    links: tuple[Link, ...]
    outcome: Outcome
    rows: int
    named: int = 1

    @property
    def by_range(self) -> bool:
        """Whether a cell is meant whose range holds a number of the question."""
        return any(link.by_range for link in self.links)

    @property
    def is_computed(self) -> bool:
        """Whether it is more than what a single row says, which search finds by its words."""
        one_row = self.asked.operation == "list" and self.named == 1
        return self.by_range or (self.asked.operation != "cell" and not one_row)


class Readings:
    """The readings of one question over one table."""

    def __init__(self, question: QuestionText, index: TableIndex, linker: Linker) -> None:
        self._question, self._index, self._table = question, index, index.table
        self._columns, self._familiarity = linker.columns, linker.familiarity()
        self._links = sorted(linker.links(), key=lambda link: -link.prior)[:MAX_LINKS]
        self._masks = {id(link): index.select(link.condition) for link in self._links}
        self._all = np.ones(len(index.table.rows), np.bool_)
        types = [column.type for column in index.table.columns]
        self._ranked = ranked = linker.ranked
        self._numbers = [n for n in ranked if types[n] == "number"]
        self._dates = [n for n in ranked if types[n] == "date"]
        self._groups = [
            n for n in ranked
            if types[n] == "text" and len(index.values[n]) < max(2, 0.9 * len(index.table.rows))
        ][:GROUPS]  # fmt: skip
        self._years = [n for n in self._numbers if index.table.columns[n].years][:1]
        grouped = (*self._groups, *self._dates[:1], *self._years)
        self._codes = {place: index.number_groups(place) for place in grouped}
        self._negations = negations(question.text) + len(_EXCLUDING.findall(question.text))
        self._limits = (1, *sorted({
            int(number.value) for number in question.numbers
            if 2 <= number.value <= MAX_LIMIT and number.value == int(number.value)
        }))  # fmt: skip

    def list_all(self) -> list[TableReading]:
        """Return all readings that have an outcome."""
        found: list[TableReading] = []
        for links, mask in self._combine_links():
            found += self._read_rows(links, mask)
            if len(links) <= 1:
                found += self._read_groups(links, mask)
            if links:
                found += self._read_cells(links, mask)
                found += self._read_shares(links, mask)
        found += self._read_differences()
        if not self._negations:
            return found
        # What denies nothing, or more, would turn the question into its contrary; two negations may
        # mean anything.
        once = self._negations == 1
        return [
            item for item in found if once and sum(link.kind in DENYING for link in item.links) == 1
        ]

    def _combine_links(self) -> list[tuple[tuple[Link, ...], Mask]]:
        """Return the likeliest sets of conditions under which there are rows, and none."""
        sets: list[tuple[float, tuple[Link, ...]]] = [(0.0, ())]
        for size in (1, 2, 3):
            links = self._links if size < 3 else self._links[:MAX_TRIPLE_LINKS]
            for chosen in combinations(links, size):
                columns = {(link.condition.column, link.condition.part) for link in chosen}
                places = frozenset[int]().union(*(link.places for link in chosen))
                apart = sum(len(link.places) for link in chosen) == len(places)
                if len(columns) == size and apart:
                    prior = sum(link.prior for link in chosen) + 0.3 * len(places) - 0.5 * size
                    sets.append((prior, chosen))
        found = []
        for _, chosen in sorted(sets, key=lambda item: -item[0]):
            mask = reduce(np.logical_and, (self._masks[id(link)] for link in chosen), self._all)
            if mask.any() or not chosen:
                found.append((chosen, mask))
            if len(found) >= MAX_SETS:
                break
        return found if any(not chosen for chosen, _ in found) else [*found, ((), self._all)]

    def _name(self, place: int) -> str:
        return self._table.columns[place].name

    def _read_rows(self, links: tuple[Link, ...], mask: Mask) -> Iterator[TableReading]:
        count = int(mask.sum())
        yield self._reading("count", links, ("figure", count), count)
        for place in self._numbers[:MEASURES]:
            values = self._index.figures[place][mask]
            values = values[~np.isnan(values)]
            if not len(values):
                continue
            name = self._name(place)
            total, mean = _round(values.sum()), _round(values.mean())
            yield self._reading("sum", links, ("figure", total), count, measure=name)
            yield self._reading("average", links, ("figure", mean), count, measure=name)
        for place in (*self._numbers[:MEASURES], *self._dates[:2]):
            figures = self._index.figures[place]
            filled = np.flatnonzero(mask & ~np.isnan(figures))
            for operation in EXTREMES:
                signed = -figures if operation == "most" else figures
                for limit in self._limits:
                    if len(filled) < limit:
                        continue
                    last = np.partition(signed[filled], limit - 1)[limit - 1]
                    rows = tuple(filled[signed[filled] <= last].tolist())
                    if len(rows) <= limit + MAX_TIES:
                        yield self._reading(
                            operation, links, ("rows", rows), count, len(rows),
                            measure=self._name(place), limit=limit,
                        )  # fmt: skip

    def _read_groups(self, links: tuple[Link, ...], mask: Mask) -> Iterator[TableReading]:
        count = int(mask.sum())
        for place in (*self._groups, *self._dates[:1], *self._years):
            names, codes = self._codes[place]
            for measure in (None, *(n for n in self._numbers[:1] if n != place)):
                totals = self._total_groups(mask, place, measure)
                sides: tuple[tuple[Operation, Floats], ...]
                sides = (("commonest", -totals), ("rarest", totals))
                for operation, totalled in sides:
                    best = np.flatnonzero(totalled == np.nanmin(totalled, initial=np.inf))
                    if len(best) == 1 and (~np.isnan(totals)).sum() > 1:
                        yield self._reading(
                            operation, links, ("values", (names[best[0]],)), count,
                            measure="" if measure is None else self._name(measure),
                            group=self._name(place),
                        )  # fmt: skip
        for place in self._groups:
            names, codes = self._codes[place]
            seen = np.unique(codes[mask & (codes >= 0)])
            if 1 < len(seen) <= MAX_LISTED:
                values = tuple(names[n] for n in seen)
                yield self._reading("values", links, ("values", values), count, len(values),
                                    measure=self._name(place))  # fmt: skip

    def _total_groups(self, mask: Mask, place: int, measure: int | None) -> Floats:
        """Tell how many rows each value of a column has, of dates each year, or their sum of a
        measure; NaN for those without."""
        names, codes = self._codes[place]
        chosen = mask & (codes >= 0)
        worth = np.ones(len(codes)) if measure is None else self._index.figures[measure]
        chosen &= ~np.isnan(worth)
        counts = np.bincount(codes[chosen], minlength=len(names))
        totals = np.bincount(codes[chosen], worth[chosen], len(names))
        return np.where(counts > 0, totals, np.nan)

    def _read_cells(self, links: tuple[Link, ...], mask: Mask) -> Iterator[TableReading]:
        rows = np.flatnonzero(mask).tolist()
        yield self._reading("list", links, ("rows", tuple(rows)), len(rows), len(rows))
        if len(rows) > MAX_CELL_ROWS:
            return
        for place in self._ranked[:ASKED]:
            cells = tuple(self._table.rows[n].cells[place] or "" for n in rows)
            yield self._reading("cell", links, ("values", tuple(dict.fromkeys(cells))), len(rows),
                                len(cells), measure=self._name(place))  # fmt: skip

    def _read_shares(self, links: tuple[Link, ...], mask: Mask) -> Iterator[TableReading]:
        for place, part in enumerate(links):
            others = links[:place] + links[place + 1 :]
            whole = reduce(np.logical_and, (self._masks[id(link)] for link in others), self._all)
            count, among = int(mask.sum()), int(whole.sum())
            if among > count:
                asked = TableQuestion(
                    self._table, "share", conditions=tuple(link.condition for link in others),
                    of_share=part.condition,
                )  # fmt: skip
                yield TableReading(asked, links, ("figure", _round(100 * count / among)), among)

    def _read_differences(self) -> Iterator[TableReading]:
        cells = [link for link in self._links if link.kind in ("exact", "part", "vector")]
        for first, second in combinations(cells[:MAX_COMPARED], 2):
            one, other = first.condition, second.condition
            if one.column != other.column or first.places & second.places:
                continue
            masks = self._masks[id(first)], self._masks[id(second)]
            rows = int(masks[0].sum() + masks[1].sum())
            for place in self._numbers[:3]:
                both = [self._index.figures[place][mask] for mask in masks]
                both = [values[~np.isnan(values)] for values in both]
                if all(len(values) for values in both):
                    figure = abs(both[0].mean() - both[1].mean())
                    yield self._reading("difference", (first, second), ("figure", _round(figure)),
                                        rows, measure=self._name(place))  # fmt: skip
            if rows > 2:
                counts = abs(int(masks[0].sum()) - int(masks[1].sum()))
                yield self._reading("difference", (first, second), ("figure", counts), rows)

    def _reading(
        self, operation: Operation, links: tuple[Link, ...], outcome: Outcome, rows: int,
        named: int = 1, measure: str = "", group: str = "", limit: int = 1,
    ) -> TableReading:  # fmt: skip
        conditions = tuple(link.condition for link in links)
        asked = TableQuestion(self._table, operation, measure, group, conditions, limit=limit)
        return TableReading(asked, links, outcome, rows, named)

    # --- how well a reading fits ------------------------------------------------------------------

    def describe(self, readings: Sequence[TableReading], operations: Mapping[str, float]) -> Floats:
        """Return the features of readings (readings, FEATURES), given the log-likelihoods of what
        the question asks."""
        nearest = max(link.nearness for link in self._columns)
        whole = max(link.whole for link in self._columns)
        said = {
            kind: frozenset[int]().union(*(k.places for k in self._links if k.kind == kind))
            for kind in ("exact", "part")
        }
        named = frozenset[int]().union(*(link.words for link in self._columns))
        rows = [self._features(item, operations, nearest, whole, said, named) for item in readings]
        return np.array(rows).reshape(len(readings), FEATURES)

    def _features(
        self, item: TableReading, operations: Mapping[str, float], nearest: float,
        whole: float, said: Mapping[str, Places], named: Places,
    ) -> list[float]:  # fmt: skip
        asked, links, question = item.asked, item.links, self._question
        used = frozenset[int]().union(*(link.places for link in links))
        of_columns = frozenset[int]()
        measure, group = [0.0] * 9, [0.0] * 5
        if asked.measure:
            place = self._table.place(asked.measure)
            column, link = self._table.columns[place], self._columns[place]
            of_columns |= link.places
            measure = [
                1.0, (link.nearness - nearest) * 10, link.named, (link.whole - whole) * 10,
                float(bool(link.places & used)), float(column.years), float(column.type == "date"),
                (link.nearness - 0.85) * 5,
                float(any(k.condition.column == asked.measure for k in links)),
            ]  # fmt: skip
        if asked.group:
            place = self._table.place(asked.group)
            link = self._columns[place]
            near = link.nearness >= nearest - 0.02
            of_columns |= link.words | (link.phrase if near else frozenset())
            group = [
                (link.nearness - nearest) * 10, link.named, float(asked.by_year),
                float(self._table.columns[place].years),
                1 / max(2, len(self._index.values[place])),
            ]  # fmt: skip
        limit = frozenset[int]()
        if asked.limit > 1:
            limit = limit.union(*(n.places for n in question.numbers if n.value == asked.limit))
        covered, content = used | of_columns | limit, question.content
        unused = [n for n in question.numbers if not n.places & covered]
        denies = any(link.kind in DENYING for link in links)
        denied = self._negations > 0
        operation = [float(asked.operation == name) for name in OPERATIONS]
        single = item.rows == 1
        return [
            operations[asked.operation], *operation, *measure, *group,
            *self._describe_links(links, nearest),
            float(not links), float(len(links)), float(len(unused)),
            *(len(said[kind] - covered) / 3 for kind in ("exact", "part")),
            len(named - covered) / 3, len(content & covered) / max(1, len(content)),
            len(content - covered) / 10, float(asked.limit > 1),
            log(max(1, item.rows)) / 5, float(single), float(item.rows == len(self._table.rows)),
            float(denied and denies), float(denies and not denied),
            float(bool(said["exact"] - covered)),
            *self._describe_strange(content - covered),
            log(item.named) if item.outcome[0] == "rows" else 0.0,
            log(max(1, item.named)) if item.outcome[0] == "values" else 0.0,
            float(asked.operation == "cell" and single),
            float(asked.operation in ("count", "sum", "average", "most", "least") and single),
            float(asked.operation == "cell" and any(link.kind == "exact" for link in links)),
        ]  # fmt: skip

    def _describe_strange(self, places: Places) -> tuple[float, float]:
        """Tell how far the least and all familiar of some words are from the table's."""
        far = [max(0.0, 0.95 - self._familiarity[n]) * 10 for n in places]
        return max(far, default=0.0), sum(far) / 4

    def _describe_links(self, links: Sequence[Link], nearest: float) -> list[float]:
        """Tell how many conditions of each kind there are, and how sure they are."""
        counts = [float(sum(link.kind == kind for link in links)) for kind in KINDS]
        vectors = [link for link in links if link.kind in ("vector", "not vector")]
        numbers = [link for link in links if link.kind in ("number", "year")]
        flags = [link for link in links if link.kind in ("yes", "no")]
        return [
            *counts,
            sum((link.score - 0.88) * 10 for link in vectors),
            sum(link.margin * 10 for link in vectors),
            sum(link.score * 20 for link in numbers),
            sum((link.column - nearest) * 10 for link in numbers),
            sum((link.score - 0.88) * 10 for link in flags),
            sum(link.margin for link in flags),
            sum((link.score - nearest) * 10 for link in links if link.kind == "empty"),
            sum(link.score for link in links if link.kind == "part"),
        ]  # fmt: skip


FEATURES = 1 + len(OPERATIONS) + 9 + 5 + len(KINDS) + 8 + 22


def _round(figure: float) -> float:
    """Return a figure as equal ones are compared, without what is lost in rounding."""
    return float(f"{figure:.9g}")
