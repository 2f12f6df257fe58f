"""Which columns of a table each cell of its head stands over."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_lines import around
from ragstone.ingest.formats.pdf_rows import Cell

_ALIGNED = 4.0
_SKIPPED = 10.0
"""What a column without a name costs, in points by which a cell may miss the middle."""

_OUTSIDE = 200.0
_YEAR = re.compile(
    r"(?:fiscal\s+(?:year\s+)?|FY\s?)?(?:[a-z]+\.?\s+\d{1,2},\s+)?(?:19|20)\d\d", re.IGNORECASE
)


_PERIOD = re.compile(r"\b(?:ended|as of|at|months?|weeks?|quarters?|years?)\b|\d{4}", re.IGNORECASE)


@dataclass(slots=True)
class _Stack:
    """The lines of one cell of a head, from its first to its last row."""

    texts: list[str]
    box: Box
    first: int
    last: int

    @property
    def text(self) -> str:
        return " ".join(self.texts).replace("- ", "-")

    @property
    def center(self) -> float:
        return (self.box.left + self.box.right) / 2


def column_names(
    rows: Sequence[Sequence[Cell]], columns: Sequence[tuple[float, float]], first: int
) -> list[str]:
    """The name of each column, from the top of the head down; those before `first` have none.

    A cell over several columns is part of the name of each.
    """
    named: list[tuple[int, str, range]] = []
    leaves = list(columns[first:])
    levels = _levels(_stacks(rows))
    for depth, level in enumerate(levels):
        below = list(leaves)
        for cell, found in zip(level, _ranges(level, columns[first:], below), strict=True):
            if not found and len(level) > 1:
                # It stands between the cells below it, and so above several of them.
                _raise(levels, depth, cell)
                continue
            named.append((cell.first, cell.text, found))
            if len(found) == 1:
                leaves[found.start] = cell.box.left, cell.box.right
    names: list[list[str]] = [[] for _ in columns]
    for _, text, found in sorted(named, key=lambda item: item[0]):
        for column in found:
            if text not in names[first + column]:
                names[first + column].append(text)
    return [" ".join(parts) for parts in names]


def _raise(levels: list[list[_Stack]], depth: int, cell: _Stack) -> None:
    if depth + 1 == len(levels):
        levels.append([])
    levels[depth + 1] = sorted([*levels[depth + 1], cell], key=lambda item: item.box.left)


def _stacks(rows: Sequence[Sequence[Cell]]) -> list[_Stack]:
    """Cells, those whose text is wrapped over several rows as one, from the top down."""
    done: list[_Stack] = []
    for number, cells in enumerate(rows):
        here = []
        for cell in cells:
            over = [item for item in done if _overlaps(item.box, cell.box)]
            last = max((item.last for item in over), default=0)
            over = [item for item in over if item.last == last]
            under = [item for item in cells if over and _overlaps(over[0].box, item.box)]
            alone = len(over) == len(under) == 1
            # One period over several columns stands over the middle one too.
            if (
                alone
                and not (len(cells) > 1 == len(rows[last]) and _PERIOD.search(over[0].texts[-1]))
                and _is_wrapped(over[0], cell)
            ):
                stack = over[0]
                stack.texts.append(cell.text)
                stack.box, stack.last = around([stack.box, cell.box]), number
            else:
                here.append(_Stack([cell.text], cell.box, number, number))
        done += here
    return done


def _levels(stacks: Sequence[_Stack]) -> list[list[_Stack]]:
    """The cells with none below them, then those above these, and so on; each from the left."""
    depths: list[int] = []
    for stack in reversed(stacks):
        below = [
            (item, depth)
            for item, depth in zip(reversed(stacks), depths, strict=False)
            if item.first > stack.last
        ]
        over = [(item, depth) for item, depth in below if _overlaps(item.box, stack.box)]
        beside = [] if over else _neighbour_depths(stack, below)
        if sum(item.first == stack.first for item in stacks) == 1:
            # Alone in its row it may stand over the gap between two cells, and further down over
            # the name of a column.
            nearest = min((item.first for item, _ in over), default=len(stacks))
            for row in range(stack.last + 1, nearest):
                beside += _neighbour_depths(stack, [pair for pair in below if pair[0].first == row])
        depths.append(max([*beside, *(depth for _, depth in over)], default=-1) + 1)
    levels: list[list[_Stack]] = [[] for _ in range(max(depths, default=-1) + 1)]
    for stack, depth in zip(reversed(stacks), depths, strict=True):
        levels[depth].append(stack)
    return [sorted(level, key=lambda item: item.box.left) for level in levels]


def _neighbour_depths(stack: _Stack, below: Sequence[tuple[_Stack, int]]) -> list[int]:
    """The depths of the two cells between which one stands that has none right below it."""
    left = [pair for pair in below if pair[0].center < stack.center]
    right = [pair for pair in below if pair[0].center > stack.center]
    if not left or not right:
        return []
    nearest = (
        max(left, key=lambda pair: pair[0].center),
        min(right, key=lambda pair: pair[0].center),
    )
    return [depth for _, depth in nearest]


def _overlaps(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right


def _is_wrapped(stack: _Stack, cell: Cell) -> bool:
    """Whether a cell goes on with the text above it; a year is a level of its own."""
    if _YEAR.fullmatch(stack.texts[-1]) and not cell.text.startswith("("):
        return False
    near = cell.box.top - stack.box.bottom < 0.8 * (cell.box.bottom - cell.box.top)
    aligned = min(
        abs(stack.center - cell.center),
        abs(stack.box.left - cell.box.left),
        abs(stack.box.right - cell.box.right),
    )
    return near and aligned <= _ALIGNED


def _ranges(
    cells: Sequence[_Stack],
    columns: Sequence[tuple[float, float]],
    leaves: Sequence[tuple[float, float]],
) -> list[range]:
    """The columns of each cell: stretches in order, over whose middles the cells stand best, with
    as few columns left out as can be. `leaves` are the columns' lowest names, which may stand
    beside the figures below."""
    size = len(columns)
    # costs[k][n]: the least for the first k cells over the first n columns, and the last range.
    costs: list[list[tuple[float, range]]] = [[(n * _SKIPPED, range(0)) for n in range(size + 1)]]
    for cell in cells:
        before = costs[-1]
        line = [(before[0][0] + _OUTSIDE, range(0))]
        for end in range(1, size + 1):
            best = line[end - 1][0] + _SKIPPED, range(0)
            lost = before[end][0] + _OUTSIDE, range(-1, -1)
            best = min(best, lost, key=lambda item: item[0])
            for start in range(end):
                miss = min(_miss(cell, columns[start:end]), _miss(cell, leaves[start:end]))
                cost = before[start][0] + miss
                if cost < best[0]:
                    best = cost, range(start, end)
            line.append(best)
        costs.append(line)
    return _trace_path(costs, len(cells), size)


def _trace_path(
    costs: Sequence[Sequence[tuple[float, range]]], count: int, size: int
) -> list[range]:
    found: list[range] = []
    end = size
    while count:
        taken = costs[count][end][1]
        if taken:
            found.append(taken)
            end, count = taken.start, count - 1
        elif taken.start < 0 or not end:
            found.append(range(0))
            count -= 1
        else:
            end -= 1
    return found[::-1]


def _miss(cell: _Stack, columns: Sequence[tuple[float, float]]) -> float:
    """How far a cell is from standing over these columns, in points."""
    left, right = columns[0][0], columns[-1][1]
    if len(columns) == 1:
        off = min(
            abs((left + right) / 2 - cell.center),
            abs(left - cell.box.left),
            abs(right - cell.box.right),
        )
        apart = max(left - cell.box.right, cell.box.left - right, 0.0)
        return off + 2 * apart
    off = abs((left + right) / 2 - cell.center)
    return off + max(cell.box.left - right, left - cell.box.right, 0.0)
