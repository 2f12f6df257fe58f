"""What was computed, as a sentence in the language of the question, and the rows beside it."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from importlib.resources import files

from ragstone.language.quantities import COMMA_DECIMAL
from ragstone.plugins.tables.cells import CellComputation
from ragstone.plugins.tables.computation import DECIMALS, ComputedRows, compute
from ragstone.plugins.tables.table_question import Condition, TableQuestion
from ragstone.retrieve.typed_table import MAX_DECIMALS

SHOWN = 10
"""Rows that are shown at most, and groups that are named."""

_TEXTS: Mapping[str, Mapping[str, Mapping[str, str]]] = json.loads(
    files(__package__).joinpath("data/sentences.json").read_text(encoding="utf-8")
)
"""What is said of rows and of cells, by language."""


def _find_texts(kind: str, language: str) -> Mapping[str, str]:
    return _TEXTS[kind].get(language, _TEXTS[kind]["en"])


def describe_computation(item: CellComputation, language: str) -> str:
    """Return the sentence that states what was computed of some cells, with the formula."""
    form = _find_texts("cells", language)[item.operation]
    scale = max(max(0, -int(cell.value.as_tuple().exponent)) for cell in item.cells)
    scale = min(scale, MAX_DECIMALS)
    places = {"change": scale, "sum": scale, "most": scale, "least": scale}.get(item.operation, 2)
    numbers = [_figure(cell.value, scale, language) for cell in item.cells]
    numbers = [f"({n})" if c.value < 0 else n for n, c in zip(numbers, item.cells, strict=True)]
    names = [_one_line(item.name_cell(cell)) for cell in item.cells]
    best, formula = item.cells[0], item.format_formula(numbers)
    if item.operation in ("most", "least"):
        down = item.operation == "most"
        ordered = sorted(item.cells, key=lambda c: c.value, reverse=down)
        best = item.extremes[0]
        formula = (" > " if down else " < ").join(
            _figure(c.value, scale, language) for c in ordered
        )
    return form.format(
        subject=_one_line(item.subject) or "-",
        first=names[0],
        last=names[-1],
        places=", ".join(names),
        best=_one_line(item.name_cell(best)),
        formula=formula,
        figure=_figure(item.figure, places, language),
    )


NAMING = frozenset(("count", "list", "most", "least"))
"""Operations whose rows are named: that tells what was counted."""


def describe_reading(asked: TableQuestion, language: str) -> str:
    """Return the sentence that states what it comes to; empty where that is nothing."""
    found = compute(asked)
    return sentence(asked, found, language) if found else ""


def sentence(asked: TableQuestion, found: ComputedRows, language: str) -> str:
    """Return the sentence that states what was computed."""
    texts = _find_texts("rows", language)
    count = len(found.rows)
    scale = next((c.scale for c in asked.table.columns if c.name == asked.measure), 0)
    exact = scale if scale >= 0 else MAX_DECIMALS
    places = 2 if asked.operation == "share" else exact
    if asked.operation in ("average", "difference") and asked.measure:
        places = DECIMALS
    conditions = texts["and"].join(
        _condition(condition, texts, language)
        for condition in asked.conditions
        if asked.operation != "difference"
    )
    named = [
        _one_line(name) if asked.operation == "values"
        else f"{_one_line(name)} ({_figure(item, places, language)})"
        for name, item in found.groups[:SHOWN]
    ]  # fmt: skip
    names = _list_names(asked, found)
    said = texts[_form(asked, found)].format(
        table=_one_line(asked.table.title),
        n=_figure(
            Decimal(len(found.groups) if asked.operation == "values" else count), 0, language
        ),
        where=texts["where"].format(conditions=conditions) if conditions else "",
        measure=asked.measure,
        group=asked.group,
        figure=_figure(found.figure, places, language),
        among=_figure(Decimal(found.among), 0, language),
        part=_condition(asked.of_share, texts, language) if asked.of_share else "",
        groups=", ".join(named),
        names=", ".join(names),
    )
    if asked.operation in NAMING and asked.limit == 1 and names:
        said += f" ({', '.join(_name_columns(asked))}: {', '.join(names)})"
    if found.empty:
        said += texts["empty"].format(empty=found.empty)
    if asked.table.totals:
        said += texts["totals"]
    if count > SHOWN:
        said += texts["first"].format(shown=SHOWN)
    return f"{said}{'。' if language == 'zh' else '.'}"


def _name_columns(asked: TableQuestion) -> list[str]:
    """Return the columns that tell rows apart for readers: the first of texts, or the first, and
    the year or date of the highest and lowest where that alone does not. What is measured, or the
    same in all, tells nothing."""
    said = {asked.measure}
    said |= {c.column for c in asked.conditions if c.comparison == "in" and len(c.values) == 1}
    columns = [column for column in asked.table.columns if column.name not in said]
    columns = columns or list(asked.table.columns)
    texts = [column for column in columns if column.type == "text"]
    unique = [column for column in texts if column.unique]
    name = (unique or texts or columns)[0]
    times = [column for column in columns if column.type == "date" or column.years]
    is_enough = name.unique or name in times or asked.operation not in ("most", "least")
    return [name.name, *(column.name for column in times[: not is_enough])]


def _list_names(asked: TableQuestion, found: ComputedRows) -> list[str]:
    places = [asked.table.place(column) for column in _name_columns(asked)]
    names = dict.fromkeys(
        " ".join(_one_line(row.cells[place] or "") for place in places).strip()
        for row in found.rows[:SHOWN]
    )
    return [name for name in names if name]


def _form(asked: TableQuestion, found: ComputedRows) -> str:
    rows = len(found.rows)
    match asked.operation:
        case "most" | "least" if asked.limit > 1:
            return "top" if asked.operation == "most" else "bottom"
        case "most" | "least":
            return f"{asked.operation}_date" if isinstance(found.figure, date) else asked.operation
        case "commonest":
            return "largest_sum" if asked.measure else "most_rows"
        case "rarest":
            return "smallest_sum" if asked.measure else "least_rows"
        case "difference":
            return "difference" if asked.measure else "difference_rows"
        case "count" if not asked.conditions:
            return "all_rows"
        case "count" | "list" | "cell":
            return "rows_1" if rows == 1 else "rows"
        case "sum" | "average" if rows == 1:
            return "cell"
        case operation:
            return operation


def _condition(condition: Condition, texts: Mapping[str, str], language: str) -> str:
    values = [
        _figure(v, 8, language, groups=not condition.part and not _is_year(v))
        if isinstance(v, (Decimal, date))
        else _one_line(v)
        for v in condition.values[:SHOWN]
    ]
    column = condition.column
    if condition.part:
        column = texts[condition.part].format(column=column)
    either = texts["or"].join(values)
    match condition.comparison:
        case "in":
            return texts["is"].format(column=column, values=either)
        case "not in":
            return texts["denied"].format(column=column, values=either)
        case "empty":
            return texts["empty_cell"].format(column=column)
        case "between":
            return texts["between"].format(column=column, first=values[0], last=values[1])
        case comparison:
            value = condition.values[0]
            of_time = isinstance(value, date) or (isinstance(value, Decimal) and _is_year(value))
            form = f"year {comparison}" if of_time and comparison in "<>" else comparison
            return texts[form].format(column=column, values=values[0])


def _is_year(value: Decimal | date) -> bool:
    return isinstance(value, Decimal) and value == int(value) and 1900 <= value <= 2100


def _figure(value: Decimal | date | None, places: int, language: str, groups: bool = True) -> str:
    """Return a figure as the language writes it, without zeros at its end."""
    if not isinstance(value, Decimal):
        return value.isoformat() if value else ""
    text = f"{value:,.{places}f}" if groups and abs(value) >= 10_000 else f"{value:.{places}f}"
    if "." in text and (places >= DECIMALS or value == int(value)):
        text = text.rstrip("0").rstrip(".")
    if language in COMMA_DECIMAL:
        text = text.translate(str.maketrans(",.", "\u202f," if language == "fr" else ".,"))
    return text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def record(asked: TableQuestion, cells: Sequence[str | None]) -> str:
    """Return the cells of a long row that the question is about."""
    wanted = {
        asked.measure,
        asked.group,
        *_name_columns(asked),
        *(condition.column for condition in asked.conditions),
    }
    kept = [
        f"{column.name}: {cell}"
        for place, (column, cell) in enumerate(zip(asked.table.columns, cells, strict=True))
        if cell and (place == 0 or column.name in wanted)
    ]
    return "; ".join(kept)
