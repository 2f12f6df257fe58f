"""The lines of a PDF page, and blocks made of lines: pure functions and what they work on."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragstone.ingest.document import Block

HYPHEN = "\x02"
"""Stands for the mark (U+FFFE, or this) that PDFium puts where a line ends with a hyphen; the
next line follows directly."""

_EDGE_LINES = 2
_EDGE_CHARS = 100
_MIN_PAGES = 4
_EDGE_SHARE = 0.6
_NUMBERED = re.compile(r"(?:^|\s)\(?[$€£¥]?[-–—(]?\d[\d.,]*[)%]*(?=\s|$)|(?<=\s)[-–—](?=\s|$)")
_LOWER_WORD = re.compile(r"\b[a-z]{2,}\b")
_TOKEN = re.compile(r"\S+")
_LEADER = re.compile(r"(?:\.\s?){4,}\s*\d+$|…\s*\d+$")
_YEAR = re.compile(r"(?:19|20)\d\d")
_BULLET = re.compile(r"(?:[•●▪■◦‣–*-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_ENDED = re.compile(r"[.!?:;。！？：；]['\"”’)\]]*$")
_CONTROL = re.compile(r"[\x00-\x01\x03-\x08\x0b-\x1f\x7f\ufffe\uffff]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_HALVES = re.compile(rf"\w*\s?(?:{HYPHEN}|\u00ad)\s?\w*")
_MAX_WORDS = 100_000
_MAX_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line of text: its font size in points, whether it is bold, where it starts (points
    from the left and from the bottom). Unknown measures are 0."""

    text: str
    size: float = 0.0
    bold: bool = False
    left: float = 0.0
    bottom: float = 0.0


def clean(text: str) -> str:
    return " ".join(_CONTROL.sub("", text).split())


def top_first(lines: list[PageLine]) -> list[PageLine]:
    """Many PDFs draw the page's header last: put the trailing lines that stand above all else
    where the reader sees them."""
    if not lines:
        return lines
    cut = len(lines)
    while cut > 1 and lines[cut - 1].bottom > lines[0].bottom + lines[0].size:
        cut -= 1
    above = lines[0].bottom + lines[0].size
    # A footer may follow the header in the drawing order.
    if cut == len(lines) and len(lines) > 2 and lines[-2].bottom > above:
        return [lines[-2], *lines[:-2], lines[-1]]
    return lines if len(lines) - cut > 3 else lines[cut:] + lines[:cut]


def without_edges(
    pages: Sequence[Sequence[PageLine]], known: set[str], first: int
) -> list[list[PageLine]]:
    """Drop running headers, footers and page numbers from consecutive pages.

    A line among the two highest or lowest of a page goes if most of the pages have it there, but
    for the page number. `known` are those found so far and grows. The first time, a header with
    words in it stays, and so it does on pages of a few lines, so that nothing is lost. `first` is
    the number of the first page.
    """
    edges = [_edges(page) for page in pages]
    counts = Counter(
        form
        for page, places in zip(pages, edges, strict=True)
        for form in {_form(page[i].text) for i in places}
    )
    seen = set(known) if first > 1 else set()
    if len(pages) >= _MIN_PAGES:
        known.update(form for form, n in counts.items() if n >= _EDGE_SHARE * len(pages))
    kept = []
    for page, places in zip(pages, edges, strict=True):
        dropped = set()
        for i in places:
            form = _form(page[i].text)
            furniture = form in seen and len(page) > 2 * _EDGE_LINES
            if form in known and (furniture or not _WORD.search(form)):
                dropped.add(i)
            seen.add(form)
        kept.append([line for i, line in enumerate(page) if i not in dropped])
    return kept


def _edges(page: Sequence[PageLine]) -> set[int]:
    """The places of the outermost lines, by height on the page or else by order."""
    order = sorted(range(len(page)), key=lambda i: (-page[i].bottom, i))
    outer = set(order[:_EDGE_LINES] + order[-_EDGE_LINES:])
    return {i for i in outer if len(page[i].text) <= _EDGE_CHARS}


def _form(text: str) -> str:
    """The line without a page number at its start or end; other numbers tell lines apart."""
    tokens = text.split()
    for place in (0, -1):
        if tokens and tokens[place].strip("-–—|.[]()").isdigit():
            number = tokens[place].strip("-–—|.[]()")
            if len(number) <= 4 and not _YEAR.fullmatch(number):
                tokens[place] = "#"
                break
    return " ".join(tokens)


def learn_words(lines: Sequence[PageLine], words: set[str]) -> None:
    """Note the words of a page, which later tell a compound from a word cut at a line's end."""
    if len(words) < _MAX_WORDS:
        text = "\n".join(line.text for line in lines).lower()
        words.update(_WORD.findall(_HALVES.sub(" ", text)))


def page_blocks(lines: Sequence[PageLine], page: int, words: set[str]) -> Iterator[Block]:
    """Join the lines of a page into headings, paragraphs, lists and tables."""
    body = _body_size(lines)
    kinds = _kinds(lines, body)
    start = 0
    for i in range(1, len(lines) + 1):
        if i < len(lines) and not _breaks(lines, kinds, i):
            continue
        kind, group = kinds[start], lines[start:i]
        if kind == "heading":
            text = _join_lines(group, words)
            yield Block(text, "heading", _level(group[0], body), page)
        elif kind == "row":
            yield Block("\n".join(line.text for line in group), "table", page=page)
        else:
            text = _join_lines(group, words)
            yield Block(text, "list" if _BULLET.match(text) else "paragraph", page=page)
        start = i


def across_pages(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join a paragraph that a page's end divides with its rest; it counts to the page on which it
    begins."""
    held: Block | None = None
    for block in blocks:
        if held is not None and _is_split_block(held, block):
            held = replace(held, text=f"{held.text} {block.text}")
            continue
        if held is not None:
            yield held
        held = block
    if held is not None:
        yield held


def _is_split_block(block: Block, rest: Block) -> bool:
    prose = block.kind in ("paragraph", "list") and rest.kind == "paragraph"
    short = len(block.text) + len(rest.text) < _MAX_CHARS
    return (
        prose and short and block.page != rest.page and _continues_sentence(block.text, rest.text)
    )


def _body_size(lines: Sequence[PageLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _kinds(lines: Sequence[PageLine], body: float) -> list[str]:
    kinds = ["row" if _is_row(line.text) else "text" for line in lines]
    for i, line in enumerate(lines):
        if kinds[i] == "text" and _is_heading(line, body):
            kinds[i] = "heading"
    for i in range(1, len(lines) - 1):
        # Column heads and labels without figures stand between rows.
        between = kinds[i - 1] == "row" and "row" in kinds[i + 1 : i + 3]
        if between and kinds[i] != "row" and len(lines[i].text) < 60:
            kinds[i] = "row"
    return kinds


def _is_row(text: str) -> bool:
    if _LEADER.search(text):
        return True
    numbers = len(_NUMBERED.findall(text))
    if numbers < 2:
        return False
    # In a row the words come first; in prose they stand between the figures too.
    first = _NUMBERED.search(text)
    between = len(_LOWER_WORD.findall(text, first.end())) if first else 0
    return numbers * 4 >= len(_TOKEN.findall(text)) and between <= numbers


def _is_heading(line: PageLine, body: float) -> bool:
    text = line.text
    if not body or len(text) > 120 or not _WORD.search(text) or text[0] in "•●▪-–":
        return False
    if line.size >= 1.15 * body:
        return len(text) > 2
    return line.bold and line.size >= 0.95 * body and not text.endswith((".", ",", ";"))


def _level(line: PageLine, body: float) -> int:
    ratio = line.size / body
    if ratio >= 1.15:
        return 1 if ratio >= 1.6 else 2 if ratio >= 1.35 else 3
    return 4 if line.text.isupper() else 5


def _breaks(lines: Sequence[PageLine], kinds: Sequence[str], i: int) -> bool:
    """Whether line `i` starts a new block."""
    before, line = lines[i - 1], lines[i]
    if kinds[i] != kinds[i - 1]:
        return True
    if kinds[i] == "heading":
        return (
            abs(line.size - before.size) > 0.5
            or line.bold != before.bold
            or (_has_gap(before, line))
        )
    if kinds[i] == "row":
        return _has_gap(before, line, 3.0)
    if _BULLET.match(line.text):
        return True
    if _continues_sentence(before.text, line.text):
        return _has_gap(before, line, 3.0) and line.bottom < before.bottom
    if _has_gap(before, line):
        return True
    indented = line.left > before.left + line.size and bool(_ENDED.search(before.text))
    short = len(before.text) < 40 and bool(_ENDED.search(before.text)) and not line.size
    return indented or short


def _continues_sentence(before: str, text: str) -> bool:
    """Whether a text is the rest of a sentence, whatever space or page's end stands between; no
    sentence is only a page's number."""
    begun = not _ENDED.search(before) and _LOWER_WORD.search(before) is not None
    return begun and text[:1].islower()


def _has_gap(before: PageLine, line: PageLine, lines: float = 1.65) -> bool:
    """Whether there is a gap of more than so many line heights, or a new column."""
    if not line.size:
        return False
    gap = before.bottom - line.bottom
    return gap > lines * max(line.size, before.size) or gap < -3 * line.size


def _join_lines(lines: Sequence[PageLine], words: set[str]) -> str:
    text = ""
    for line in lines:
        text = f"{text} {line.text}" if text else line.text
    return unhyphenated(text, words)


_CUT = re.compile(rf"(\S*?)\s?(?:{HYPHEN}|\u00ad)\s?(\w*)")


def unhyphenated(text: str, words: set[str]) -> str:
    """Close words that a line's end had cut: "com-puter" becomes one word, but a compound whose
    two parts the document knows as words ("cloud-enabled") keeps its hyphen."""
    if HYPHEN not in text and "\u00ad" not in text:
        return text

    def close(match: re.Match[str]) -> str:
        before, after = match[1], match[2]
        left = re.split(r"\W", before)[-1].lower()
        whole = (left + after.lower()) in words
        compound = left in words and after.lower() in words and len(after) > 2 and len(left) > 2
        keep = not after[:1].islower() or "-" in before or (compound and not whole)
        return f"{before}-{after}" if keep else before + after

    return _CUT.sub(close, text)
