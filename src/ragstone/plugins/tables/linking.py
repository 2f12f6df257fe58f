"""What of a table a question speaks of: its columns, and conditions on their cells.

Names and cells are compared with the words of the question, and by the vectors of a multilingual
embedder, so that "women", "Frauen" and "女性" find the cell "Female". Which of the links are meant
is not decided here: `readings` makes questions of them, and `reading_choice` weighs these.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import combinations
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone.language.polarity import negations, read_yes_no
from ragstone.plugins.tables.intervals import read_intervals
from ragstone.plugins.tables.question_text import (
    FIRST_YEAR,
    NumberWord,
    Places,
    QuestionText,
    normalize_word,
    split_words,
)
from ragstone.plugins.tables.table_question import Comparison, Condition, DatePart, Value
from ragstone.retrieve.typed_table import TypedTable, without_humps

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.int_]

MAX_VALUES, MAX_TABLE_VALUES = 100, 250
"""Values of a column, and of a table, that are compared by their vectors."""

MAX_VALUE_CHARS, MAX_VALUE_WORDS = 60, 12
MAX_PART_VALUES, MIN_PART, MAX_PART_ROWS = 40, 0.3, 15
"""Values that share words with the question are one condition: at most so many, and only up to
MAX_PART_ROWS where less than MIN_PART of their words are shared."""

MAX_WORD_LINKS, MAX_VECTOR_LINKS, NEAR_COLUMNS = 8, 6, 3
IN_RANGE = 0.8
"""How near a cell is whose range holds a number: as one that the question names by a word."""

WINDOW = 4
"""Words before a number that say how it compares."""

COMPARISONS: Mapping[Comparison, Sequence[str]] = {
    ">": ("more than", "over", "above", "after", "mehr als", "nach", "plus de", "supérieur à",
          "más de", "superan los", "超过", "大于"),
    ">=": ("at least", "from", "since", "mindestens", "ab", "au moins", "depuis", "al menos",
           "desde", "至少", "从"),
    "<": ("less than", "under", "below", "before", "weniger als", "vor", "moins de", "avant",
          "menos de", "antes de", "少于", "低于"),
    "<=": ("at most", "up to", "until", "höchstens", "bis", "au plus", "jusqu’à", "como máximo",
           "hasta", "最多", "不超过"),
    "in": ("exactly", "in", "with", "mit", "im Jahr", "avec", "en", "con", "等于", "为"),
}  # fmt: skip
"""What the words before a number are compared with, by their vectors."""

_FLAGS = {"1": True, "0": False, "y": True, "n": False, "true": True, "false": False}
_SEPARATORS = re.compile(r"[_.\-]+")

Kind = Literal[
    "exact", "part", "vector", "number", "year", "month", "date", "between", "yes", "no", "empty",
    "not exact", "not vector",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Link:
    """A condition that words of a question may mean: how near they are (`score`), how much nearer
    than to what else they could be (`margin`), and how near to the question's words its column is,
    where the words do not say which (`column`). `by_range` says that the cells are ranges, which
    hold a number of the question."""

    condition: Condition
    kind: Kind
    score: float
    places: Places
    margin: float = 0.0
    column: float = 0.0
    by_range: bool = False

    @property
    def prior(self) -> float:
        """Roughly how likely it is meant: which links are tried first."""
        match self.kind:
            case "exact" | "part":
                return self.score * (1.0 if self.kind == "exact" else 0.7)
            case "vector" | "not vector":
                likely = (self.score - 0.85) * 8 + self.margin * 4
                return likely - 0.4 * (self.kind == "not vector")
            case "number":
                return 0.6 + self.score * 20 + (self.column - 0.85) * 3
            case "year":
                return 0.8 + self.score * 20 + (self.column - 0.85) * 3
            case "yes" | "no":
                return (self.score - 0.86) * 8 - 0.1 * (self.kind == "no")
            case "empty":
                return (self.score - 0.86) * 6 - 0.3
            case _:
                return {"month": 0.8, "date": 1.0 + self.score, "between": 0.5}.get(self.kind, 0.3)


@dataclass(frozen=True, slots=True)
class ColumnLink:
    """How near a column is to a question: its nearest phrase and how near that is, how much of the
    name stands there in words, and how near the whole question is."""

    nearness: float
    phrase: Places
    named: float
    words: Places
    whole: float

    @property
    def places(self) -> Places:
        """The words that may name it."""
        return self.words or self.phrase

    @property
    def rank(self) -> float:
        return self.nearness + 0.1 * self.named


class TableIndex:
    """A table as questions are compared with it."""

    def __init__(self, table: TypedTable) -> None:
        self.table = table
        self.names = [humanize_name(column.name) for column in table.columns]
        self.name_norms = [frozenset(_norms(name)) for name in self.names]
        cells = [[row.values[place] for row in table.rows] for place in range(len(table.columns))]
        self.values = [Counter(v for v in column if v is not None) for column in cells]
        self.flags = [_read_flags(values) for values in self.values]
        self.figures = [
            np.array([_read_figure(value) for value in column])
            if table.columns[place].type != "text" else np.empty(0)
            for place, column in enumerate(cells)
        ]  # fmt: skip
        self.cells = cells
        self.titles = [humanize_name(title) for title in (*table.names, *table.titles)]
        self.by_word: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
        self.intervals = [
            read_intervals([str(value) for value in values])
            if table.columns[place].type == "text" else []
            for place, values in enumerate(self.values)
        ]  # fmt: skip
        self.compared: list[tuple[int, str]] = []
        for place, column in enumerate(table.columns):
            texts = [v for v in self.values[place] if isinstance(v, str)]
            if column.type != "text" or self.flags[place]:
                continue
            for text in texts:
                norms = frozenset(_norms(text)[:MAX_VALUE_WORDS])
                for norm in norms:
                    self.by_word[norm].append((place, text, len(norms)))
            if len(texts) <= MAX_VALUES:
                self.compared += [(place, t) for t in texts if len(t) < MAX_VALUE_CHARS]
        del self.compared[MAX_TABLE_VALUES:]

    @property
    def texts(self) -> list[str]:
        """The texts whose vectors are compared with a question's."""
        return [*self.names, *self.titles, *(text for _, text in self.compared)]

    def select(self, condition: Condition) -> Mask:
        """Return which rows a condition holds for."""
        place = self.table.place(condition.column)
        holds = {value: condition.holds(value) for value in (*self.values[place], None)}
        return np.array([holds[value] for value in self.cells[place]], np.bool_)

    def number_groups(self, place: int) -> tuple[list[str], Codes]:
        """Return the values of a column, of dates the years, and for each row the number of its
        own, -1 for none."""
        numbers: dict[str, int] = {}
        codes = {
            value: numbers.setdefault(
                str(value.year if isinstance(value, date) else value), len(numbers)
            )
            for value in self.values[place]
        }
        return list(numbers), np.array([codes.get(value, -1) for value in self.cells[place]])  # type: ignore[arg-type]


def _read_figure(value: Value | None) -> float:
    """Return a number, or a date as the number of its day."""
    if isinstance(value, date):
        return float(value.toordinal())
    return float(value) if isinstance(value, Decimal) else np.nan


def humanize_name(name: str) -> str:
    """Return a column's name as words: "melting_point" and "meltingPoint" are "melting point"."""
    return " ".join(_SEPARATORS.sub(" ", without_humps(name)).split())


def _norms(text: str) -> list[str]:
    return [normalize_word(word) for word in split_words(text)]


def _read_flags(values: Counter[Value]) -> dict[bool, tuple[Value, ...]]:
    """The cells of a column that say yes, and those that say no; empty where others say more."""
    read: dict[bool, tuple[Value, ...]] = {}
    for value in values:
        text = str(value).casefold()
        says = _FLAGS.get(text, read_yes_no(text))
        if says is None or len(values) > 2:
            return {}
        read[says] = (*read.get(says, ()), value)
    return read


class Linker:
    """Links one question to one table. `vectors` are those of all texts of the two, by text."""

    def __init__(
        self, question: QuestionText, index: TableIndex, vectors: Mapping[str, Floats]
    ) -> None:
        self._question, self._index, self._vectors = question, index, vectors
        self._content = question.content
        phrases = [p for p in question.phrases if p.places & self._content]
        self._phrases = phrases
        self._matrix = np.stack([vectors[p.text] for p in phrases]) if phrases else None
        self.columns = self._link_columns()
        self.ranked = sorted(range(len(self.columns)), key=lambda n: -self.columns[n].rank)

    def _link_columns(self) -> list[ColumnLink]:
        question = self._question
        names = np.stack([self._vectors[name] for name in self._index.names])
        whole = names @ self._vectors[question.text]
        near = names @ self._matrix.T if self._matrix is not None else np.zeros((len(names), 1))
        found = []
        for place, own in enumerate(self._index.name_norms):
            best = int(near[place].argmax())
            words = frozenset(n for n, norm in enumerate(question.norms) if norm in own)
            named = len({question.norms[n] for n in words}) / max(1, len(own))
            phrase = self._phrases[best].places if self._phrases else frozenset[int]()
            link = ColumnLink(float(near[place, best]), phrase, named, words, float(whole[place]))
            found.append(link)
        return found

    def familiarity(self) -> dict[int, float]:
        """How near each content word is to the nearest name or cell of the table, by its place."""
        known = np.stack([self._vectors[text] for text in self._index.texts])
        words = {n: self._question.words[n] for n in self._content}
        return {n: float((known @ self._vectors[word]).max()) for n, word in words.items()}

    def links(self) -> list[Link]:
        """Return the conditions that the question may state."""
        words = self._match_words()
        cells = [
            link
            for link in (
                *words, *_join_alternatives(words), *self._match_vectors(), *self._match_intervals()
            )
            if not self._is_denied(link)
        ]  # fmt: skip
        values = self._index.values
        denied = [
            Link(Condition(link.condition.column, "not in", link.condition.values),
                 "not exact" if link.kind == "exact" else "not vector",
                 link.score, link.places, link.margin)
            for link in cells
            if link.kind in ("exact", "vector") and len(link.condition.values) == 1
            and len(values[self._index.table.place(link.condition.column)]) <= MAX_PART_VALUES
        ]  # fmt: skip
        return [
            *cells, *denied, *self._compare_numbers(), *self._match_ranges(), *self._match_dates(),
            *self._match_flags(),
        ]  # fmt: skip

    def _is_denied(self, link: Link) -> bool:
        """Tell whether the head of a cell denies what the question does not: "Not for"."""
        name = self._index.names[self._index.table.place(link.condition.column)]
        return negations(name) > 0 and not negations(self._question.text)

    def _match_words(self) -> list[Link]:
        """Cells that share words with the question; those that share the same ones together."""
        norms, index = self._question.norms, self._index
        shared: dict[tuple[int, str], list[Places]] = defaultdict(list)
        lengths: dict[tuple[int, str], int] = {}
        for norm in dict.fromkeys(norms):
            same = frozenset(n for n, other in enumerate(norms) if other == norm)
            for column, text, length in index.by_word.get(norm, ()):
                shared[column, text].append(same)
                lengths[column, text] = length
        groups: dict[tuple[int, Places], list[tuple[float, str]]] = defaultdict(list)
        for (column, text), found in shared.items():
            places = frozenset[int]().union(*found)
            if places & self._content or (lengths[column, text] == 1 and len(norms) > 1
                                          and all(len(norms[n]) == 1 for n in places)):  # fmt: skip
                groups[column, places].append((len(found) / lengths[column, text], text))
        links = []
        for (column, places), texts in groups.items():
            best = max(share for share, _ in texts)
            whole = best == 1.0
            kept = tuple(text for share, text in texts if share == 1.0 or not whole)
            if len(kept) > (MAX_PART_VALUES if whole or best >= MIN_PART else MAX_PART_ROWS):
                continue
            score = best * min(1.0, 0.6 + 0.2 * len(places))
            condition = Condition(index.table.columns[column].name, "in", kept)
            links.append(Link(condition, "exact" if whole else "part", score, places))
        best_first = sorted(links, key=lambda link: -link.score)
        return [
            link for link in best_first
            if not any(
                other.condition.column == link.condition.column
                and link.places < other.places and other.score >= link.score
                for other in best_first
            )
        ][:MAX_WORD_LINKS]  # fmt: skip

    def _match_vectors(self) -> list[Link]:
        """Find cells that are near to a phrase by their vectors, the two nearest of each column."""
        index = self._index
        if self._matrix is None or not index.compared:
            return []
        near = self._matrix @ np.stack([self._vectors[text] for _, text in index.compared]).T
        columns = np.array([column for column, _ in index.compared])
        links = []
        for column in sorted(set(columns.tolist())):
            [own] = np.nonzero(columns == column)
            if len(own) < 2:
                continue
            best = near[:, own].max(axis=0)
            for item in np.argsort(-best)[:2]:
                phrase = int(near[:, own[item]].argmax())
                others = np.delete(near[phrase, own], item)
                condition = Condition(
                    index.table.columns[column].name, "in", (index.compared[own[item]][1],)
                )
                links.append(
                    Link(condition, "vector", float(best[item]), self._phrases[phrase].places,
                         float(best[item] - others.max()))
                )  # fmt: skip
        return sorted(links, key=lambda link: -link.score - link.margin)[:MAX_VECTOR_LINKS]

    def _match_intervals(self) -> Iterator[Link]:
        """Yield the cells whose range holds a number that no cell is, in the columns nearest to the
        question."""
        figures = {value for values in self._index.values for value in values}
        for place in self.ranked[:NEAR_COLUMNS]:
            ranges = self._index.intervals[place]
            of_years = any(FIRST_YEAR <= item.low < inf for item in ranges)
            for number in self._numbers:
                held = [item for item in ranges if item.holds(number.value)]
                if held and number.is_year == of_years and number.value not in figures:
                    cells = tuple(item.text for item in held)
                    condition = Condition(self._index.table.columns[place].name, "in", cells)
                    yield Link(condition, "exact", IN_RANGE, number.places, by_range=True)

    def _compare_numbers(self) -> Iterator[Link]:
        """Conditions that a number states for columns of numbers and, if it is a year, of dates."""
        columns = self._index.table.columns
        for number in self._numbers:
            ways = self._read_comparisons(number)
            for place in self._near_numbers(number.is_year) + self._dates * number.is_year:
                column = columns[place]
                part: DatePart = "year" if column.type == "date" else ""
                kind: Kind = "year" if column.years or part else "number"
                for way, score in ways.items():
                    if way == "in" and not part and number.value not in self._index.values[place]:
                        continue
                    condition = Condition(column.name, way, (number.value,), part)
                    near = self.columns[place].nearness
                    yield Link(condition, kind, score, number.places, column=near)

    def _match_ranges(self) -> Iterator[Link]:
        """Make the condition that a column of numbers or dates lies between two numbers."""
        columns = self._index.table.columns
        for first, last in combinations(self._numbers, 2):
            if first.value >= last.value:
                continue
            years = first.is_year and last.is_year
            for place in self._near_numbers(years=True) + self._dates * years:
                column = columns[place]
                part: DatePart = "year" if column.type == "date" else ""
                condition = Condition(column.name, "between", (first.value, last.value), part)
                both = first.places | last.places
                yield Link(condition, "between", 0.0, both, column=self.columns[place].nearness)

    def _near_numbers(self, years: bool) -> list[int]:
        """The columns of numbers that are nearest to the question, and those of years if wanted."""
        columns = self._index.table.columns
        places = [n for n, column in enumerate(columns) if column.type == "number"]
        places.sort(key=lambda n: -self.columns[n].nearness - 0.3 * self.columns[n].named)
        return places[:NEAR_COLUMNS] + [
            n for n in places[NEAR_COLUMNS:] if years and columns[n].years
        ]

    @property
    def _numbers(self) -> list[NumberWord]:
        """The numbers of the question that are no part of a column's name ("Plan 2025")."""
        names = frozenset[int]().union(*(link.words for link in self.columns))
        return [number for number in self._question.numbers if not number.places <= names]

    @property
    def _dates(self) -> list[int]:
        columns = self._index.table.columns
        return [n for n, column in enumerate(columns) if column.type == "date"]

    def _read_comparisons(self, number: NumberWord) -> dict[Comparison, float]:
        """Tell how a number compares: how much further each way is from the words before it than
        the nearest one."""
        windows = list_windows(self._question, number)
        matrix = np.stack([self._vectors[text] for text in windows])
        near = {
            way: float((matrix @ np.stack([self._vectors[f"{t} 10"] for t in texts]).T).max())
            for way, texts in COMPARISONS.items()
        }
        best = max(near.values())
        return {way: score - best for way, score in near.items()}

    def _match_dates(self) -> Iterator[Link]:
        dated = frozenset[int]().union(*(places for _, places in self._question.dates))
        for place, column in enumerate(self._index.table.columns):
            if column.type != "date":
                continue
            near = self.columns[place].nearness
            for word, month in self._question.months:
                if word in dated:
                    continue
                condition = Condition(column.name, "in", (Decimal(month),), "month")
                yield Link(condition, "month", 0.0, frozenset((word,)), 0.0, near)
            for day, places in self._question.dates:
                for way in COMPARISONS:
                    score = 0.0 if way == "in" else -0.02
                    yield Link(
                        Condition(column.name, way, (day,)), "date", score, places, 0.0, near
                    )

    def _match_flags(self) -> Iterator[Link]:
        """Yield what columns of yes and no say, and the empty cells of the nearest columns."""
        rows = len(self._index.table.rows)
        for place, flags in enumerate(self._index.flags):
            link, name = self.columns[place], self._index.table.columns[place].name
            score = max(link.nearness, 0.8 + 0.2 * link.named if link.named else 0.0)
            for says, values in flags.items():
                yield Link(Condition(name, "in", values), "yes" if says else "no", score,
                           link.places, link.named)  # fmt: skip
            if (
                place in self.ranked[:NEAR_COLUMNS]
                and sum(self._index.values[place].values()) < rows
            ):
                yield Link(
                    Condition(name, "empty"), "empty", link.nearness, link.places, link.named
                )


def _join_alternatives(links: Sequence[Link]) -> Iterator[Link]:
    """Two cells of a column that the question names, as one condition: "in Berlin or Hamburg"."""
    for first, second in combinations([link for link in links if link.kind == "exact"], 2):
        one, other = first.condition, second.condition
        if one.column == other.column and not first.places & second.places:
            condition = Condition(one.column, "in", (*one.values, *other.values))
            places = first.places | second.places
            yield Link(condition, "exact", min(first.score, second.score), places)


def list_windows(question: QuestionText, number: NumberWord) -> list[str]:
    """Return the words before a number, from one to WINDOW of them, with a number behind them."""
    starts = range(max(0, number.start - WINDOW), number.start)
    return [f"{' '.join(question.words[n : number.start])} 10" for n in starts] or ["10"]


def list_texts(question: QuestionText, indexes: Sequence[TableIndex]) -> list[str]:
    """Return all texts whose vectors link a question to tables."""
    texts = [question.text, *(phrase.text for phrase in question.phrases)]
    for number in question.numbers:
        texts += list_windows(question, number)
    if question.numbers:
        texts += [f"{text} 10" for ways in COMPARISONS.values() for text in ways]
    for index in indexes:
        texts += index.texts
    return list(dict.fromkeys(texts))
