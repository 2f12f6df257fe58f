"""Ruled tables of a PDF page: their lines make the cells, also those merged over several."""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_layout import TableRow, build_rows, is_value
from ragstone.ingest.formats.pdf_lines import (
    PageLine,
    TextRun,
    build_line,
    join_boxes,
    join_lines,
    share_column,
)
from ragstone.ingest.formats.pdf_rules import Rule, Rules
from ragstone.ingest.formats.pdf_tables import MAX_RUNS, Table
from ragstone.ingest.formats.tables import (
    are_names,
    find_sideways,
    is_banner,
    is_first_data,
    name_columns,
    row_line,
)

STANDS_FOR = "\ufffc"
"""The text of the line that stands where a ruled table does."""

_TOUCH = 3.0
"""Lines that miss each other by fewer points still meet, and edges so near are one."""

_OPEN = 8.0
"""So far beyond the last line down, the ends of those across show that a side is open."""

_MAX_COLUMNS = 60
_MAX_ROWS = 400
_MAX_CELLS = 6_000
_MAX_GRIDS = 40
_MAX_TEXT = 2_000
"""A cell with more characters is a part of the page's layout."""

_MAX_LABEL_DISTANCE = 250.0
"""Labels outside of the lines begin no farther away, in points."""

_FILLED = 0.3
"""At least this share of a table's cells has text: the lines of a chart cut it in more."""

_HEAD_ROWS = 4
_LOOK_AHEAD = 6


class _Span(NamedTuple):
    """A cell: its first row and column, and those after its last."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class _Grid:
    """The edges of columns and rows in points, and the cells between them."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[_Span, ...]

    def place(self, run: TextRun) -> tuple[int, int] | None:
        """Return the row and the column in which the middle of a run is."""
        row = bisect_right(self.ys, (run.box.top + run.box.bottom) / 2) - 1
        column = bisect_right(self.xs, (run.box.left + run.box.right) / 2) - 1
        inside = 0 <= row < len(self.ys) - 1 and 0 <= column < len(self.xs) - 1
        return (row, column) if inside else None


def extract_ruled_tables(
    lines: Sequence[PageLine], rules: Rules, before: Table | None, words: set[str]
) -> tuple[list[PageLine], dict[Box, Table]]:
    """Return the lines of a page with one line in the place of each ruled table, and the tables by
    the boxes of those. `before` is the table with which the last page ended."""
    found: dict[Box, Table] = {}
    kept = list(lines)
    if sum(len(line.runs) for line in lines) > MAX_RUNS:
        return kept, found
    # Maps and circuit plans are made of hundreds of grids.
    for ruled in itertools.islice(_grids(rules), _MAX_GRIDS):
        grid = _add_labels(ruled, kept)
        inside = [[run for run in line.runs if grid.place(run)] for line in kept]
        table = _table(grid, [run for runs in inside for run in runs], before, words)
        if table is None:
            continue
        outside = (
            line if not runs else build_line([run for run in line.runs if run not in runs])
            for line, runs in zip(kept, inside, strict=True)
        )
        kept = [line for line in outside if line]
        stands = PageLine(STANDS_FOR, table.box, runs=(TextRun(STANDS_FOR, table.box),))
        kept.insert(_place(kept, table.box), stands)
        found[table.box] = table
        # Only the first table of a page goes on from the page before.
        before = None
    return kept, found


def _add_labels(grid: _Grid, lines: Sequence[PageLine]) -> _Grid:
    """The grid with a column for the labels that stand left of its rows, outside of the lines."""
    runs = [run for line in lines for run in line.runs]
    inside = [run for run in runs if grid.place(run)]
    left, top, bottom = grid.xs[0], grid.ys[0], grid.ys[-1]
    labels = [
        run
        for run in runs
        if run.box.right <= left + _TOUCH and top < run.baseline <= bottom + _TOUCH
    ]
    rows = {place[0] for run in inside if (place := grid.place(run))}
    beside = [run for run in labels if any(_is_level(run, item) for item in inside)]
    # Text in the margin is not a column of labels unless it stands beside most of the rows, and
    # hardly anything of it elsewhere.
    if not labels or 2 * len(labels) < len(rows) or 5 * len(beside) < 4 * len(labels):
        return grid
    first = min(run.box.left for run in labels) - 1
    if left - first > _MAX_LABEL_DISTANCE:
        return grid
    cells = [_Span(i, 0, i + 1, 1) for i in range(len(grid.ys) - 1)]
    cells += [_Span(top, left + 1, bottom, right + 1) for top, left, bottom, right in grid.cells]
    return _Grid((first, *grid.xs), grid.ys, tuple(cells))


def _is_level(run: TextRun, other: TextRun) -> bool:
    return abs(run.baseline - other.baseline) < 0.2 * max(run.size, 4.0)


def _place(lines: Sequence[PageLine], box: Box) -> int:
    """Where among the lines a table belongs: many files draw theirs before or after all else."""
    beside = [(line.box, place) for place, line in enumerate(lines) if share_column(line.box, box)]
    above = [(item.bottom, place) for item, place in beside if item.bottom <= box.top + _TOUCH]
    below = [(item.top, place) for item, place in beside if item.top >= box.bottom - _TOUCH]
    if above:
        return max(above)[1] + 1
    # Nothing may stand right above or below: then it is placed by its height alone.
    below = below or [(0.0, at) for at, line in enumerate(lines) if line.box.top >= box.bottom]
    return min(below)[1] if below else len(lines)


def _grids(rules: Rules) -> Iterator[_Grid]:
    """Yield the grids that lines make which meet, from the top down."""
    found = [_grid(across, down) for across, down in _group_connected(rules)]
    yield from sorted((item for item in found if item), key=lambda item: (item.ys[0], item.xs[0]))


def _group_connected(rules: Rules) -> Iterator[tuple[list[Rule], list[Rule]]]:
    waiting = set(range(len(rules.down)))
    free = set(range(len(rules.across)))
    while waiting:
        down, across = {waiting.pop()}, set[int]()
        fresh_down, fresh_across = set(down), set[int]()
        while fresh_down:
            fresh_across = {
                i for i in free if any(_meet(rules.across[i], rules.down[j]) for j in fresh_down)
            }
            free -= fresh_across
            across |= fresh_across
            fresh_down = {
                j
                for j in waiting
                if any(_meet(rules.across[i], rules.down[j]) for i in fresh_across)
            }
            waiting -= fresh_down
            down |= fresh_down
        if len(across) > 1:
            yield [rules.across[i] for i in across], [rules.down[j] for j in down]


def _meet(across: Rule, down: Rule) -> bool:
    return (
        down.start - _TOUCH <= across.at <= down.end + _TOUCH
        and across.start - _TOUCH <= down.at <= across.end + _TOUCH
    )


def _grid(across: Sequence[Rule], down: Sequence[Rule]) -> _Grid | None:
    xs, ys = _edges(down, across), _edges(across, down)
    columns, rows = len(xs) - 1, len(ys) - 1
    if not (2 <= columns <= _MAX_COLUMNS and 2 <= rows <= _MAX_ROWS):
        return None
    if columns * rows > _MAX_CELLS:
        return None
    return _Grid(tuple(xs), tuple(ys), tuple(_spans(xs, ys, across, down)))


def _edges(rules: Sequence[Rule], others: Sequence[Rule]) -> list[float]:
    """Return where the lines stand, and where those the other way begin and end beyond them."""
    edges: list[float] = []
    for at in sorted(rule.at for rule in rules):
        if not edges or at - edges[-1] > _TOUCH:
            edges.append(at)
    start = min(rule.start for rule in others)
    end = max(rule.end for rule in others)
    # Many tables have no line at their left or right side; at least two lines must end there.
    if start < edges[0] - _OPEN and sum(rule.start < start + _TOUCH for rule in others) > 1:
        edges.insert(0, start)
    if end > edges[-1] + _OPEN and sum(rule.end > end - _TOUCH for rule in others) > 1:
        edges.append(end)
    return edges


def _walls(
    rules: Sequence[Rule], edges: Sequence[float], others: Sequence[float]
) -> list[list[bool]]:
    """For each inner edge, whether a line stands there beside each stretch between `others`."""
    middles = [(start + end) / 2 for start, end in itertools.pairwise(others)]
    walls = [[False] * len(middles) for _ in edges]
    for rule in rules:
        # Lines so near to each other that they made one edge are walls of that edge.
        edge = min(range(len(edges)), key=lambda i: abs(edges[i] - rule.at))
        for i, middle in enumerate(middles):
            if rule.start <= middle <= rule.end:
                walls[edge][i] = True
    return walls


def _spans(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Rule], down: Sequence[Rule]
) -> Iterator[_Span]:
    """The cells: each as wide as no line down parts it, then as high as nothing parts all of it."""
    beside, below = _walls(down, xs, ys), _walls(across, ys, xs)
    columns, rows = len(xs) - 1, len(ys) - 1
    stretches = []
    for row in range(rows):
        cuts = [0, *(j for j in range(1, columns) if beside[j][row]), columns]
        stretches.append(set(itertools.pairwise(cuts)))
    done: set[tuple[int, int, int]] = set()
    for row in range(rows):
        for left, right in sorted(stretches[row]):
            if (row, left, right) in done:
                continue
            bottom = row + 1
            while (
                bottom < rows
                and (left, right) in stretches[bottom]
                and not any(below[bottom][left:right])
            ):
                done.add((bottom, left, right))
                bottom += 1
            yield _Span(row, left, bottom, right)


def _table(
    grid: _Grid, runs: Sequence[TextRun], before: Table | None, words: set[str]
) -> Table | None:
    texts = _texts(grid, runs)
    if not _is_table(texts) or _FILLED * len(grid.cells) > len(texts):
        return None
    rows, columns = len(grid.ys) - 1, len(grid.xs) - 1
    cells: list[list[str]] = [[""] * columns for _ in range(rows)]
    for span, inside in texts.items():
        text = join_lines([line.text for line in inside], words)[0]
        for row in range(span.top, span.bottom):
            cells[row][span.left : span.right] = [text] * (span.right - span.left)
    used = [j for j in range(columns) if any(row[j] for row in cells)]
    edges = tuple((grid.xs[j], grid.xs[j + 1]) for j in used)
    numbers = [i for i in range(rows) if any(cells[i])]
    boxes = {i: join_boxes([item.box for item in _row_lines(texts, i)]) for i in numbers}
    box = join_boxes(list(boxes.values()))
    notes: list[TableRow] = []
    table = [[cells[i][j] for j in used] for i in numbers]
    while len(table) > 2 and table[0][0] and is_banner(table[0]) and not is_banner(table[1]):
        notes.append(TableRow(table.pop(0)[0], boxes[numbers.pop(0)]))
    above = before if before and _same_columns(edges, before.columns) else None
    count, names = name_columns(table, _head(table, numbers, texts))
    # Without its own head, the first row here is data that only looks like names.
    if above is not None and any(above.names) and names != list(above.names):
        count, names = 0, list(above.names)
    places = [boxes[i] for i in numbers]
    if above is None and count < 2 and find_sideways(table) == 0:
        table, count = [list(row) for row in zip(*table, strict=True)], 1
        names = table[0]
        places = [Box(left, box.top, right, box.bottom) for left, right in edges]
    lines = [
        TableRow(line, place)
        for place, row in zip(places[count:], table[count:], strict=True)
        if (line := row_line(names, row))
    ]
    unused = [
        name for j, name in enumerate(names) if name and not any(row[j] for row in table[count:])
    ]
    # A name without a value in any row would be lost with its column.
    if unused and count:
        lines.append(TableRow(" | ".join(unused), places[0]))
    return Table(tuple(lines), tuple(notes), tuple(names), frozenset(), box, edges)


def _row_lines(texts: dict[_Span, list[PageLine]], row: int) -> list[PageLine]:
    return [line for span, own in texts.items() if span.top <= row < span.bottom for line in own]


def _texts(grid: _Grid, runs: Iterable[TextRun]) -> dict[_Span, list[PageLine]]:
    """Return the lines of text of each cell that has any, from the top."""
    owner = {
        (row, column): span
        for span in grid.cells
        for row in range(span.top, span.bottom)
        for column in range(span.left, span.right)
    }
    found: dict[_Span, list[TextRun]] = {}
    for run in runs:
        if place := grid.place(run):
            found.setdefault(owner[place], []).append(run)
    texts: dict[_Span, list[PageLine]] = {}
    for span in grid.cells:
        lines = _cell_lines(found.get(span, ()))
        if span.right - span.left > 1 and lines and all(len(line.runs) > 1 for line in lines):
            texts |= _separate_columns(grid, span, lines)
        elif lines:
            texts[span] = lines
    return texts


def _separate_columns(
    grid: _Grid, span: _Span, lines: Sequence[PageLine]
) -> dict[_Span, list[PageLine]]:
    """What stands side by side where lines down are missing, by the columns that it is in."""
    found: dict[_Span, list[TextRun]] = {}
    end = span.left
    for run in sorted((run for line in lines for run in line.runs), key=lambda item: item.box.left):
        inside = [
            j for j in range(span.left, span.right) if _overlaps_column(run, grid.xs[j : j + 2])
        ]
        first, last = (inside[0], inside[-1]) if inside else (end, end)
        own = _Span(span.top, min(first, last), span.bottom, last + 1)
        touched = [item for item in found if item.left < own.right and own.left < item.right]
        found.setdefault(touched[-1] if touched else own, []).append(run)
        end = min(last + 1, span.right - 1)
    return {own: _cell_lines(runs) for own, runs in found.items()}


def _overlaps_column(run: TextRun, edges: Sequence[float]) -> bool:
    shared = min(run.box.right, edges[1]) - max(run.box.left, edges[0])
    return shared > min(_TOUCH, 0.4 * (run.box.right - run.box.left))


def _cell_lines(runs: Sequence[TextRun]) -> list[PageLine]:
    groups: list[list[TextRun]] = []
    for run in sorted(runs, key=lambda item: item.baseline):
        if groups and run.baseline - groups[-1][0].baseline <= 0.45 * max(run.size, 4.0):
            groups[-1].append(run)
        else:
            groups.append([run])
    lines = (build_line(sorted(group, key=lambda item: item.box.left)) for group in groups)
    return [line for line in lines if line]


def _is_table(texts: dict[_Span, list[PageLine]]) -> bool:
    """Tell whether the cells hold a table's texts, one each: no layout of a page, no lines of a
    chart, no rows of figures between which no lines are."""
    columns = {span.left for span in texts}
    rows: dict[int, int] = {}
    for span in texts:
        rows[span.top] = rows.get(span.top, 0) + 1
    if len(columns) < 2 or sum(count > 1 for count in rows.values()) < 2:
        return False
    if any(sum(len(line.text) for line in lines) > _MAX_TEXT for lines in texts.values()):
        return False
    crowded = [lines for lines in texts.values() if _is_crowded(lines)]
    # A frame around whole rows is no cell; one such cell in ten may be a note in the table.
    return 10 * len(crowded) < len(texts)


def _is_crowded(lines: Sequence[PageLine]) -> bool:
    """Tell whether a cell holds several rows of figures, or several cells side by side."""
    rows = [row for line in lines for row in build_rows([(0, line)])]
    apart = sum(len(row.cells) > 1 or is_value(row.text) for row in rows)
    return len(lines) > 1 and 2 * apart > len(lines)


def _same_columns(
    columns: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]
) -> bool:
    return len(columns) == len(others) and all(
        abs(left - other_left) <= _TOUCH and abs(right - other_right) <= _TOUCH
        for (left, right), (other_left, other_right) in zip(columns, others, strict=True)
    )


def _head(
    table: Sequence[Sequence[str]], numbers: Sequence[int], texts: dict[_Span, list[PageLine]]
) -> int:
    """Tell how many of the rows name the columns: bold ones, or those without figures that reach as
    far down as a cell of the first row, and below one over several columns."""
    bold = [all(line.bold for line in _row_lines(texts, i)) for i in numbers[:_LOOK_AHEAD]]
    spans = {number: [text for text in texts if text.top == number] for number in numbers}
    if bold[0] and not all(bold):
        count = bold.index(False)
    elif (
        not are_names(table[0])
        or is_first_data(table)
        or _has_bold_label(table, spans[numbers[0]], texts)
    ):
        return 0
    else:
        count = 1
    while count < min(len(table), _HEAD_ROWS):
        above = [span for i in numbers[:count] for span in spans[i]]
        end = numbers[count]
        deeper = any(item.bottom > end for item in above if item.top == numbers[0])
        over = [span for span in spans[numbers[count - 1]] if span.right - span.left > 1]
        under = [span for span in spans[end] for two in over if two.left <= span.left < two.right]
        parted = len(under) > len(over) and not any(_is_figure(texts[item]) for item in under)
        if not (deeper or parted):
            break
        count += 1
    return count if count < len(table) and count <= _HEAD_ROWS else 0


def _has_bold_label(
    table: Sequence[Sequence[str]], first: Sequence[_Span], texts: dict[_Span, list[PageLine]]
) -> bool:
    """Tell whether there are two columns, and the first row's label is bold, its value not."""
    bold = [all(line.bold for line in texts[span]) for span in first]
    return len(table[0]) == 2 and bold == [True, False]


def _is_figure(lines: Sequence[PageLine]) -> bool:
    return is_value(" ".join(line.text for line in lines))
