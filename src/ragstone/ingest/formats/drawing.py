"""What Word and PowerPoint draw from data: charts as tables, diagrams (SmartArt) as lists."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragstone.ingest.document import Block
from ragstone.ingest.formats.numbering import BULLET
from ragstone.ingest.formats.tables import table_blocks

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_MAX_POINTS = 10_000
_PROCESS = re.compile(r"/layout/[^/]*(?:process|chevron|arrow|cycle|timeline|funnel)[^/]*$", re.I)
"""The layouts of diagrams whose nodes follow each other."""

_STEPS_CHARS = 500
"""Longer steps are a list and no line."""


def chart_blocks(root: Any | None, page: int | None = None) -> Iterator[Block]:
    """Yield a chart as a table: a row for each category, a column for each series."""
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


def diagram_blocks(root: Any | None, page: int | None = None) -> Iterator[Block]:
    """A diagram as a list, each node below its parent; of a process its steps in a line too."""
    if root is None:
        return
    nodes = {
        point.get("modelId", ""): _paragraphs(point)
        for point in root.iter(f"{_DGM}pt")
        if point.get("type", "node") in ("node", "asst", "doc")
    }
    places = _place_nodes(root, nodes)
    for node, depth in places.items():
        for text in nodes[node]:
            yield Block(f"{BULLET} {text}", "item", max(depth, 1), page, BULLET)
    kinds = (item.get("loTypeId", "") for item in root.iter(f"{_DGM}prSet"))
    if _PROCESS.search(next(filter(None, kinds), "")):
        least = min((depth for node, depth in places.items() if nodes[node]), default=0)
        steps = [" ".join(nodes[node]) for node, depth in places.items() if depth == least]
        steps = [step for step in steps if step]
        if len(steps) > 1 and sum(map(len, steps)) <= _STEPS_CHARS:
            yield Block(" → ".join(steps), page=page)


def _paragraphs(point: Any) -> list[str]:
    body = point.find(f"{_DGM}t")
    lines = body.iter(f"{_A}p") if body is not None else ()
    return [text for line in lines if (text := " ".join("".join(_texts(line)).split()))]


def _place_nodes(root: Any, nodes: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the nodes in the order of the diagram, each with how deep it lies."""
    below: dict[str, list[tuple[int, str]]] = {}
    for link in root.iter(f"{_DGM}cxn"):
        source, target, order = link.get("srcId"), link.get("destId"), link.get("srcOrd", "")
        if link.get("type", "parOf") == "parOf" and source in nodes and target in nodes:
            place = int(order) if order.isdecimal() else 0
            below.setdefault(source, []).append((place, target))
    inside = {target for links in below.values() for _, target in links}
    # What lies in no other node begins; damaged files have circles, whose nodes come last.
    waiting = [(node, 0) for node in reversed([*nodes])]
    waiting += [(node, 0) for node in reversed([*nodes]) if node not in inside]
    places: dict[str, int] = {}
    while waiting:
        node, depth = waiting.pop()
        if node not in places:
            places[node] = depth
            waiting += [
                (child, depth + 1) for _, child in sorted(below.get(node, ()), reverse=True)
            ]
    return places


def _first(series: Any, *names: str) -> Any | None:
    return next((one for name in names if (one := series.find(f"{_C}{name}")) is not None), None)


def _points(root: Any | None) -> dict[int, str]:
    """Return the cached values by their index; numbers without the noise of binary fractions."""
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
