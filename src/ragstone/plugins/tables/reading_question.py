"""What a question asks of a table, by rules: which operation, over which column, of which rows.

Every word of the question has to be explained: by the operation, a column's name, a cell's value,
a number that is compared, what the table is called, or as a word that says nothing. Where a word
is left over, or could mean two things, nothing is computed: a wrong figure is worse than none.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Literal

from ragstone.language.polarity import read_yes_no
from ragstone.language.words import stem, word_lists
from ragstone.retrieve.typed_table import (
    LABEL,
    MONTHS,
    Column,
    TypedRow,
    TypedTable,
    without_humps,
)

Operation = Literal["count", "sum", "average", "most", "least", "list", "lookup"]
Comparison = Literal["in", ">", ">=", "<", "<="]

MOST_WORDS = 60
MOST_VALUES = 50_000
"""Distinct values of a column that a question's words are looked up in."""

LONGEST_CELL = 120
"""Characters of a cell that a question can name."""

LONGEST_VALUE = 8
"""Words of a value that a question can name."""

MAX_OTHER_VALUES = 10
"""Values of a column besides one that a question denies: the answer names them all."""

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"\d+(?:[.,'’]\d{{3}})*(?:[.,]\d+)?(?![^\W\d_{_CJK}])|[{_CJK}]|[^\W_{_CJK}]+")
_WEEKDAYS = {
    name: f"d{number}"
    for number, names in enumerate(
        (
            "monday mon montag", "tuesday tue tues dienstag", "wednesday wed mittwoch",
            "thursday thu thur thurs donnerstag", "friday fri freitag", "saturday sat samstag",
            "sunday sun sonntag",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_COLUMN_KINDS = (
    "money", "time", "length", "weight", "height", "depth", "temperature", "age", "speed",
    "quantity", "unit", "ratio",
)  # fmt: skip
_SAME = "same_"
"""How the lists begin whose words mean the same as names of columns."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’]\d{3})+")
"""A number in groups of three digits: few people compare with three decimals."""

_NO_SUM = re.compile(
    r"%|\b(?:per|pro|rate|quote|percent\w*|prozent\w*|avg|average|mean|median|share|anteil|ratio|index"
    r"|id|nr|no|number|nummer|code|zip|plz|postcode|phone|year|jahr|lat|lon|latitude|longitude|rank"
    r"|age|alter|score|grade|temperature)\b"
)
"""What is in the name of a column whose figures mean nothing when added up."""


_RATIO = re.compile(
    r"%|(?:\b|_)(?:per|pro|rate|quote|percent\w*|prozent\w*|pct|share|anteil|ratio)(?:\b|_)"
)
"""What is in the name of a column whose figures are ratios."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the rows: the column is one of the `values`, or compares with the only one.
    `year` compares the year of a date."""

    column: str
    comparison: Comparison
    values: tuple[str | Decimal, ...]
    year: bool = False


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """What is asked of a table. `measure` is the column that is summed or compared, empty for rows;
    `group` the one by whose values the rows are counted or summed apart; `entity` the one that the
    question names as what is counted; `different` counts its values, not the rows.

    `fit` tells of two tables which one is meant: how many words its columns and cells explain, how
    many columns are named whole, how many words its title explains.
    """

    table: TypedTable
    operation: Operation
    measure: str = ""
    group: str = ""
    entity: str = ""
    different: bool = False
    descending: bool = False
    conditions: tuple[Condition, ...] = ()
    fit: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    norm: str


@dataclass(slots=True)
class _Found:
    """What the words of a question were found to be."""

    operations: list[tuple[int, str, int]] = field(default_factory=list)
    columns: list[tuple[int, int, str]] = field(default_factory=list)
    values: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    compared: list[Condition] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)
    units: list[_Word] = field(default_factory=list)
    ratio: bool = False
    called: int = 0
    titled: int = 0
    named: int = 0
    whole: int = 0


def asks_of_tables(question: str) -> bool:
    """Whether a question's words may ask for something that is computed over rows."""
    words = _words(question)
    if len(words) > MOST_WORDS:
        return False
    kinds = {kind for place in range(len(words)) for kind, _ in _phrases(words, place)}
    return not kinds.isdisjoint(_OPERATIONS)


_PLAIN = ("count", "number", "sum", "average", "most", "least", "list", "sort", "group", "by")
_IMPLIED = (
    "money", "time", "length", "weight", "height", "depth", "temperature", "age", "speed",
)  # fmt: skip
_REVERSED = {"age": "time", "speed": "length"}
"""What stands the other way round: the oldest has the earliest date, the fastest the least time."""
_OPERATIONS = frozenset(
    (*_PLAIN, *(f"{way}_{what}" for way in ("most", "least") for what in _IMPLIED))
)


def read_question(question: str, table: TypedTable) -> TableQuestion | None:
    """What the question asks of this table; None where that is not clear."""
    words = _words(question)
    if not words or len(words) > MOST_WORDS:
        return None
    found = _explain_words(words, table)
    return None if found is None else _build_question(found, table)


# --- words ---------------------------------------------------------------------------------------


def _words(text: str) -> list[_Word]:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    plain = plain.replace("n't", " not").replace("'s", "")
    return [_Word(match[0], norm(match[0])) for match in _TOKEN.finditer(plain)]


@cache
def norm(word: str) -> str:
    """A word as words are compared: without accents and endings, months and weekdays by number."""
    if word in MONTHS:
        return f"m{MONTHS[word]}"
    if word in _WEEKDAYS:
        return _WEEKDAYS[word]
    plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    if plain.isascii() and plain.isalpha():
        if len(plain) >= 6 and plain.endswith("en"):
            plain = plain[:-1]
        return stem(plain)
    return plain


def _norms(text: str) -> tuple[str, ...]:
    return tuple(word.norm for word in _words(text))


@cache
def _lexicon() -> Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """The phrases by their first word: what each means, and its words as they are."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for kind, phrases in word_lists("plugins.tables", "tables").items():
        if kind in _COLUMN_KINDS or kind.startswith(_SAME):
            continue
        for phrase in phrases:
            texts = tuple(word.text for word in _words(phrase))
            found[texts[0]].append((kind, texts))
    return {
        first: tuple(sorted(phrases, key=lambda item: -len(item[1])))
        for first, phrases in found.items()
    }


@cache
def _kinds_of_columns() -> Mapping[str, frozenset[str]]:
    """For money, time, length, weight, quantity and unit the words, normal."""
    lists = word_lists("plugins.tables", "tables")
    names = _COLUMN_KINDS
    return {
        name: frozenset(part for items in lists[name] for part in (norm(items), items))
        for name in names
    }


@cache
def _meanings() -> Mapping[str, str]:
    """For words that name columns, one that means the same: "jahr" and "yrs" are "year"."""
    return {
        norm(word): kind
        for kind, words in word_lists("plugins.tables", "tables").items()
        if kind.startswith(_SAME)
        for word in words
    }


def _word_meaning(word: str) -> str:
    return _meanings().get(word, word)


def _find_meanings(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_word_meaning, words))


def _phrases(words: Sequence[_Word], place: int) -> Iterator[tuple[str, int]]:
    """The kinds of the phrases that begin at a word, with their lengths, longest first."""
    for kind, texts in _lexicon().get(words[place].text, ()):
        if tuple(word.text for word in words[place : place + len(texts)]) == texts:
            yield kind, len(texts)


# --- explaining ----------------------------------------------------------------------------------


def _explain_words(words: Sequence[_Word], table: TypedTable) -> _Found | None:
    """What each word is; None where one is nothing, or two things."""
    named = _find_columns(words, table)
    if named is None:
        return None
    reading = _Reading(words, table, named)
    place = 0
    while place < len(words):
        taken = reading.take(place)
        if not taken:
            return None
        place += taken
    return reading.end()


class _Reading:
    """Reads a question from its first word to its last."""

    def __init__(self, words: Sequence[_Word], table: TypedTable, named: "Named") -> None:
        self._words, self._table, self._named = words, table, named
        self._values = _Values(table)
        self._names = {part for item in table.names for part in _find_meanings(_title_norms(item))}
        self._titles = {
            part for title in table.titles for part in _find_meanings(_title_norms(title))
        }
        self._used = set[int]()
        self._found = _Found()
        self._denies = False
        """Whether a negation was read, and what it denies was not yet."""

    def take(self, place: int) -> int:
        """How many words are explained by what begins at a word; 0 for none."""
        found, words = self._found, self._words
        taken = _read_comparison(words, place, self._table, found, self._named)
        if taken := taken or self._take_equal(place):
            found.named += taken
            return 0 if self._denies else taken
        phrase = _phrase(words, place)
        value = self._values.match(words, place, self._named)
        if value is not None and self._in_longer_name(place, value[0]):
            value = None
        if value is not None and (phrase is None or value[0] >= phrase[1]):
            return self._take_value(place, *value)
        of_column = any(place in at for at, _ in self._named)
        if phrase is not None and (phrase[1] > 1 or not of_column):
            kind, length = phrase
            if self._denies and kind in (*_OPERATIONS, "not"):
                return 0
            if kind == "not":
                self._denies = True
            elif kind in _OPERATIONS:
                found.operations.append((place, kind, length))
            else:
                found.marks.add(kind)
            return length
        return int(self._take_word(place, of_column))

    def _take_equal(self, place: int) -> int:
        """How many words a number takes right before the name of a column of numbers ("with 4
        cylinders"); 0 where there is none."""
        value = _plain_number(self._words[place].text)
        if value is None:
            return 0
        for at, name in self._named:
            column = next(item for item in self._table.columns if item.name == name)
            whole = min(at) == place + 1 and max(at) - min(at) < len(at) >= len(_core(name))
            if whole and column.type == "number" and not column.years:
                self._found.compared.append(Condition(name, "in", (value,)))
                return 1 + len(at)
        return 0

    def _in_longer_name(self, place: int, length: int) -> bool:
        """Whether words that say a value are part of a column's whole name ("atomic radius", where
        "atomic" is a kind of bond)."""
        places = set(range(place, place + length))
        return any(
            places < set(at) and max(at) - min(at) < len(at) and len(at) >= len(_core(name))
            for at, name in self._named
        )

    def _take_value(self, place: int, length: int, column: str, cells: tuple[str, ...]) -> int:
        """A value, unless it is also the name of a column, or of several columns."""
        places = set(range(place, place + length))
        touched = {name for at, name in self._named if places & set(at)}
        inside = {name for at, name in self._named if set(at) < places}
        if not column or touched != inside:
            return 0
        self._named = [(at, name) for at, name in self._named if name not in inside]
        if self._denies:
            cells = _other_cells(self._table, column, cells)
            self._end_denial(column)
        self._found.values.append((place, column, cells))
        self._found.named += length
        return length if cells else 0

    def _end_denial(self, column: str) -> None:
        """Note which column the negation that was read is about."""
        self._found.denied.add(column)
        self._denies = False

    def _take_word(self, place: int, of_column: bool) -> bool:
        word, found = self._words[place], self._found
        meant = _word_meaning(word.norm)
        if of_column:
            self._used.add(place)
            found.named += 1
            [name] = [name for at, name in self._named if place in at]
            if self._denies and _cells_saying(self._table, name, False):
                self._end_denial(name)
        elif meant in self._names or meant in self._titles:
            found.called += 1
            found.titled += meant not in self._names
        elif word.norm in _kinds_of_columns()["unit"]:
            found.units.append(word)
        elif word.norm in _kinds_of_columns()["ratio"]:
            found.ratio = True
        else:
            return False
        return True

    def end(self) -> _Found | None:
        """What was found; None where only a part of a column's name was read as that, or where it
        was not read what is denied.

        A column of yes and no is a condition: "which orders are paid"."""
        found = self._found
        if self._denies:
            return None
        used = {condition.column for condition in found.compared} | {
            column for _, column, _ in found.values
        }
        grouped = any(kind in ("group", "by", "sort") for _, kind, _ in found.operations)
        for at, name in self._named:
            if set(at) <= self._used or name in used:
                cells = _cells_saying(self._table, name, name not in found.denied)
                if cells and name not in used and not grouped:
                    found.values.append((min(at), name, cells))
                else:
                    found.columns.append((min(at), len(at), name))
                found.whole += len(at) >= len(_core(name))
            elif self._used & set(at):
                return None
        return found


def _other_cells(table: TypedTable, column: str, cells: Sequence[str]) -> tuple[str, ...]:
    """The cells of a column that say otherwise; none where they are too many to be named, or where
    a row leaves open what it says."""
    held = {row.cells[table.place(column)] for row in table.rows}
    others = tuple(sorted(cell for cell in held if cell is not None and cell not in cells))
    return () if None in held or len(others) > MAX_OTHER_VALUES else others


def _cells_saying(table: TypedTable, column: str, answer: bool) -> tuple[str, ...]:
    """The cells of a column of yes and no that say the one; none in another column."""
    held = [cell for cell in {row.cells[table.place(column)] for row in table.rows} if cell]
    answers = {cell: read_yes_no(cell) for cell in held[:MAX_OTHER_VALUES]}
    if None in answers.values() or len(held) > len(answers):
        return ()
    return tuple(sorted(cell for cell in held if answers[cell] is answer))


def _phrase(words: Sequence[_Word], place: int) -> tuple[str, int] | None:
    """The longest phrase that begins at a word, but for those that compare with a number."""
    return next((phrase for phrase in _phrases(words, place) if phrase[0] not in _SIGNS), None)


class _Values:
    """The cells of the columns of texts, by their first words."""

    def __init__(self, table: TypedTable) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], str, set[str]]]] = {}
        self._heads: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._inside: dict[str, set[tuple[str, str]]] = defaultdict(set)
        known: dict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)
        for column, cell in _text_cells(table):
            parts = _norms(cell)
            if 0 < len(parts) <= LONGEST_VALUE:
                known[parts, column].add(cell)
            for part in filter(_is_telling, parts):
                self._inside[part].add((column, cell))
            if len(parts) > 1 and _is_telling(parts[-1]) and not set(cell) & set(",;/&("):
                self._heads[parts[-1]][column].add(cell)
        for (parts, column), cells in known.items():
            self._by_first.setdefault(parts[0], []).append((parts, column, cells))
        for entries in self._by_first.values():
            entries.sort(key=lambda item: -len(item[0]))

    def match(
        self, words: Sequence[_Word], place: int, columns: Sequence[tuple[tuple[int, ...], str]]
    ) -> tuple[int, str, tuple[str, ...]] | None:
        """The longest value that begins at a word: its length, its column (empty where it stands
        in several), and the cells that say it."""
        length, matches = 0, []
        for parts, column, cells in self._by_first.get(words[place].norm, ()):
            if len(parts) < length:
                break
            if tuple(word.norm for word in words[place : place + len(parts)]) == parts:
                if len(parts) == 1 and _says_nothing(words[place]):
                    continue
                length = len(parts)
                matches.append((column, cells))
        if not matches:
            named = any(place in places for places, _ in columns)
            return None if named else self._head(words, place)
        if len(matches) > 1:
            beside = {
                name for places, name in columns if place - 1 in places or place + length in places
            }
            matches = [match for match in matches if match[0] in beside]
            if len(matches) != 1:
                return length, "", ()
        column, cells = matches[0]
        return length, column, tuple(sorted(cells))

    def _head(self, words: Sequence[_Word], place: int) -> tuple[int, str, tuple[str, ...]] | None:
        """Values that end in the word ("infusion pump" for "pumps"), where no other value has it
        elsewhere."""
        part = words[place].norm
        by_column = self._heads.get(part)
        if not by_column or _says_nothing(words[place]):
            return None
        heads = {(column, cell) for column, cells in by_column.items() for cell in cells}
        if len(by_column) > 1 or self._inside[part] != heads:
            return None
        [(column, cells)] = by_column.items()
        return 1, column, tuple(sorted(cells))


def _text_cells(table: TypedTable) -> Iterator[tuple[str, str]]:
    """The different cells of each column of texts, but for long ones, with the column."""
    for place, column in enumerate(table.columns):
        if column.type == "text":
            cells = dict.fromkeys(row.cells[place] for row in table.rows)
            for cell in list(cells)[:MOST_VALUES]:
                if cell is not None and len(cell) <= LONGEST_CELL:
                    yield column.name, cell


def _shared_words(table: TypedTable) -> Mapping[str, frozenset[str]]:
    """Per column of texts the words that each of its cells has ("Adams County", "Antelope County"):
    they say what the rows are, and choose none of them."""
    cells: dict[str, list[frozenset[str]]] = defaultdict(list)
    for column, cell in _text_cells(table):
        cells[column].append(frozenset(_norms(cell)))
    return {
        column: frozenset(filter(_is_telling, frozenset.intersection(*held)))
        for column, held in cells.items()
        if len(held) > 1
    }


def _is_telling(part: str) -> bool:
    return len(part) >= 4 and part.isalpha()


def _says_nothing(word: _Word) -> bool:
    """Whether a word is too short to name a value, or one of the lexicon's, but for a verb such as
    "paid", which may be a value too."""
    kinds = {kind for kind, _ in _lexicon().get(word.text, ())}
    return len(word.text) < 2 or not kinds <= {"spend"}


def _title_norms(title: str) -> tuple[str, ...]:
    """The words of what a table is called, and those that "Cars93" is made of."""
    return (*_norms(title), *_norms(re.sub(r"(?<=[^\W\d_])(?=\d)", " ", title)))


def _core(name: str, humps: bool = True) -> tuple[str, ...]:
    """The words of a column's name without its unit, which never comes first; those of "EngineSize"
    are two."""
    name = without_humps(name) if humps else name
    parts = _norms(re.sub(r"\([^()]*\)", " ", name)) or _norms(name)
    units = _kinds_of_columns()["unit"]
    return (*parts[:1], *(part for part in parts[1:] if part not in units))


def _find_columns(
    words: Sequence[_Word], table: TypedTable
) -> list[tuple[tuple[int, ...], str]] | None:
    """The columns that the question names, with the places of the words; None where a word names
    several of them."""
    whole: dict[str, tuple[int, ...]] = {}
    by_part: dict[str, set[str]] = defaultdict(set)
    shared = _shared_words(table)
    for column in table.columns:
        if column.name == LABEL or (column.name.isdecimal() and len(column.name) < 4):
            continue
        core, plain = _core(column.name), _core(column.name, humps=False)
        for part in _find_meanings((*core, *plain, *shared.get(column.name, ()))):
            by_part[part].add(column.name)
        places = _places(words, core) or _places(words, plain)
        if places:
            whole[column.name] = places
    kept = {
        name: places
        for name, places in whole.items()
        if not any(set(places) < set(other) for other in whole.values())
    }
    taken = {place for places in kept.values() for place in places}
    if sum(map(len, kept.values())) != len(taken):
        return None
    for place, word in enumerate(words):
        names = by_part.get(_word_meaning(word.norm), set())
        if place in taken or not names or len(word.norm) < 3 or word.text in _lexicon():
            continue
        if len(names) == 1:
            [name] = names
            kept[name] = tuple(sorted({*kept.get(name, ()), place}))
            taken.add(place)
    return [(places, name) for name, places in kept.items()]


def _places(words: Sequence[_Word], parts: Sequence[str]) -> tuple[int, ...]:
    """Where words stand that are all of the parts, each once; nothing where one is missing."""
    found: list[int] = []
    for part in parts:
        place = next(
            (
                i
                for i, word in enumerate(words)
                if i not in found
                and (_word_meaning(word.norm) == _word_meaning(part) or _shortens(part, word.text))
            ),
            None,
        )
        if place is None:
            return ()
        found.append(place)
    near = bool(found) and max(found) - min(found) < 2 * len(parts) + 1
    return tuple(sorted(found)) if near else ()


def _shortens(short: str, word: str) -> bool:
    """Whether a word of a column's name is another one, shortened: "exp" is "expectancy"."""
    return 3 <= len(short) < len(word) - 1 and short.isalpha() and word.startswith(short)


_SIGNS: Mapping[str, Comparison] = {
    "over": ">", "under": "<", "at_least": ">=", "at_most": "<=", "before": "<", "after": ">",
    "since": ">=", "in_year": "in", "over_money": ">",
}  # fmt: skip
_OF_TIME = frozenset(("before", "after", "since", "in_year"))
_ANY_TIME = frozenset(("year", "date", "jahr", "datum", "年", "年份", "日期"))
"""Columns whose year is meant where the question names none."""

Named = Sequence[tuple[tuple[int, ...], str]]


def _read_comparison(
    words: Sequence[_Word], place: int, table: TypedTable, found: _Found, named: Named
) -> int:
    """How many words a comparison with a number takes that begins here; 0 where none does."""
    for kind, length in _phrases(words, place):
        sign = _SIGNS.get(kind)
        if sign is None or place + length >= len(words):
            continue
        number = words[place + length].text
        value = _plain_number(number)
        if value is None:
            continue
        timed = kind in _OF_TIME
        if timed and not _YEAR.fullmatch(number):
            continue
        taken = length + 1
        unit = words[place + taken] if place + taken < len(words) else None
        if unit is not None and unit.norm not in _kinds_of_columns()["unit"]:
            unit = None
        column = _find_compared_column(words, table, kind, unit, named)
        if column is None or (not timed and (column.years or column.type != "number")):
            continue
        found.compared.append(Condition(column.name, sign, (value,), year=column.type == "date"))
        return taken + (unit is not None)
    return 0


def _plain_number(text: str) -> Decimal | None:
    if not text[:1].isdigit():
        return None
    plain = re.sub(r"[.,'’]", "", text) if _GROUPED.fullmatch(text) else text
    try:
        return Decimal(plain.replace(",", "."))
    except InvalidOperation:
        return None


def _find_compared_column(
    words: Sequence[_Word], table: TypedTable, kind: str, unit: _Word | None, named: Named
) -> Column | None:
    """The column that a number is compared with: the one that the question names, else the only
    one with the unit, else the only one of years or of money."""
    timed = kind in _OF_TIME
    possible = [
        column
        for column in table.columns
        if (
            column.years or column.type == "date"
            if timed
            else column.type == "number" and not column.years
        )
    ]
    asked = [item for item in possible if item.name in {name for _, name in named}]
    if asked:
        return asked[0] if len(asked) == 1 else None
    if timed:
        generic = [item for item in possible if set(_core(item.name)) <= _ANY_TIME]
        return generic[0] if len(generic) == 1 else None
    if unit is not None:
        measured = [item for item in possible if _has_unit(unit, item)]
        return measured[0] if len(measured) == 1 else None
    spends = any(item == "spend" for i in range(len(words)) for item, _ in _phrases(words, i))
    return _only(possible, "money") if spends or kind == "over_money" else None


_SAME_UNIT = {
    "euro": "eur", "€": "eur", "dollar": "usd", "$": "usd", "pound": "gbp", "£": "gbp",
    "minut": "min", "minute": "min", "hour": "h", "stunde": "h", "percent": "%", "prozent": "%",
    "欧": "eur", "元": "cny",
}  # fmt: skip


def _has_unit(unit: _Word, column: Column) -> bool:
    wanted = _SAME_UNIT.get(unit.norm, unit.norm)
    parts = {*_norms(column.name), column.unit, *(c for c in column.name if c in _SAME_UNIT)}
    return wanted in {_SAME_UNIT.get(part, part) for part in parts}


_MONEY_UNITS = frozenset(("eur", "euro", "usd", "dollar", "gbp", "chf", "€", "$", "£", "¥", "元"))


def _only(columns: Sequence[Column], kind: str) -> Column | None:
    """The only column of this kind, by its name or unit; of several the only one that is called
    nothing else ("price" beside "price of shipping")."""
    known = _kinds_of_columns()[kind]
    found = [
        column
        for column in columns
        if set(_core(column.name)) & known
        or (kind == "money" and {*_norms(column.name), column.unit} & _MONEY_UNITS)
    ]
    plain = [item for item in found if len(_core(item.name)) == 1]
    found = plain if len(found) > 1 else found
    return found[0] if len(found) == 1 else None


# --- meaning -------------------------------------------------------------------------------------


def _build_question(found: _Found, table: TypedTable) -> TableQuestion | None:
    asked = _operation(found)
    conditions = _conditions(found)
    if asked is None or conditions is None:
        return None
    operation, implied = asked
    columns = {item.name: item for item in table.columns}
    used = {condition.column for condition in conditions}
    named = [(at, columns[name]) for at, _, name in sorted(found.columns) if name not in used]
    group_at = _group_place(found)
    group = _group(named, group_at, operation) if group_at is not None else ""
    if group is None or any(column.mixed for _, column in named):
        return None
    named = [(at, item) for at, item in named if item.name != group]
    asked_time = _find_time_column(found, table, named) if operation in ("most", "least") else None
    named = [(at, item) for at, item in named if item is not asked_time]
    key = _number_of_row(table) if operation in ("list", "count") else None
    measures = [(at, item) for at, item in named if item.type != "text" and item is not key]
    if not measures and (implied or _spends(found, operation)):
        only = _find_implied_column(table, implied or "money")
        if only is None:
            return None
        measures = [(-1, only)]
    if len(measures) > 1 or not _fits_units(found, [item for _, item in measures]):
        return None
    texts = tuple(item for _, item in named if item.type == "text")
    texts = (asked_time, *texts) if asked_time else texts
    place, measure = measures[0] if measures else (-1, None)
    if implied in _REVERSED and measure is not None and not _is_of(measure, implied):
        if not _is_of(measure, _REVERSED[implied]):
            return None
        operation = "least" if operation == "most" else "most"
    asks = _Asked(table, found, conditions, measure, texts, group)
    return asks.question(operation, place)


def _number_of_row(table: TypedTable) -> Column | None:
    """The first column where it numbers the rows: "which orders", "how many orders" name it."""
    first = table.columns[0]
    numbers = first.type == "number" and first.unique and not first.scale and not first.years
    return first if numbers else None


def _find_time_column(
    found: _Found, table: TypedTable, named: Sequence[tuple[int, Column]]
) -> Column | None:
    """The column of years or dates that is asked for ("in which year", "when"), where another one
    is compared."""
    if "when" in found.marks:
        timed = [column for column in table.columns if column.years or column.type == "date"]
        return timed[0] if len(timed) == 1 else None
    ends = {at + length for at, kind, length in found.operations if kind == "list"}
    asked = [item for at, item in named if at in ends and (item.years or item.type == "date")]
    others = [item for _, item in named if item.type != "text" and item not in asked]
    return asked[0] if len(asked) == 1 and others else None


def _is_of(column: Column, kind: str) -> bool:
    """Whether a column is of a kind, by its type or name."""
    if kind == "time" and (column.years or column.type == "date"):
        return True
    return column.type == "number" and bool({*_core(column.name)} & _kinds_of_columns()[kind])


def _spends(found: _Found, operation: Operation) -> bool:
    """Whether money is meant without naming its column: "what do they cost together"."""
    return "spend" in found.marks and operation not in ("list", "count")


def _fits_units(found: _Found, measures: Sequence[Column]) -> bool:
    """Whether the units that the question names by themselves are those of the measure, which is a
    ratio where the question says so."""
    if found.ratio and not any(
        _RATIO.search(f"{measure.name.casefold()} {measure.unit}") for measure in measures
    ):
        return False
    return all(measures and _has_unit(unit, measures[0]) for unit in found.units)


def _group_place(found: _Found) -> int | None:
    """Where it is said by what the rows are taken together ("per ward")."""
    starts = {at for at, _, _ in found.columns}
    plain = [at for at, kind, _ in found.operations if kind == "group"]
    by = [at for at, kind, _ in found.operations if kind == "by" and at + 1 in starts]
    return next(iter((*plain, *by)), None)


def _group(named: Sequence[tuple[int, Column]], place: int, operation: Operation) -> str | None:
    """The column whose name follows; None where there is none, or each row has another value."""
    behind = [item for at, item in named if at > place and (item.type == "text" or item.years)]
    if len(behind) != 1 or behind[0].unique or operation not in ("count", "sum", "average"):
        return None
    return behind[0].name


def _operation(found: _Found) -> tuple[Operation, str] | None:
    """The operation, and the kind of column that it implies."""
    kinds = dict.fromkeys(kind for _, kind, _ in found.operations)
    if [kind for _, kind, _ in found.operations].count("group") > 1:
        return None
    extremes = [item for item in kinds if item.partition("_")[0] in ("most", "least")]
    others = {item for item in kinds if item not in extremes} - {"group", "by"}
    if extremes:
        if len(extremes) > 1 or others - {"list", "number"}:
            return None
        way, _, implied = extremes[0].partition("_")
        return ("most" if way == "most" else "least"), implied
    others = {"count" if item == "number" else item for item in others}
    if "sort" in others:
        return ("list", "") if others <= {"sort", "list"} else None
    others = others - {"list"} or others
    if others == {"count", "sum"} or others == {"count"}:
        return "count", ""
    if others == {"sum"}:
        return "sum", ""
    if others == {"average"}:
        return "average", ""
    return ("list", "") if others == {"list"} else None


def _conditions(found: _Found) -> tuple[Condition, ...] | None:
    """The conditions; several values of one column are alternatives. None where that is not said,
    or where one column is compared twice."""
    by_column: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for _, column, cells in found.values:
        by_column[column].append(cells)
    several = {column for column, cells in by_column.items() if len(cells) > 1}
    # What is neither this nor that is not what is either.
    if several and ("and" not in found.marks or several & found.denied):
        return None
    numbers = [condition.column for condition in found.compared]
    if len(set(numbers)) < len(numbers):
        return None
    chosen = tuple(
        Condition(column, "in", tuple(dict.fromkeys(item for part in cells for item in part)))
        for column, cells in by_column.items()
    )
    return (*chosen, *found.compared)


def _find_implied_column(table: TypedTable, kind: str) -> Column | None:
    """The column that "cheapest" or "oldest" means."""
    if kind in _REVERSED:
        numbers = [
            column for column in table.columns if column.type == "number" and not column.years
        ]
        return _only(numbers, kind) or _find_implied_column(table, _REVERSED[kind])
    if kind == "time":
        timed = [column for column in table.columns if column.years or column.type == "date"]
        return timed[0] if len(timed) == 1 else None
    return _only(
        [column for column in table.columns if column.type == "number" and not column.years], kind
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the question names, from which the operation makes a question or nothing."""

    table: TypedTable
    found: _Found
    conditions: tuple[Condition, ...]
    measure: Column | None
    texts: tuple[Column, ...]
    group: str

    def question(self, operation: Operation, place: int) -> TableQuestion | None:
        """What the operation asks, where the measure stands at a place of the question."""
        if operation == "count":
            ends = [
                at + length
                for at, kind, length in self.found.operations
                if kind in ("count", "number")
            ]
            return self.things(follows=place in ends) if self.measure else self.count()
        if operation in ("sum", "average"):
            return self.figure(operation)
        if operation in ("most", "least"):
            return self.extreme(operation)
        return self.list_rows(sorts=any(kind == "sort" for _, kind, _ in self.found.operations))

    def things(self, follows: bool) -> TableQuestion | None:
        """ "How many", of a column that holds numbers of things: their sum, or the cell of the row
        that is named."""
        key = self._key_condition()
        if self.measure is None or self.texts or "different" in self.found.marks:
            return None
        if not self._sums(self.measure) or not (follows or key):
            return None
        if key and len(select_rows(self.table, self.conditions)) != 1:
            return None
        return self._question("sum", measure=self.measure.name)

    def count(self) -> TableQuestion | None:
        """ "How many": rows, or different values. Where each row is a thing of its own, its figure
        stands in a cell, and no row is counted. A title does not say that all stand there ("how
        many rooms does the hospital have")."""
        different = "different" in self.found.marks
        unsure = bool(self.found.titled) and not self.conditions
        if len(self.texts) > 1 or unsure or self._key_condition():
            return None
        if self.texts:
            [entity] = self.texts
            if not different and self._quantities() and not entity.unique:
                return None
            return self._question("count", entity=entity.name, different=different)
        if different:
            return None
        return self._question("count") if "rows" in self.found.marks else self._count_values()

    def _count_values(self) -> TableQuestion | None:
        """The rows of a value that is counted; where a column says how many of it there are, the
        sum of that."""
        if not any(
            isinstance(value, str) for condition in self.conditions for value in condition.values
        ):
            return None
        things = self._quantities()
        if not things:
            return self._question("count")
        alone = len(things) == 1 and self._sums(things[0])
        return self._question("sum", measure=things[0].name) if alone else None

    def figure(self, operation: Operation) -> TableQuestion | None:
        """A sum or an average of the column that is named."""
        measure = self.measure
        if measure is None or measure.type != "number" or "different" in self.found.marks:
            return None
        if operation == "sum" and not self._sums(measure, whole=False):
            return None
        if measure.years:
            return None
        return self._question(operation, measure=measure.name)

    def extreme(self, operation: Operation) -> TableQuestion | None:
        """The rows with the highest or lowest figure; or the value that most rows have ("which ward
        has the most devices")."""
        if "different" in self.found.marks:
            return None
        if self.measure is not None:
            entity = self.texts[0].name if self.texts else ""
            return self._question(operation, measure=self.measure.name, entity=entity)
        lists = any(kind == "list" for _, kind, _ in self.found.operations)
        counted = len(self.texts) == 2 or (len(self.texts) == 1 and self.conditions)
        if not lists or not counted or self.texts[0].unique or self._quantities():
            return None
        entity = self.texts[1].name if len(self.texts) == 2 else ""
        return replace(self._question(operation, entity=entity), group=self.texts[0].name)

    def list_rows(self, sorts: bool) -> TableQuestion | None:
        """All rows under the conditions, or all in the order of a column."""
        if sorts:
            by = self.measure.name if self.measure else self.texts[-1].name if self.texts else ""
            down = "descending" in self.found.marks
            return self._question("list", measure=by, descending=down) if by else None
        if self.measure is not None or not self.conditions:
            return None
        return self._question("list", entity=self.texts[0].name if self.texts else "")

    def _question(
        self,
        operation: Operation,
        measure: str = "",
        entity: str = "",
        different: bool = False,
        descending: bool = False,
    ) -> TableQuestion:
        return TableQuestion(
            self.table,
            operation,
            measure,
            self.group,
            entity,
            different,
            descending,
            self.conditions,
            (self.found.named, self.found.whole, self.found.called),
        )

    def _key_condition(self) -> bool:
        """Whether a condition is on what each row is called. Where nothing tells the rows apart,
        every condition may be: a group may have a row for each year."""
        keys = [
            column.name for column in self.table.columns if column.type == "text" and column.unique
        ]
        chosen = [
            condition.column
            for condition in self.conditions
            if isinstance(condition.values[0], str)
        ]
        if not chosen or _number_of_row(self.table):
            return False
        return not keys or keys[0] in chosen

    def _quantities(self) -> list[Column]:
        """The columns that say how many things a row stands for."""
        known = _kinds_of_columns()["quantity"]
        return [
            column
            for column in self.table.columns
            if column.type == "number" and not column.years and set(_core(column.name)) & known
        ]

    def _sums(self, column: Column, whole: bool = True) -> bool:
        """Whether the figures of a column may be added up; `whole` ones only, where things are
        counted."""
        said = f"{column.name.casefold()} {column.unit}"
        number = column.type == "number" and not column.years and not _NO_SUM.search(said)
        return number and not (whole and column.scale)


def select_rows(table: TypedTable, conditions: Sequence[Condition]) -> list[TypedRow]:
    """The rows under all conditions."""
    places = [(table.place(condition.column), condition) for condition in conditions]
    return [row for row in table.rows if all(_holds(row, at, item) for at, item in places)]


def _holds(row: TypedRow, place: int, condition: Condition) -> bool:
    value = row.values[place]
    if value is None:
        return False
    if condition.comparison == "in" and not condition.year:
        return value in condition.values
    number = Decimal(value.year) if isinstance(value, date) else value
    [wanted] = condition.values
    if isinstance(number, str) or isinstance(wanted, str):
        return False
    return {
        "in": number == wanted,
        ">": number > wanted,
        ">=": number >= wanted,
        "<": number < wanted,
        "<=": number <= wanted,
    }[condition.comparison]
