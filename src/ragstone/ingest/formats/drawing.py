"""What Word and PowerPoint draw from data: charts as tables, diagrams (SmartArt) as lines."""

from collections.abc import Iterator
from typing import Any

from ragstone.ingest.document import Block
from ragstone.ingest.formats.tables import table_blocks

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_MAX_POINTS = 10_000


def chart_blocks(root: Any | None, page: int | None = None) -> Iterator[Block]:
    """A chart as a table: a row for each category, a column for each series."""
    if root is None:
        return
    title = " ".join("".join(_texts(item)) for item in root.iter(f"{_C}title"))
    title = " ".join(title.split())
    columns: list[tuple[str, dict[int, str]]] = []
    categories: dict[int, str] = {}
    for series in root.iter(f"{_C}ser"):
        name = " ".join(_points(series.find(f"{_C}tx")).values())
        values = _points(_first(series, "val", "yVal"))
        categories = categories or _points(_first(series, "cat", "xVal"))
        columns.append((name or f"Series {len(columns) + 1}", values))
    places = sorted({place for _, values in columns for place in values} | set(categories))
    rows = [["", *(name for name, _ in columns)]]
    rows += [
        [categories.get(place, str(place + 1)), *(values.get(place, "") for _, values in columns)]
        for place in places[:_MAX_POINTS]
    ]
    if columns and places:
        yield from table_blocks(rows, 1, title, page)
    elif title:
        yield Block(title, "caption", page=page)


def diagram_lines(root: Any | None) -> Iterator[str]:
    """The texts of a diagram's nodes in their order."""
    if root is None:
        return
    for point in root.iter(f"{_DGM}pt"):
        if point.get("type", "node") not in ("node", "asst", "doc"):
            continue
        body = point.find(f"{_DGM}t")
        for paragraph in body.iter(f"{_A}p") if body is not None else ():
            if text := " ".join("".join(_texts(paragraph)).split()):
                yield text


def _first(series: Any, *names: str) -> Any | None:
    return next((one for name in names if (one := series.find(f"{_C}{name}")) is not None), None)


def _points(root: Any | None) -> dict[int, str]:
    """The cached values by their index; numbers without the noise of binary fractions."""
    found: dict[int, str] = {}
    for point in root.iter(f"{_C}pt") if root is not None else ():
        value = point.find(f"{_C}v")
        index = point.get("idx", "")
        if value is not None and value.text and index.isdecimal():
            found[int(index)] = _number(value.text.strip())
    return found


def _number(text: str) -> str:
    try:
        return f"{float(text):.10g}" if len(text) > 10 and "." in text else text
    except ValueError:
        return text


def _texts(element: Any) -> Iterator[str]:
    for text in element.iter(f"{_A}t"):
        yield text.text or ""
