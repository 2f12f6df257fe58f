"""Lines of PDF pages, in points from the left and the top of what is seen of a page.

What repeats at the edges of pages is dropped, and words that the end of a line cuts are joined.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ragstone.core.document import Box
from ragstone.ingest.formats.furniture import OF_PAGES, is_page_number

Edges = tuple[float, float, float, float]
"""Left, top, right and bottom: lighter than a Box, as there is one for each character."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is seen of a page: its edges in PDF's coordinates and its rotation in degrees."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int = 0

    def map_point(self, x: float, y: float) -> tuple[float, float]:
        """Return a point as its distance from the left and the top of the page as it is shown."""
        if self.rotation == 90:
            return y - self.bottom, x - self.left
        if self.rotation == 180:
            return self.right - x, y - self.bottom
        if self.rotation == 270:
            return self.top - y, self.right - x
        return x - self.left, self.top - y

    def edges(self, one: tuple[float, float], other: tuple[float, float]) -> Edges:
        """Return the rectangle between two corners, as it is shown."""
        (x1, y1), (x2, y2) = self.map_point(*one), self.map_point(*other)
        return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def page_frame(page: Any) -> Frame:
    """Return the frame of a pypdfium2 page."""
    # Not the crop box: a size that all pages share stands above them, and is not found there.
    left, bottom, right, top = page.get_bbox()
    return Frame(left, bottom, right, top, page.get_rotation() % 360)


HYPHEN = "\x02"
"""Stands for the mark (U+FFFE, or this) that PDFium puts where a line ends with a hyphen."""

BULLETS = "•‣⁃∙\u2580-\u25ff☐☑☒\u2701-\u27bf"
"""Signs that begin an item, for the inside of a class in a regular expression: dots, blocks,
squares and other shapes, boxes, and what the font of dingbats has."""

_HYPHENS = "-‐\u00ad"
_EDGE_LINES = 2
_EDGE_CHARS = 100
_MIN_PAGES = 4
_EDGE_SHARE = 0.6
_MARGIN = 1 / 12
"""The share of a page above and below its text, where only running heads stand."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_AROUND_NUMBER = "-–—|.[]()"
_CONTROL = re.compile(r"[\x00-\x01\x03-\x08\x0b-\x1f\x7f\ufffe\uffff]")
TEX_LETTERS = {
    0x0B: "ff", 0x0C: "fi", 0x0E: "ffi", 0x0F: "ffl",
    0x10: "“", 0x11: "”", 0x12: "„", 0x13: "«", 0x14: "»", 0x15: "–", 0x16: "—",
    0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl",
}  # fmt: skip
"""What TeX's fonts have where others have controls, in documents that do not say what their glyphs
mean: the old encoding (OT1) first, then that of Cork (T1)."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_HALVES = re.compile(rf"\w*\s?(?:{HYPHEN}|\u00ad)\s?\w*")
_LEADING_WORD = re.compile(r"\w*")
_NOT_WORD = re.compile(r"\W")
_MAX_WORDS = 100_000


class TextRun(NamedTuple):
    """A piece of a line without a wide gap in it. `baseline` is points from the top, `size` the
    type's in points; `mono` says that all its letters are equally wide."""

    text: str
    box: Box
    baseline: float = 0.0
    size: float = 0.0
    bold: bool = False
    mono: bool = False


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line: its text, the runs that it consists of, and the look of the first one."""

    text: str
    box: Box
    baseline: float = 0.0
    size: float = 0.0
    bold: bool = False
    runs: tuple[TextRun, ...] = ()

    @property
    def mono(self) -> bool:
        """Whether it is set in type whose letters are equally wide, as code is."""
        return bool(self.runs) and all(run.mono for run in self.runs)


def clean(text: str) -> str:
    """The text of a run in one line, without controls; those of TeX's fonts are letters."""
    return " ".join(_CONTROL.sub("", text.translate(TEX_LETTERS)).split())


def build_line(runs: Sequence[TextRun]) -> PageLine | None:
    """Return the line that runs make, None if nothing is in it.

    A hyphen at its end may cut a word: PDFium sees the end of a line only where nothing of another
    column stands beside it, so every line says it here.
    """
    seen = tuple(run for run in runs if run.text.strip(HYPHEN))
    if not seen:
        return None
    first = seen[0]
    text = " ".join(run.text for run in seen)
    if text[-1] in _HYPHENS and text[-2:-1].isalpha():
        text = text[:-1] + HYPHEN
    bold = first.bold and seen[-1].bold
    return PageLine(
        text, join_boxes([run.box for run in seen]), first.baseline, first.size, bold, seen
    )


def join_boxes(boxes: Sequence[Box]) -> Box:
    """Return the smallest box that holds all of these."""
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def share_column(box: Box, other: Box) -> bool:
    """Tell whether one box stands above the other, at least in part."""
    return box.left < other.right and other.left < box.right


def move_header_first(lines: list[PageLine]) -> list[PageLine]:
    """Many PDFs draw the page's header last: put the trailing lines that stand above all else
    where the reader sees them."""
    if not lines:
        return lines
    cut = len(lines)
    above = lines[0].baseline - lines[0].size
    while cut > 1 and lines[cut - 1].baseline < above:
        cut -= 1
    # A footer may follow the header in the drawing order.
    if cut == len(lines) and len(lines) > 2 and lines[-2].baseline < above:
        return [lines[-2], *lines[:-2], lines[-1]]
    return lines if len(lines) - cut > 3 else lines[cut:] + lines[:cut]


def drop_page_edges(
    pages: Sequence[Sequence[PageLine]], heights: Sequence[float], known: set[str], first: int
) -> list[list[PageLine]]:
    """Drop running headers, footers and page numbers from consecutive pages.

    A line among the two highest or lowest of a page goes if most of the pages have it there, but
    for the page number. On pages of a few lines, and in documents of a few pages, it has to stand
    in the margin, so that nothing is lost. The first time, a header with words in it stays.

    Args:
        pages: The lines of each page.
        heights: How high each page is, in points.
        known: The forms of the lines found so far; grows.
        first: The number of the first page, from 1.
    """
    edges = [_edges(page) for page in pages]
    margins = [
        {i for i in places if _is_in_margin(page[i], height)}
        for page, places, height in zip(pages, edges, heights, strict=True)
    ]
    are_few = len(pages) < _MIN_PAGES
    counts = Counter(
        form
        for page, places in zip(pages, margins if are_few else edges, strict=True)
        for form in {_form(page[i].text) for i in places}
    )
    seen = set(known) if first > 1 else set()
    if len(pages) > 1:
        share = 1.0 if are_few else _EDGE_SHARE
        known.update(form for form, n in counts.items() if n >= share * len(pages))
    kept = []
    for page, places, margin in zip(pages, edges, margins, strict=True):
        dropped = set()
        for i in margin if are_few else places:
            form = _form(page[i].text)
            is_around_text = len(page) > (1 if i in margin else 2 * _EDGE_LINES)
            is_repeated = form in seen and is_around_text
            if form in known and (is_repeated or is_page_number(form)):
                dropped.add(i)
            seen.add(form)
        kept.append([line for i, line in enumerate(page) if i not in dropped])
    return kept


def _is_in_margin(line: PageLine, height: float) -> bool:
    return line.box.bottom <= _MARGIN * height or line.box.top >= (1 - _MARGIN) * height


def _edges(page: Sequence[PageLine]) -> set[int]:
    """Return the places of the outermost lines, by height on the page or else by order."""
    order = sorted(range(len(page)), key=lambda i: (page[i].baseline, i))
    outer = set(order[:_EDGE_LINES] + order[-_EDGE_LINES:])
    return {i for i in outer if len(page[i].text) <= _EDGE_CHARS}


def _form(text: str) -> str:
    """The line without a page number at its start or end; other numbers tell lines apart. A number
    of so many ("9 / 48") is one wherever it stands."""
    if OF_PAGES.search(text):
        return " ".join(OF_PAGES.sub(" # ", text).split())
    tokens = [token for token in text.split() if token.strip(_AROUND_NUMBER)]
    for place in (0, -1):
        number = tokens[place].strip(_AROUND_NUMBER) if tokens else ""
        if number.isdigit() and len(number) <= 4 and not _YEAR.fullmatch(number):
            tokens[place] = "#"
            break
    return " ".join(tokens)


def learn_words(lines: Sequence[PageLine], words: set[str]) -> None:
    """Note the words of a page, which later tell a compound from a word cut at a line's end."""
    if len(words) < _MAX_WORDS:
        text = "\n".join(line.text for line in lines).lower()
        words.update(_WORD.findall(_HALVES.sub(" ", text)))


def join_lines(lines: Sequence[str], words: set[str]) -> tuple[str, list[int]]:
    """Return the lines as one text, and where each of them starts in it.

    A word that a line's end had cut is closed: "com-puter" becomes one word, but a compound whose
    two parts the document knows as words ("cloud-enabled") keeps its hyphen.
    """
    text, starts = "", []
    for line in lines:
        line = line.replace("\u00ad", "", line.count("\u00ad") - line.endswith("\u00ad"))
        if not text:
            starts.append(0)
            text = line
            continue
        if text.endswith((HYPHEN, "\u00ad")):
            text = text[:-1].rstrip()
            if _keeps_hyphen(text, line, words):
                text += "-"
        else:
            text += " "
        starts.append(len(text))
        text += line
    if text.endswith((HYPHEN, "\u00ad")):
        text = text[:-1] + "-"
    return text.replace(HYPHEN, "-"), starts


def _keeps_hyphen(text: str, line: str, words: set[str]) -> bool:
    before = text.rsplit(" ", 1)[-1]
    match = _LEADING_WORD.match(line)
    after = match[0] if match else ""
    left = _NOT_WORD.split(before)[-1].lower()
    whole = (left + after.lower()) in words
    compound = left in words and after.lower() in words and len(after) > 2 and len(left) > 2
    return not after[:1].islower() or "-" in before or (compound and not whole)
