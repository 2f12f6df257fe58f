"""Markdown, line by line: headings, tables, lists, code and paragraphs. Inline marks stay."""

import re
from collections.abc import Iterator
from pathlib import Path

from ragstone.core.document import BlockKind
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.tables import piped
from ragstone.ingest.formats.text import MAX_BLOCK_CHARS, lines_of
from ragstone.ingest.formats.types import Format

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+\S")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_CELL = re.compile(r"(?<!\\)\|")
_FRONT_LINE = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")
_MAX_FRONT_LINES = 100


def parse_markdown(path: Path, ending: str, max_bytes: int) -> Parsed:
    """The blocks of a Markdown file; a `title:` of its front matter is the title."""
    front = _front_matter(path)
    metadata = {key: value for key, value in front.items() if key != "title" and value}
    blocks = _blocks(path, skip_front=bool(front))
    return Parsed(front.get("title", ""), blocks, metadata=metadata)


def _front_matter(path: Path) -> dict[str, str]:
    """The plain `key: value` lines between two `---` lines at the top; empty if there are none."""
    found: dict[str, str] = {}
    with open_text(path) as file:
        lines = lines_of(file)
        if next(lines, "").strip("\ufeff ") != "---":
            return {}
        for _, line in zip(range(_MAX_FRONT_LINES), lines, strict=False):
            if line.strip() in ("---", "..."):
                return found
            if match := _FRONT_LINE.fullmatch(line):
                found[match[1].lower()] = match[2].strip().strip("\"'")
    return {}


def _blocks(path: Path, skip_front: bool) -> Iterator[Block]:
    with open_text(path) as file:
        lines = lines_of(file)
        if skip_front:
            next(lines, None)
            while next(lines, "---").strip() not in ("---", "..."):
                continue
        yield from _read(lines)


def _read(lines: Iterator[str]) -> Iterator[Block]:
    held: list[str] = []
    size = 0
    for line in lines:
        heading = _heading(line, held)
        fence = _FENCE.match(line)
        if heading or fence or not line.strip() or size > MAX_BLOCK_CHARS:
            if heading and not _ATX.fullmatch(line):
                held = []
            yield from _flush(held)
            held, size = [], 0
            if heading:
                yield heading
            elif fence:
                yield from _code(lines, fence[1])
            elif line.strip():
                held, size = [line], len(line)
        else:
            if held and bool(_ITEM.match(line)) and _kind(held) == "paragraph":
                yield from _flush(held)
                held, size = [], 0
            held.append(line)
            size += len(line) + 1
    yield from _flush(held)


def _heading(line: str, held: list[str]) -> Block | None:
    if match := _ATX.fullmatch(line):
        text = (match[2] or "").strip()
        return Block(text, "heading", len(match[1])) if text else None
    if len(held) == 1 and _kind(held) == "paragraph" and (match := _SETEXT.fullmatch(line)):
        return Block(held[0].strip(), "heading", 1 if match[1][0] == "=" else 2)
    return None


def _code(lines: Iterator[str], fence: str) -> Iterator[Block]:
    held: list[str] = []
    size = 0
    for line in lines:
        if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            break
        held.append(line)
        size += len(line) + 1
        if size > MAX_BLOCK_CHARS:
            yield from _block(held, "code")
            held, size = [], 0
    yield from _block(held, "code")


def _kind(held: list[str]) -> BlockKind:
    if all("|" in line for line in held) and (
        held[0].lstrip().startswith("|") or any(_TABLE_RULE.fullmatch(line) for line in held)
    ):
        return "table"
    return "list" if _ITEM.match(held[0]) else "paragraph"


def _flush(held: list[str]) -> Iterator[Block]:
    if not held:
        return
    kind = _kind(held)
    if kind == "table":
        rows = [_cells(line) for line in held if not _TABLE_RULE.fullmatch(line)]
        held = piped(rows).split("\n")
    yield from _block([line for line in held if not _RULE.fullmatch(line)], kind)


def _block(held: list[str], kind: BlockKind) -> Iterator[Block]:
    text = "\n".join(held).strip("\n").rstrip()
    if text.strip():
        yield Block(text, kind)


def _cells(line: str) -> list[str]:
    return [cell.replace("\\|", "|").strip() for cell in _CELL.split(line.strip().strip("|"))]


MARKDOWN = Format("text/markdown", parse_markdown)
