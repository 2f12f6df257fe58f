"""Org, the outlines of Emacs: its marks are written as those of Markdown, whose parser reads it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragstone.ingest.document import Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.formulas import write_formulas
from ragstone.ingest.formats.inline_text import lower_text, raise_text
from ragstone.ingest.formats.markdown import markdown_blocks
from ragstone.ingest.formats.metadata import flatten_values
from ragstone.ingest.formats.types import Format

_HEADING = re.compile(r"(\*+)\s+(.*?)(?:\s+:[\w@#%:]+:)?\s*")
_KEYWORD = re.compile(r"#\+(\w+):\s*(.*)")
_BEGIN = re.compile(r"\s*#\+begin_(\w+)\s*(\S*).*", re.IGNORECASE)
_END = re.compile(r"\s*#\+end_(\w+)\s*", re.IGNORECASE)
_DRAWER = re.compile(r"\s*:[A-Za-z_]+:\s*")
_RULE = re.compile(r"\s*\|[-+|]+\s*")
_ROW = re.compile(r"\s*\|.*\|\s*")
_NOTE = re.compile(r"\[fn:([\w-]+)\]\s*(?=\S)")
_NOTE_MARK = re.compile(r"\[fn:([\w-]*)(?::[^\[\]]*)?\]")
_SHIFTED = re.compile(r"(?<=\w)([\^_])\{([^{}\n]{1,40})\}")
_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]+)\])?\]")
_MARKED = re.compile(r"(?<![\w*/+=~])([*/+=~])(?=\S)([^\n]{0,200}?\S)\1(?!\w)|[*_`~<\\]")
"""What is marked, or a sign that is one of Markdown's alone."""
_MARKS = {"*": "**", "/": "*", "+": "~~", "=": "`", "~": "`"}
_VERBATIM = ("src", "example", "export")
_FACTS = {
    "title": "title", "author": "author", "date": "date", "keywords": "keywords",
    "filetags": "keywords", "language": "language", "description": "description",
}  # fmt: skip


def parse_org(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole. Its title is what it names so, else its first heading."""
    facts: dict[str, Any] = {}
    source = "\n".join(_markdown_lines(decode_file(path).splitlines(), facts))
    title = facts.pop("title", "")
    return Parsed(title, iter(markdown_blocks(source)), metadata=flatten_values(facts))


def _markdown_lines(lines: list[str], facts: dict[str, Any]) -> Iterator[str]:
    """Yield the lines as Markdown's; keywords go to `facts`."""
    verbatim, in_drawer, rows = "", False, 0
    for line in lines:
        if verbatim:
            is_end = (end := _END.fullmatch(line)) and end[1].lower() == verbatim
            verbatim = "" if is_end else verbatim
            yield "```" if is_end else line
        elif in_drawer or _DRAWER.fullmatch(line):
            in_drawer = line.strip().upper() != ":END:"
        elif begin := _BEGIN.fullmatch(line):
            if begin[1].lower() in _VERBATIM:
                verbatim = begin[1].lower()
                yield f"```{begin[2]}"
        else:
            # A note, and a table behind a list, begin a block of their own.
            if (not rows and _ROW.fullmatch(line)) or _NOTE.match(line):
                yield ""
            yield from _read_line(line, rows, facts)
        rows = rows + 1 if _ROW.fullmatch(line) else 0


def _read_line(line: str, rows: int, facts: dict[str, Any]) -> Iterator[str]:
    """A line that is neither code nor properties; `rows` is how many of a table stand before it."""
    if _END.fullmatch(line) or line.startswith("# "):
        return
    if keyword := _KEYWORD.fullmatch(line):
        name, value = keyword[1].lower(), keyword[2].strip()
        if name in _FACTS:
            facts[_FACTS[name]] = (
                value.strip(":").replace(":", ",") if name == "filetags" else value
            )
        elif name == "caption":
            yield from ("", _inline(value), "")
    elif heading := _HEADING.fullmatch(line):
        yield from ("", f"{'#' * min(len(heading[1]), 6)} {_inline(heading[2])}", "")
    elif not _RULE.fullmatch(line):
        yield _inline(line)
    elif rows == 1:
        # Markdown has one rule, below the head.
        yield re.sub(r"-+", "---", line.strip().replace("+", "|"))


def _inline(text: str) -> str:
    text = _NOTE.sub("Footnote: ", text) if _NOTE.match(text) else text
    text = _NOTE_MARK.sub(lambda match: _write_note(match[0]), text)
    text = _SHIFTED.sub(_shift, write_formulas(text))
    return _MARKED.sub(_mark, _LINK.sub(lambda match: match[2] or match[1], text))


def _write_note(mark: str) -> str:
    """Return what a mark says of its note, if the note stands in it; a mark alone is not read."""
    said = mark[1:-1].split(":", 2)[2:]
    return f" ({said[0].strip()})" if said and said[0].strip() else ""


def _shift(match: re.Match[str]) -> str:
    written = (raise_text if match[1] == "^" else lower_text)(match[2])
    return written if written != match[2] else match[0]


def _mark(match: re.Match[str]) -> str:
    if not match[1]:
        return f"\\{match[0]}"
    mark = _MARKS[match[1]]
    return f"{mark}{match[2] if mark == '`' else _MARKED.sub(_mark, match[2])}{mark}"


ORG = Format("text/org", parse_org, whole=True)
