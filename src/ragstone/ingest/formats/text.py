"""Plain text, logs and reStructuredText, read line by line in bounded memory."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.types import Format

MAX_BLOCK_CHARS = 8000
"""Where a paragraph without an end is cut, so that memory stays bounded."""

_LINE_CHARS = 1 << 16
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")


def parse_text(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Paragraphs of a text file; underlined headings too in reStructuredText."""
    rst = ending == ".rst"
    return Parsed("", _text_blocks(path, rst))


def lines_of(file: TextIO) -> Iterator[str]:
    """The lines of a file without their ends; one of more than 64 KB comes in parts."""
    while line := file.readline(_LINE_CHARS):
        yield line.rstrip("\n").replace("\x00", "")


def text_block(lines: list[str]) -> Iterator[Block]:
    """The lines as one paragraph or list block, nothing if they are blank."""
    text = "\n".join(lines).strip("\n").rstrip()
    if text.strip():
        items = sum(bool(_BULLET.match(line)) for line in lines)
        yield Block(text, "list" if items > 1 and items * 2 >= len(lines) else "paragraph")


def _text_blocks(path: Path, rst: bool) -> Iterator[Block]:
    with open_text(path) as file:
        held: list[str] = []
        size = 0
        marks: list[str] = []
        for line in lines_of(file):
            if rst and (heading := _underlined_heading(held, line, marks)):
                yield from text_block(held[:-1])
                yield heading
                held, size = [], 0
            elif not line.strip() or size + len(line) > MAX_BLOCK_CHARS:
                yield from text_block(held)
                held, size = ([line], len(line)) if line.strip() else ([], 0)
            else:
                held.append(line)
                size += len(line) + 1
        yield from text_block(held)


def _underlined_heading(held: list[str], line: str, marks: list[str]) -> Block | None:
    """A heading if `line` underlines the last held one; its level is the order of its mark."""
    title = held[-1].strip() if held else ""
    underline = line.rstrip()
    if not title or not _UNDERLINE.fullmatch(underline) or len(underline) < len(title):
        return None
    if _UNDERLINE.fullmatch(title):
        return None
    if len(held) > 1 and held[-2].strip() == underline:
        held.pop(-2)
    mark = underline[0]
    if mark not in marks:
        marks.append(mark)
    return Block(title, "heading", marks.index(mark) + 1)


TEXT = Format("text/plain", parse_text)
RST = Format("text/x-rst", parse_text)
