"""What stands side by side on a PDF page: rows of cells."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.core.document import Box
from ragstone.ingest.formats.pdf_lines import BULLETS, HYPHEN, PageLine, TextRun, around

_SIGN = r"[-+–—−]"
_CURRENCY = r"(?:(?:US|CA?|AU?|HK|NZ|S|R)?\$|[€£¥₹]|(?:EUR|USD|GBP|CHF)\s)"
_NUMBER = rf"\(?\s*{_SIGN}?\s*{_CURRENCY}?\s*\(?{_SIGN}?\s*(?:\d[\d.,'’\u202f]*|[.,]\d+)"
_AFTER = r"(?:\s?(?:%|\)|x|bps|pts?|pp|million|billion|[€$£]))*"
_NOTE = r"(?:\s?\(?[*†‡]+\)?|\s?\((?:\d{1,2}|[a-z])\)|[⁰¹²³⁴-⁹])*"
_VALUE = re.compile(
    rf"(?:{_NUMBER}(?:\s?{_NUMBER})?{_AFTER}{_NOTE}"
    rf"|{_CURRENCY}?\s*\(?(?:[-–—−]|--)\)?\s?%?{_NOTE}"
    r"|n/?a|N/?A|n/?m|N/?M|nil|\*+)",
)
_PREFIX = re.compile(rf"(?:\(?{_SIGN}?{_CURRENCY}\s*\(?{_SIGN}?|\()", re.IGNORECASE)
_SUFFIX = re.compile(r"[)%*†‡⁰¹²³⁴-⁹]+|\((?:\d{1,2}|[a-z])\)[,;]?|\)\s?%")
_TIGHT = re.compile(r"(?<=[$€£¥₹(])\s+(?=[\d.(\-–—−])|(?<=[\d)])\s+(?=[)%])|(?<=[–—-])\s+(?=%)")
_BULLET_RUN = re.compile(
    rf"[{BULLETS}·–—*-]|\(?(?:\d{{1,3}}|[A-Za-z]|[ivxIVX]{{1,5}})[.)]|\d+(?:\.\d+)+\.?"
    r"|(?:Item|Note|Section|Article|Step|Chapter|Part)\s+\w{1,4}[.:)]?|[*†‡]+",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"\s*(?:\.\s?){4,}$|\s*…+$")
_RAISED = re.compile(r"\(?(?:\d{1,2}|[a-z]|[*†‡]+)\)?[,;]?")
_TOC_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\w{0,5}$|…\s*\w{0,5}$")


class Cell(NamedTuple):
    """Text that stands apart from what is left and right of it."""

    text: str
    box: Box
    is_value: bool = False

    @property
    def digits_end(self) -> float:
        """About where the digits end: a bracket or a percent sign hangs over."""
        after = len(self.text) - len(self.text.rstrip(")%* "))
        return self.box.right - after * (self.box.right - self.box.left) / max(len(self.text), 1)

    @property
    def center(self) -> float:
        return (self.box.left + self.box.right) / 2


@dataclass(frozen=True, slots=True)
class Row:
    """Cells on one baseline, from left to right; `size` is that of the largest type."""

    cells: tuple[Cell, ...]
    baseline: float
    size: float
    box: Box
    lines: frozenset[int]
    """The places of the lines that it has taken in."""

    has_leaders: bool = False
    bold: bool = False

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def values(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.is_value]


def is_value(text: str) -> bool:
    """Whether a cell holds a figure, or what stands for one ("—", "N/A")."""
    return _VALUE.fullmatch(text) is not None


def build_rows(lines: Sequence[tuple[int, PageLine]]) -> list[Row]:
    """The runs of the lines (each with its place on the page) as rows, from the top down.

    A raised mark of a note goes to the row of what it stands beside.
    """
    runs = [(place, run) for place, line in lines for run in line.runs]
    groups: list[list[tuple[int, TextRun]]] = []
    raised: list[tuple[int, TextRun]] = []
    for place, run in sorted(runs, key=lambda item: item[1].baseline):
        if _RAISED.fullmatch(run.text) and _is_raised(run, runs):
            raised.append((place, run))
        elif groups and _same_row(groups[-1][0][1], run):
            groups[-1].append((place, run))
        else:
            groups.append([(place, run)])
    for place, run in raised:
        near = min(groups, key=lambda item: abs(item[0][1].baseline - run.baseline - run.size / 4))
        near.append((place, run))
    return sorted((_row(group) for group in groups), key=lambda row: row.baseline)


def _same_row(first: TextRun, run: TextRun) -> bool:
    return run.baseline - first.baseline <= 0.3 * max(run.size, first.size, 1.0)


def _is_raised(run: TextRun, runs: Sequence[tuple[int, TextRun]]) -> bool:
    """Whether this is a small mark at the end of larger text."""
    return any(
        item.size > 1.1 * run.size
        and -2 <= run.box.left - item.box.right <= 0.5 * item.size
        and 0 <= item.baseline - run.baseline <= 0.6 * item.size
        for _, item in runs
    )


def _row(group: Iterable[tuple[int, TextRun]]) -> Row:
    ordered = sorted(group, key=lambda item: item[1].box.left)
    runs = [run for _, run in ordered]
    largest = max(runs, key=lambda run: run.size)
    leaders = any(_TOC_LEADERS.search(run.text) for run in runs)
    return Row(
        tuple(_cells(runs)),
        largest.baseline,
        largest.size,
        around([run.box for run in runs]),
        frozenset(place for place, _ in ordered),
        leaders,
        all(run.bold for run in runs),
    )


def _cells(runs: Sequence[TextRun]) -> list[Cell]:
    """Runs become cells; a currency or a percent sign goes to the figure beside it."""
    merged: list[tuple[str, Box]] = []
    for i, run in enumerate(runs):
        text = run.text.replace(HYPHEN, "-").replace("\u00ad", "")
        if merged and _joins(
            merged[-1], text, run, first=len(merged) == 1, last=i + 1 == len(runs)
        ):
            before, box = merged[-1]
            merged[-1] = (f"{before} {text}", around([box, run.box]))
        else:
            merged.append((text, run.box))
    cells = []
    for text, box in merged:
        text = _LEADERS.sub("", _TIGHT.sub("", text))
        if text:
            cells.append(Cell(text, box, is_value(text)))
    return cells


def _joins(before: tuple[str, Box], text: str, run: TextRun, *, first: bool, last: bool) -> bool:
    gap = run.box.left - before[1].right
    if _PREFIX.fullmatch(before[0]):
        return is_value(text) or text[:1].isdigit()
    if _SUFFIX.fullmatch(text):
        return gap < 2.5 * run.size and (is_value(before[0]) or gap < run.size)
    # The number of an item or of a section, and what it numbers.
    numbers = first and _BULLET_RUN.fullmatch(before[0]) is not None
    return numbers and gap < 6 * run.size and not is_value(text)
