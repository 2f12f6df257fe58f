"""What was computed, as a sentence in the language of the question, and the rows beside it."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal

from ragstone.language.quantities import COMMA_DECIMAL
from ragstone.plugins.tables.cells import CellComputation
from ragstone.plugins.tables.computation import DECIMALS, ComputedRows, compute
from ragstone.plugins.tables.table_question import Condition, TableQuestion
from ragstone.retrieve.typed_table import MAX_DECIMALS

SHOWN = 10
"""Rows that are shown at most, and groups that are named."""

_TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "rows_1": "1 row of the table “{table}” matches{where}",
        "rows": "{n} rows of the table “{table}” match{where}",
        "all_rows": "The table “{table}” has {n} rows",
        "sum": "The sum of {measure} over {n} rows of the table “{table}” is {figure}{where}",
        "cell": "{measure} is {figure} in the table “{table}”{where}",
        "average": "The average {measure} of {n} rows of the table “{table}” is {figure}{where}",
        "most": "The highest {measure} in the table “{table}” is {figure}{where}",
        "least": "The lowest {measure} in the table “{table}” is {figure}{where}",
        "most_date": "The latest {measure} in the table “{table}” is {figure}{where}",
        "least_date": "The earliest {measure} in the table “{table}” is {figure}{where}",
        "most_rows": "Most rows of the table “{table}” have the {group} {groups}{where}",
        "least_rows": "Fewest rows of the table “{table}” have the {group} {groups}{where}",
        "values": "{measure} has {n} different values in the table “{table}”{where}: {groups}",
        "top": "The {n} highest {measure} in the table “{table}”{where}: {names}",
        "bottom": "The {n} lowest {measure} in the table “{table}”{where}: {names}",
        "largest_sum": "The {group} with most {measure} in “{table}” is {groups}{where}",
        "smallest_sum": "The {group} with least {measure} in “{table}” is {groups}{where}",
        "share": "For {figure} % of {among} rows of the table “{table}”{where}, {part}",
        "difference": "The average {measure} in “{table}” differs by {figure}: {groups}",
        "difference_rows": "The numbers of rows in “{table}” differ by {figure}: {groups}",
        "between": "{column} is between {first} and {last}",
        "empty_cell": "{column} is empty",
        "denied": "{column} is not {values}",
        "month": "the month of {column}",
        "empty": "; {empty} of the rows have no figure there",
        "totals": "; rows of totals are left out",
        "first": " (the first {shown} follow)",
        "where": " where {conditions}",
        "and": " and ", "or": " or ", "is": "{column} is {values}",
        ">": "{column} is over {values}", ">=": "{column} is at least {values}",
        "<": "{column} is under {values}", "<=": "{column} is at most {values}",
        "year <": "{column} is before {values}", "year >": "{column} is after {values}",
        "year": "the year of {column}",
    },
    "de": {
        "rows_1": "1 Zeile der Tabelle „{table}“ passt{where}",
        "rows": "{n} Zeilen der Tabelle „{table}“ passen{where}",
        "all_rows": "Die Tabelle „{table}“ hat {n} Zeilen",
        "sum": "Die Summe von {measure} über {n} Zeilen der Tabelle „{table}“ ist {figure}{where}",
        "cell": "{measure} ist in der Tabelle „{table}“ {figure}{where}",
        "average": "{measure} ist im Durchschnitt von {n} Zeilen in „{table}“ {figure}{where}",
        "most": "Der höchste Wert von {measure} in der Tabelle „{table}“ ist {figure}{where}",
        "least": "Der niedrigste Wert von {measure} in der Tabelle „{table}“ ist {figure}{where}",
        "most_date": "Der späteste Wert von {measure} in „{table}“ ist {figure}{where}",
        "least_date": "Der früheste Wert von {measure} in „{table}“ ist {figure}{where}",
        "most_rows": "Die meisten Zeilen der Tabelle „{table}“ haben {group} {groups}{where}",
        "least_rows": "Die wenigsten Zeilen der Tabelle „{table}“ haben {group} {groups}{where}",
        "values": "{measure} hat in „{table}“ {n} verschiedene Werte{where}: {groups}",
        "top": "Die {n} höchsten Werte von {measure} in „{table}“{where}: {names}",
        "bottom": "Die {n} niedrigsten Werte von {measure} in „{table}“{where}: {names}",
        "largest_sum": "{group} mit am meisten {measure}: {groups} („{table}“{where})",
        "smallest_sum": "{group} mit am wenigsten {measure}: {groups} („{table}“{where})",
        "share": "Für {figure} % von {among} Zeilen in „{table}“{where} gilt, dass {part}",
        "difference": "{measure} unterscheidet sich in „{table}“ im Schnitt um {figure}: {groups}",
        "difference_rows": "Die Zeilenzahlen in „{table}“ unterscheiden sich um {figure}: {groups}",
        "between": "{column} zwischen {first} und {last} liegt",
        "empty_cell": "{column} leer ist",
        "denied": "{column} nicht {values} ist",
        "month": "der Monat von {column}",
        "empty": "; {empty} der Zeilen haben dort keine Zahl",
        "totals": "; Summenzeilen sind nicht mitgezählt",
        "first": " (die ersten {shown} folgen)",
        "where": ", wo {conditions}",
        "and": " und ", "or": " oder ", "is": "{column} {values} ist",
        ">": "{column} über {values} liegt", ">=": "{column} mindestens {values} ist",
        "<": "{column} unter {values} liegt", "<=": "{column} höchstens {values} ist",
        "year <": "{column} vor {values} liegt", "year >": "{column} nach {values} liegt",
        "year": "das Jahr von {column}",
    },
    "zh": {
        "rows_1": "表“{table}”中有 1 行符合{where}",
        "rows": "表“{table}”中有 {n} 行符合{where}",
        "all_rows": "表“{table}”共有 {n} 行",
        "sum": "表“{table}”中 {n} 行的 {measure} 总和是 {figure}{where}",
        "cell": "表“{table}”中 {measure} 是 {figure}{where}",
        "average": "表“{table}”中 {n} 行的 {measure} 平均值是 {figure}{where}",
        "most": "表“{table}”中 {measure} 的最大值是 {figure}{where}",
        "least": "表“{table}”中 {measure} 的最小值是 {figure}{where}",
        "most_date": "表“{table}”中 {measure} 的最晚日期是 {figure}{where}",
        "least_date": "表“{table}”中 {measure} 的最早日期是 {figure}{where}",
        "most_rows": "表“{table}”中行数最多的 {group} 是 {groups}{where}",
        "least_rows": "表“{table}”中行数最少的 {group} 是 {groups}{where}",
        "values": "表“{table}”中 {measure} 有 {n} 个不同的值{where}：{groups}",
        "top": "表“{table}”中 {measure} 最大的 {n} 个值{where}：{names}",
        "bottom": "表“{table}”中 {measure} 最小的 {n} 个值{where}：{names}",
        "largest_sum": "表“{table}”中 {measure} 总和最大的 {group} 是 {groups}{where}",
        "smallest_sum": "表“{table}”中 {measure} 总和最小的 {group} 是 {groups}{where}",
        "share": "表“{table}”的 {among} 行中有 {figure} % 符合{part}{where}",
        "difference": "表“{table}”中 {measure} 的平均值相差 {figure}：{groups}",
        "difference_rows": "表“{table}”中的行数相差 {figure}：{groups}",
        "between": "{column} 在 {first} 和 {last} 之间",
        "empty_cell": "{column} 为空",
        "denied": "{column} 不是 {values}",
        "month": "{column} 的月份",
        "empty": "；其中 {empty} 行没有数值",
        "totals": "；合计行不计在内",
        "first": "（以下为前 {shown} 行）",
        "where": "（{conditions}）",
        "and": "，", "or": " 或 ", "is": "{column} 为 {values}",
        ">": "{column} 大于 {values}", ">=": "{column} 不小于 {values}",
        "<": "{column} 小于 {values}", "<=": "{column} 不大于 {values}",
        "year <": "{column} 早于 {values}", "year >": "{column} 晚于 {values}",
        "year": "{column} 的年份",
    },
}  # fmt: skip

_COMPUTATIONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "change": "{subject}, {first} less {last}: {formula} = {figure}.",
        "percent": "{subject}, change from {last} to {first}: {formula} = {figure} %.",
        "sum": "{subject}, sum of {places}: {formula} = {figure}.",
        "average": "{subject}, average of {places}: {formula} = {figure}.",
        "share": "{subject}, {first} as a share of {last}: {formula} = {figure} %.",
        "ratio": "{subject}, ratio of {first} to {last}: {formula} = {figure}.",
        "most": "{subject} is highest for {best}, {figure} ({formula}).",
        "least": "{subject} is lowest for {best}, {figure} ({formula}).",
    },
    "de": {
        "change": "{subject}, {first} weniger {last}: {formula} = {figure}.",
        "percent": "{subject}, Veränderung von {last} zu {first}: {formula} = {figure} %.",
        "sum": "{subject}, Summe von {places}: {formula} = {figure}.",
        "average": "{subject}, Durchschnitt von {places}: {formula} = {figure}.",
        "share": "{subject}, Anteil von {first} an {last}: {formula} = {figure} %.",
        "ratio": "{subject}, Verhältnis von {first} zu {last}: {formula} = {figure}.",
        "most": "{subject} ist am höchsten für {best}, {figure} ({formula}).",
        "least": "{subject} ist am niedrigsten für {best}, {figure} ({formula}).",
    },
    "zh": {
        "change": "{subject}，{first} 减 {last}：{formula} = {figure}。",
        "percent": "{subject}，从 {last} 到 {first} 的变化：{formula} = {figure} %。",
        "sum": "{subject}，{places} 之和：{formula} = {figure}。",
        "average": "{subject}，{places} 的平均值：{formula} = {figure}。",
        "share": "{subject}，{first} 占 {last} 的比例：{formula} = {figure} %。",
        "ratio": "{subject}，{first} 与 {last} 之比：{formula} = {figure}。",
        "most": "{subject} 最高的是 {best}，{figure}（{formula}）。",
        "least": "{subject} 最低的是 {best}，{figure}（{formula}）。",
    },
}


def describe_computation(item: CellComputation, language: str) -> str:
    """Return the sentence that states what was computed of some cells, with the formula."""
    form = _COMPUTATIONS.get(language, _COMPUTATIONS["en"])[item.operation]
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
    texts = _TEXTS.get(language, _TEXTS["en"])
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
        text = text.translate(str.maketrans(",.", ".,"))
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
