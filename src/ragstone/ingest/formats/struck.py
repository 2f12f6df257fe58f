"""Text that a document strikes out or hides.

Neither is said. What is struck out is kept for questions about what was: a reader leaves a mark in
its place (`strike_out`), and behind the document's own blocks each sentence, or row of a table,
that had such a mark stands once more, with what is struck out in brackets beside what replaces it.
"""

import re
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import replace

from ragstone.core.document import STRUCK
from ragstone.ingest.document import Block
from ragstone.ingest.formats.inline_text import rewrite_block, strip_marks
from ragstone.language.sentences import sentences

MAX_QUOTED = 3
MAX_STRUCK = 5000
"""Struck-out texts that are kept of a document."""

HEADING = "Struck-out text"
_QUOTED_CHARS = 60

_SIGN, _ZERO = "\ufdd2", 0xFDD3
_MARK = f"{_SIGN}[\ufdd3-\ufddc]{{1,4}}"
_MARKS = re.compile(f"{_MARK}(?:\\s*{_MARK})*")
_GONE = re.compile(
    rf"^{_MARKS.pattern}[ \t]*|(?<![ \t])[ \t]*{_MARKS.pattern}(?=[\s.,;:!?)\]]|$)"
    rf"|{_MARKS.pattern}",
    re.MULTILINE,
)
_GONE_CELL = re.compile(rf"(?:[^:]*: )?{_MARKS.pattern}")


class StruckText:
    """The struck-out and hidden texts of the file that is being read."""

    def __init__(self) -> None:
        self._struck: list[str] = []
        self._more = 0
        self._hidden: list[str] = []
        self._written: set[int] = set()
        """The numbers of the struck-out texts that stand in a line already."""

    def strike_out(self, text: str) -> str:
        """Keep a text, and return the mark that stands for it, with the spaces around it."""
        inner = " ".join(strip_marks(self._write(text)).split())
        if not inner:
            return text
        for number in map(_number, re.findall(_MARK, text)):
            if number < len(self._struck):
                self._struck[number] = ""  # It is a part of this one now.
        if len(self._struck) == MAX_STRUCK:
            self._more += 1
            return " "
        self._struck.append(inner)
        mark = "".join(chr(_ZERO + int(digit)) for digit in str(len(self._struck) - 1))
        return f"{' ' * text[0].isspace()}{_SIGN}{mark}{' ' * text[-1].isspace()}"

    def hide(self, text: str) -> None:
        if text := " ".join(text.split()):
            self._hidden.append(text)

    def apply(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield the blocks without marks, and behind them the lines that had some."""
        kept: list[Block] = []
        heading = ""
        for block in blocks:
            if _SIGN in block.text or _SIGN in block.label:
                kept += (
                    Block(line, "admonition", 0, block.page, STRUCK, lead=heading)
                    for line in self._lines(block)
                )
                clean = _clean_rows if block.kind == "table" else without_struck
                block = rewrite_block(replace(block, label=without_struck(block.label)), clean)
                if block.text.strip() in ("", block.label) and not block.pictures:
                    continue
            heading = block.text if block.kind == "heading" else heading
            yield block
        # A reader may have lost a mark, as where what is beside a page's main part is left out.
        lost = (text for number, text in enumerate(self._struck) if number not in self._written)
        kept += (Block(_say_struck(text), "admonition", label=STRUCK) for text in lost)
        if kept:
            yield Block(HEADING, "heading", 1, kept[0].page)
            yield from kept

    def notes(self) -> tuple[str, ...]:
        """Return sentences for `Parsed.last_notes`."""
        more = f" Of {self._more:,} more nothing is kept." if self._more else ""
        hidden = (f"Hidden text is left out: {_quote(self._hidden)}",)
        whole = [text for text in self._struck if text]
        struck = (f"Struck-out text is kept apart: {_quote(whole)}{more}",)
        return (hidden if self._hidden else ()) + (struck if whole else ())

    def _lines(self, block: Block) -> Iterator[str]:
        """Yield the sentences of a block, or the rows of a table, that have marks, with what these
        stand for. What is merged over several rows is said once."""
        is_prose = block.kind not in ("table", "code")
        spans = [(s.start, s.end) for s in sentences(block.text)] if is_prose else []
        lines = [block.text[start:end] for start, end in spans] or block.text.split("\n")
        for line in lines:
            before = len(self._written)
            shown = " ".join(strip_marks(_MARKS.sub(self._show, line)).split())
            if len(self._written) > before:
                yield re.sub(r"(?<=\]) (?=[.,;:!?])", "", shown)

    def _show(self, match: re.Match[str]) -> str:
        """Return what is struck out in a place."""
        said = " ".join(self._write(match[0]).split())
        return f" {_say_struck(said)} " if said else ""

    def _write(self, text: str) -> str:
        """Return the text with what its marks stand for, if that is not written yet."""
        return re.sub(_MARK, lambda mark: self._take(_number(mark[0])), text)

    def _take(self, number: int) -> str:
        if number >= len(self._struck) or number in self._written:
            return ""
        self._written.add(number)
        return self._struck[number]


CURRENT: ContextVar[StruckText | None] = ContextVar("struck", default=None)
"""That of the file that is being opened: parsers find it here as nested files have the same."""


def strike_out(text: str) -> str:
    """Keep text that is struck out, and return the mark that a reader puts in its place."""
    if not text or text.isspace():
        return text
    current = CURRENT.get()
    return current.strike_out(text) if current else ""


def hide(text: str) -> None:
    """Keep hidden text for the notes."""
    if current := CURRENT.get():
        current.hide(text)


def without_struck(text: str) -> str:
    """Return the text without marks, and without the spaces that would stand twice then."""
    return _GONE.sub("", text) if _SIGN in text else text


def _clean_rows(text: str) -> str:
    lines = (line for row in text.split("\n") if (line := _clean_row(row) if _SIGN in row else row))
    return "\n".join(lines)


def _clean_row(row: str) -> str:
    """Return the row of a table without the cells of which all is struck out."""
    for between in ("; ", " | "):
        row = between.join(part for part in row.split(between) if not _GONE_CELL.fullmatch(part))
    return without_struck(row)


def _say_struck(text: str) -> str:
    return f'[formerly "{text}", struck out]'


def _number(mark: str) -> int:
    return int("".join(str(ord(digit) - _ZERO) for digit in mark[1:]))


def _quote(texts: list[str]) -> str:
    quoted = ", ".join(
        f'"{text[:_QUOTED_CHARS]}..."' if len(text) > _QUOTED_CHARS else f'"{text}"'
        for text in texts[:MAX_QUOTED]
    )
    more = len(texts) - MAX_QUOTED
    return f"{quoted} and {more:,} more." if more > 0 else f"{quoted}."
