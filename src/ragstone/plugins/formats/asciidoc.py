"""AsciiDoc: titles, paragraphs, lists, delimited blocks, tables, notes and attributes.

No kept parser of it under a free enough licence is on the package index.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from ragstone.core.document import BlockKind
from ragstone.ingest.document import ADMONITIONS, Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.formulas import formula_text
from ragstone.ingest.formats.html import define_term, page_blocks
from ragstone.ingest.formats.includes import expand_includes
from ragstone.ingest.formats.inline_text import (
    Literals,
    lower_text,
    mark_code,
    raise_text,
    restore_spans,
    strip_marks,
)
from ragstone.ingest.formats.metadata import flatten_values
from ragstone.ingest.formats.numbering import format_number
from ragstone.ingest.formats.struck import strike_out
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import Format, Surroundings

_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?")
_TITLE = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_UNDERLINED = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_BLOCK_ATTRIBUTES = re.compile(r"\[(?!\[)[^\n]*\]")
_ANCHOR = re.compile(r"\[\[([\w:.-]+)(?:,[^\]]*)?\]\]")
_BLOCK_TITLE = re.compile(r"\.(?![.\s])(\S.*)")
_DELIMITER = re.compile(
    r"(-{4,}|={4,}|\*{4,}|_{4,}|\.{4,}|\+{4,}|/{4,}|--|`{3,}[\w-]*|\|===+|,===+|!===+|:===+|\^{4,})"
)
_BULLET = re.compile(r"\s*(-|\*{1,6}|\u2022)\s+(\S.*)")
_NUMBER = re.compile(r"\s*(\.{1,6}|\d+\.|[a-zA-Z]\.|[ivxIVX]+\))\s+(\S.*)")
_TERM = re.compile(r"\s*(\S.*?)(:{2,4}|;;)(?:\s+(.*))?")
_CALLOUT = re.compile(r"<(\d+|\.)>\s+(.*)")
_NOTE = re.compile(r"(NOTE|TIP|WARNING|IMPORTANT|CAUTION):\s+(.*)", re.DOTALL)
_MACRO = re.compile(
    r"(?:include|toc|ifdef|ifndef|ifeval|endif|video|audio|asciimath|indexterm2?)::[^\n]*|<<<|'{3,}|-{3}|\*{3}"
)
_IMAGE = re.compile(r"image::\S*?\[(.*)\]")
_ANNOTATIONS = re.compile(
    r"[ \t]*(?://|#|--|;;)?[ \t]*"
    r"(?:<!--\d+-->|<(?:\d{1,2}|\.)>)(?=(?:[ \t]*<(?:\d{1,2}|\.)>)*[ \t]*$)",
    re.MULTILINE,
)
_CELL = re.compile(r"(?:(?<=\s)|^)(\d+(?:\.\d+)?[+*]|\.\d+[+])?[<^>.]{0,4}([aehlmdsv])?(?<!\\)\|")
_RAISED, _LOWERED = re.compile(r"\^([^\s^]+)\^"), re.compile(r"~([^\s~]+)~")


def _strike_out(match: re.Match[str]) -> str:
    return strike_out(match[2])


_QUOTES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"(?<!\w)(?:\(\(\()[^()]*(?:\)\)\))", ""),
        (r"\(\(([^()]+)\)\)", r"\1"),
        (r"\[[^\[\]\n]*\b(?:line-through|strike)\b[^\[\]\n]*\](#{1,2})([^#\n]+)\1", _strike_out),
        (r"(?:indexterm|anchor|bibitem):[\w-]*\[[^\]]*\]", ""),
        (r"(?:image|icon):[^\s\[\]:][^\s\[\]]*\[([^\],]*)[^\]]*\]", r"\1"),
        (r"(?:kbd|btn|menu|pass|q|a|indexterm2):\w*\[([^\]]*)\]", r"\1"),
        (r"(?:link|xref|mailto|git\w*|linkgit):([^\s\[\]]+)\[\]", r"\1"),
        (r"linkgit:([\w-]+)\[(\d)\]", r"\1(\2)"),
        (
            r"(?:link|xref|mailto):[^\s\[\]]+\[([^\]]*?)(?:,\s*(?:role|window|opts|subs)=[^\]]*)?\]",
            r"\1",
        ),
        (r"((?:https?|ftp|irc)://[^\s\[\]<>]+)\[\]", r"\1"),
        (r"(?:https?|ftp|irc)://[^\s\[\]<>]+\[([^\]]*?)(?:\^|,\s*\w+=[^\]]*)?\]", r"\1"),
        (r"<<[^<>,]+,\s*([^<>]+?)>>", r"\1"),
        (r"<<#?([^<>]+)>>", r"\1"),
        (r"\[\[[\w:.-]+(?:,[^\]]*)?\]\]", ""),
        (r"\[[.#%][\w .#%-]*\](?=[#*_`])", ""),
        (r"(?<![\w*])\*\*(\S|\S.*?\S)\*\*", r"\1"),
        (r"(?<![\w\\*])\*(\S|\S[^*]*?\S)\*(?![\w*])", r"\1"),
        (r"__(\S|\S.*?\S)__", r"\1"),
        (r"(?<![\w\\_])_(\S|\S[^_]*?\S)_(?![\w_])", r"\1"),
        (r"(?<![\w#&])##(\S|\S[^#]*?\S)##", r"\1"),
        (r"(?<![\w\\#&])#(\S|\S[^#]*?\S)#(?![\w#])", r"\1"),
        (r"(?<!\\)\{(?:sp|nbsp|zwsp|empty|blank)\}", " "),
        (r"(?<=\w)--(?=\w)|(?<=\s)--(?=\s)", "\u2014"),
        (r"\\(?=[*_`#{<\[:h(~^-])", ""),
    )
)
_FORMULA = re.compile(r"(?:latexmath|asciimath|stem):\w*\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")
_FOOTNOTE = re.compile(r"footnote(?:ref)?:[\w-]*\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")
_LITERALS = re.compile(
    r"\+\+\+(.+?)\+\+\+|`\+(.+?)\+`|``(.+?)``|(?<![\w\\`])`([^`\s]|[^`\s][^`]*?[^`\s])`(?![\w`])|"
    r"(?<![\w+\\])\+([^+\s]|[^+\s][^+]*?[^+\s])\+(?![\w+])|pass:\w*\[(.*?)\]",
    re.DOTALL,
)
_CODE_LITERALS = (2, 3, 4)
"""The groups of what is shown as code."""

_QUOTED = re.compile(r"``([^`'\n]+?)''")
_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_CHARACTERS = {
    "plus": "+", "lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"', "startsb": "[",
    "endsb": "]", "caret": "^", "asterisk": "*", "tilde": "~", "backslash": "\\", "backtick": "`",
    "vbar": "|", "cpp": "C++", "two-colons": "::", "two-semicolons": ";;", "ldquo": "\u201c",
    "rdquo": "\u201d", "lsquo": "\u2018", "rsquo": "\u2019", "deg": "°", "litdd": "--",
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "wj": "", "brvbar": "¦",
}  # fmt: skip
_VERSION = re.compile(r"v?([\d.]+\w*)?(?:,\s*)?(\d{4}-\d\d-\d\d)?(?::.*)?")
_FACTS = {"author", "authors", "revdate", "description", "keywords", "lang", "version", "revnumber"}
_DEPTH = 20
"""How deep blocks may be in each other; what is deeper is a paragraph."""


def parse_asciidoc(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the blocks of a file by itself."""
    return parse_asciidoc_file(path, ending, max_bytes, None)


def parse_asciidoc_file(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None
) -> Parsed:
    """Return the blocks of a file. Its title is the document's, else its first heading."""
    included = expand_includes(decode_file(path).replace("\x00", ""), path, around)
    lines = included.text.expandtabs(8).split("\n")
    reader = _Reader()
    read = reader.blocks([line.rstrip() for line in lines], _Within())
    blocks = [block for block in read if block.text.strip()]
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    facts = {key: value for key, value in reader.attributes.items() if key in _FACTS and value}
    return Parsed(title, iter(blocks), metadata=flatten_values(facts), notes=included.notes)


@dataclass(frozen=True, slots=True)
class _Within:
    """What a paragraph is here, in how many lists, and in how many blocks."""

    kind: BlockKind = "paragraph"
    label: str = ""
    items: int = 0
    nested: int = 0


@dataclass(slots=True)
class _Marks:
    """What the lines above a block say of it."""

    style: str = ""
    language: str = ""
    options: str = ""
    title: str = ""
    anchor: str = ""

    def read(self, line: str) -> bool:
        """Take a line of attributes, an anchor or a title; False for any other."""
        if anchor := _ANCHOR.fullmatch(line):
            self.anchor = anchor[1]
        elif _BLOCK_ATTRIBUTES.fullmatch(line):
            parts = [part.strip().strip("\"'") for part in line[1:-1].split(",")]
            self.style = re.split(r"[.#%]", parts[0])[0].lower() or self.style
            self.language = parts[1] if len(parts) > 1 and "=" not in parts[1] else ""
            self.options += f",{line[1:-1]}"
        elif title := _BLOCK_TITLE.fullmatch(line):
            self.title = title[1]
        else:
            return False
        return True


@dataclass(slots=True)
class _Reader:
    """Reads lines into blocks; attributes that are set hold for what comes after."""

    attributes: dict[str, str] = field(default_factory=dict)
    footnotes: list[str] = field(default_factory=list)
    """Those of the blocks that were read, until they are blocks themselves."""

    def blocks(self, lines: Sequence[str], within: _Within) -> Iterator[Block]:
        at = 0
        marks = _Marks()
        while at < len(lines):
            line = lines[at]
            if (
                line.strip() in ("", "+")
                or self._is_setting(line)
                or (line.startswith("//") and line[:4] != "////")
            ) or marks.read(line):
                at += 1
            elif delimiter := _DELIMITER.fullmatch(line):
                end = _find_closing(lines, at, delimiter[1])
                yield from self._read_delimited(delimiter[1], lines[at + 1 : end], marks, within)
                at, marks = end + 1, _Marks()
            elif heading := self._heading(lines, at, marks):
                yield heading[0]
                at, marks = at + heading[1], _Marks()
                at += self._author_lines(lines, at, heading[0])
            elif _MACRO.fullmatch(line.strip()):
                at, marks = at + 1, _Marks()
            elif _is_item(line):
                end = _list_end(lines, at)
                yield from self._read_title(marks)
                yield from self._list(lines[at:end], within)
                at, marks = end, _Marks()
            else:
                end = _paragraph_end(lines, at)
                yield from self._paragraph(lines[at:end], marks, within)
                at, marks = end, _Marks()
            yield from (Block(f"Footnote: {note}") for note in self.footnotes)
            self.footnotes.clear()

    def _is_setting(self, line: str) -> bool:
        match = _ATTRIBUTE.fullmatch(line)
        if match:
            self.attributes[match[1].strip("!").lower()] = (match[2] or "").strip()
        return bool(match)

    def _heading(self, lines: Sequence[str], at: int, marks: _Marks) -> tuple[Block, int] | None:
        """Return a heading and how many lines it takes."""
        line = lines[at]
        if match := _TITLE.fullmatch(line):
            text = self.plain(match[2].rstrip(" =#") if match[2].endswith(match[1]) else match[2])
            return Block(text, "heading", len(match[1]), label=marks.anchor), 1
        under = lines[at + 1] if at + 1 < len(lines) else ""
        mark = under[:1]
        fits = abs(len(under) - len(line)) <= 2 and len(line) > 1 and line[0].isalnum()
        if mark in _UNDERLINED and under.strip(mark) == "" and fits and len(under) > 1:
            return Block(self.plain(line), "heading", _UNDERLINED[mark], label=marks.anchor), 2
        return None

    def _author_lines(self, lines: Sequence[str], at: int, heading: Block) -> int:
        """Tell how many lines below the document's title name the author and the version."""
        if heading.level != 1 or "author" in self.attributes:
            return 0
        count = 0
        match = (
            re.fullmatch(r"([^\W\d_][\w. '-]+?)(?:\s+<([^<>]+)>)?", lines[at])
            if at < len(lines)
            else None
        )
        if match and (match[2] or len(lines[at].split()) < 4) and not _is_item(lines[at]):
            self.attributes["author"], count = match[1].strip(), 1
            version = lines[at + 1] if at + 1 < len(lines) else ""
            found = _VERSION.fullmatch(version)
            if version and found:
                self.attributes["revnumber"] = found[1] or ""
                self.attributes["revdate"] = found[2] or ""
                count = 2
        return count

    def _read_title(self, marks: _Marks) -> Iterator[Block]:
        if marks.title:
            yield Block(self.inline(marks.title), "caption")

    def _paragraph(self, lines: Sequence[str], marks: _Marks, within: _Within) -> Iterator[Block]:
        if image := _IMAGE.fullmatch(lines[0].strip()):
            text = self.inline(marks.title or image[1].split(",")[0].strip("\"'"))
            yield from (Block(text, "caption"),) if text and "=" not in text else ()
            return
        if marks.style in ("source", "listing", "literal") or lines[0].startswith(" "):
            yield from _code(lines, marks)
            return
        mark = " +\n" if marks.style == "verse" or "hardbreaks" in marks.options else "\n"
        text = mark.join(line for line in lines if not line.startswith("//"))
        if note := _NOTE.fullmatch(text):
            within = replace(within, kind="admonition", label=note[1].lower())
            text = note[2]
        elif marks.style in ADMONITIONS:
            kind: BlockKind = "quote" if marks.style == "quote" else "admonition"
            within = replace(within, kind=kind, label="" if kind == "quote" else marks.style)
        if marks.title:
            yield Block(self.inline(marks.title), within.kind, label=within.label)
        if shown := self.inline(text):
            yield Block(shown, within.kind, label=within.label)

    def _read_delimited(
        self, delimiter: str, lines: Sequence[str], marks: _Marks, within: _Within
    ) -> Iterator[Block]:
        if delimiter.startswith("//"):
            return
        if delimiter[1:4] == "===" and delimiter[0] in "|,:!":
            yield from self._table(lines, marks, delimiter[0])
        elif delimiter.startswith("+"):
            if marks.style in ("stem", "latexmath", "asciimath"):
                yield from self._formula(lines)
            else:
                yield from page_blocks("\n".join(lines))
        elif (
            marks.style in ("source", "listing", "literal", "diag", "plantuml", "mermaid")
            or delimiter[0] in "`."
            or (delimiter[:4] == "----")
        ):
            fenced = replace(marks, language=delimiter.strip("`")) if delimiter[0] == "`" else marks
            yield from self._read_title(marks) if not marks.style and delimiter[0] == "." else ()
            yield from _code(lines, fenced)
        else:
            yield from self._read_nested(delimiter, lines, marks, within)

    def _formula(self, lines: Sequence[str]) -> Iterator[Block]:
        if text := formula_text("\n".join(lines)):
            yield Block(text)

    def _read_nested(
        self, delimiter: str, lines: Sequence[str], marks: _Marks, within: _Within
    ) -> Iterator[Block]:
        inside = replace(within, nested=within.nested + 1)
        if marks.style == "verse":
            verse = [line for line in lines if line.strip()]
            yield from self._paragraph(verse, marks, within) if verse else ()
            return
        if delimiter[0] == "_" or marks.style == "quote":
            inside = replace(inside, kind="quote", label="")
        elif marks.style in ADMONITIONS:
            inside = replace(inside, kind="admonition", label=marks.style)
        if marks.title:
            kind: BlockKind = inside.kind if inside.kind != "paragraph" else "caption"
            yield Block(self.inline(marks.title), kind, label=inside.label)
        if inside.nested > _DEPTH:
            yield from (Block(text),) if (text := self.inline("\n".join(lines))) else ()
        else:
            yield from self.blocks(lines, inside)

    def _list(self, lines: Sequence[str], within: _Within) -> Iterator[Block]:
        """Yield the items of a list; each with the blocks that a `+` joins to it."""
        keys: list[str] = []
        numbers: list[int] = []
        for item in _items(lines):
            start = _find_start(item[0])
            while start.key in keys and keys[-1] != start.key:
                keys.pop()
                numbers.pop()
            if start.key not in keys:
                keys.append(start.key)
                numbers.append(0)
            numbers[-1] += 1
            inside = replace(within, items=within.items + len(keys))
            rest = [start.text, *item[1:]]
            if start.term:
                body = _join_continuations(_outdent(rest))
                yield from define_term(self.inline(start.term), self._inside(body, inside))
            else:
                yield from self._item(start.label or _label(start.key, numbers[-1]), rest, inside)

    def _inside(self, lines: Sequence[str], within: _Within) -> Iterator[Block]:
        if within.nested < _DEPTH:
            yield from self.blocks(lines, replace(within, nested=within.nested + 1))

    def _item(self, label: str, lines: Sequence[str], within: _Within) -> Iterator[Block]:
        own, rest = _split_item(lines)
        if text := self.inline("\n".join(own)):
            box = {"[ ] ": "☐ ", "[x] ": "☑ ", "[*] ": "☑ "}.get(text[:4])
            text = f"{box}{text[4:]}" if box else text
            yield Block(f"{label} {text}", "item", within.items, label=label)
        yield from self._inside(rest, within)

    def _table(self, lines: Sequence[str], marks: _Marks, sign: str) -> Iterator[Block]:
        caption = self.inline(marks.title) if marks.title else ""
        yield from (Block(caption, "caption"),) if caption else ()
        filled = [line for line in lines if line.strip()]
        if not filled:
            return
        if sign in ",:" or "format=" in marks.options:
            delimiter = ":" if sign == ":" or "dsv" in marks.options else ","
            rows = list(csv.reader(filled, delimiter=delimiter, skipinitialspace=True))
        else:
            rows = _rows(lines, marks.options)
        gap = next((at for at, line in enumerate(lines) if line.strip()), 0) + 1
        implied = gap < len(lines) and not lines[gap].strip() and "noheader" not in marks.options
        header = 1 if "header" in marks.options or (implied and len(rows) > 1) else 0
        shown = [[self.inline(cell) for cell in row] for row in rows]
        yield from table_blocks(shown, header, caption)

    def inline(self, text: str) -> str:
        """Return the text that a reader sees, with code between backticks; literals keep their
        characters."""
        return restore_spans(self._read(text))

    def plain(self, text: str) -> str:
        """Return the same for a heading."""
        return strip_marks(self._read(text))

    def _read(self, text: str) -> str:
        literals = Literals()

        def keep_literal(match: re.Match[str]) -> str:
            literal = next(part for part in match.groups() if part is not None)
            is_code = match[0][0] == "`" and (match.lastindex or 0) in _CODE_LITERALS
            return literals.put(mark_code(literal) if is_code else literal)

        text = _LITERALS.sub(keep_literal, _QUOTED.sub(r'"\1"', text))
        text = _FORMULA.sub(lambda match: literals.put(formula_text(match[1].strip("$"))), text)
        text = _REFERENCE.sub(self._value, text)
        text = _FOOTNOTE.sub(self._keep_footnote, text)
        text = _RAISED.sub(lambda match: raise_text(match[1]), text)
        text = _LOWERED.sub(lambda match: lower_text(match[1]), text)
        for pattern, shown in _QUOTES:
            text = pattern.sub(shown, text)
        parts = re.split(r" \+\n", text)
        text = "\n".join(" ".join(part.split()) for part in parts)
        return literals.restore(text).strip()

    def _keep_footnote(self, match: re.Match[str]) -> str:
        """Keep what a note says, if it is not only named, for behind its block."""
        if note := self.inline(match[1]):
            self.footnotes.append(note)
        return ""

    def _value(self, match: re.Match[str]) -> str:
        name = match[1].lower()
        return self.attributes.get(name, _CHARACTERS.get(name, match[0]))[:1000]


class _Start(NamedTuple):
    """How an item begins. `key` tells lists apart that are in each other."""

    key: str
    text: str
    label: str = ""
    term: str = ""


def _find_start(line: str) -> _Start:
    if callout := _CALLOUT.fullmatch(line):
        return _Start("<>", callout[2], "" if callout[1] == "." else f"{callout[1]}.")
    if bullet := _BULLET.fullmatch(line):
        return _Start(bullet[1], bullet[2], "-")
    if number := _NUMBER.fullmatch(line):
        mark = number[1]
        if mark.startswith("."):
            return _Start(mark, number[2])
        return _Start("1" if mark[0].isdigit() else f"a{mark[-1]}", number[2], mark)
    if term := _TERM.fullmatch(line):
        return _Start(term[2], term[3] or "", term=term[1])
    return _Start("", line, "-")


def _is_item(line: str) -> bool:
    return bool(_find_start(line).key) and not line.startswith(("//", "|"))


def _label(key: str, number: int) -> str:
    """Return the number of an item that only dots mark; each depth counts in another way."""
    style = "1aiAI"[(len(key) - 1) % 5] if key.startswith(".") else "1"
    return f"{format_number(number, style)}."


def _items(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the lines of each item."""
    held: list[str] = []
    at = 0
    while at < len(lines):
        delimiter = _DELIMITER.fullmatch(lines[at])
        end = _find_closing(lines, at, delimiter[1]) + 1 if delimiter else at + 1
        starts_list = _BLOCK_ATTRIBUTES.fullmatch(lines[at]) and _is_item(
            "".join(lines[end : end + 1])
        )
        if not delimiter and _is_item(lines[at]) and held:
            yield held
            held = []
        if not starts_list:
            held += lines[at:end]
        at = end
    if held:
        yield held


def _split_item(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the text of an item, and the blocks that follow in it."""
    for at, line in enumerate(lines):
        if at and (line == "+" or not line.strip() or _DELIMITER.fullmatch(line)):
            return [item.strip() for item in lines[:at]], _join_continuations(lines[at:])
    return [line.strip() for line in lines], []


def _join_continuations(lines: Sequence[str]) -> list[str]:
    """Return the blocks that a `+` joins, with empty lines for it, but not in code."""
    found: list[str] = []
    at = 0
    while at < len(lines):
        delimiter = _DELIMITER.fullmatch(lines[at])
        end = _find_closing(lines, at, delimiter[1]) + 1 if delimiter else at + 1
        found += [""] if lines[at] == "+" else lines[at:end]
        at = end
    return found


def _outdent(lines: Sequence[str]) -> list[str]:
    """Return the text of a term, which is often indented, but no code."""
    cut = next(
        (at for at, line in enumerate(lines) if _DELIMITER.fullmatch(line.strip())), len(lines)
    )
    return [line.strip() for line in lines[:cut]] + list(lines[cut:])


def _list_end(lines: Sequence[str], at: int) -> int:
    """Return the line after a list: an empty one before something that does not belong to it."""
    joined = False
    while at < len(lines):
        line = lines[at]
        if delimiter := _DELIMITER.fullmatch(line):
            if not joined and line != "--":
                return at
            at = _find_closing(lines, at, delimiter[1])
        elif not line.strip():
            after = next(
                (item for item in range(at, len(lines)) if lines[item].strip()), len(lines)
            )
            following = lines[after] if after < len(lines) else ""
            bare = (
                at > 0 and _find_start(lines[at - 1]).term and not _find_start(lines[at - 1]).text
            )
            goes_on = bare or _is_item(following) or following.startswith(" ") or following == "+"
            if not goes_on or _TITLE.fullmatch(following):
                return at
            at = after - 1
        joined = line == "+" or (
            joined and bool(_BLOCK_ATTRIBUTES.fullmatch(line) or _BLOCK_TITLE.fullmatch(line))
        )
        at += 1
    return at


def _paragraph_end(lines: Sequence[str], at: int) -> int:
    first = at
    while at < len(lines) and lines[at].strip():
        if at > first and (
            _DELIMITER.fullmatch(lines[at]) or _BLOCK_ATTRIBUTES.fullmatch(lines[at])
        ):
            break
        at += 1
    return at


def _find_closing(lines: Sequence[str], at: int, delimiter: str) -> int:
    """Return the line that closes a block, the end of all lines where none does."""
    mark = "```" if delimiter.startswith("`") else delimiter
    return next((item for item in range(at + 1, len(lines)) if lines[item] == mark), len(lines))


def _code(lines: Sequence[str], marks: _Marks) -> Iterator[Block]:
    """Code as it is, without the numbers of its annotations."""
    text = _ANNOTATIONS.sub("", dedent("\n".join(lines))).strip("\n").rstrip()
    if text.strip():
        yield Block(text, "code", label=marks.language.split("%")[0])


def _rows(lines: Sequence[str], options: str) -> list[list[str]]:
    """The cells between bars, in rows of as many as the columns, or as the first line has."""
    cells: list[str] = []
    first = 0
    for line in lines:
        if not line.strip():
            continue
        before, *found = _split_cells(line)
        if cells and before.strip():
            cells[-1] += f"\n{before}"
        cells += found
        first = first or len(found)
    width = _columns(options) or first or 1
    return [cells[at : at + width] for at in range(0, len(cells), width)]


def _split_cells(line: str) -> list[str]:
    """What stands before the first bar, and the cells; one that spans columns is repeated."""
    matches = list(_CELL.finditer(line))
    if not matches:
        return [line]
    parts = [line[: matches[0].start()]]
    ends = [*(match.start() for match in matches[1:]), len(line)]
    for match, end in zip(matches, ends, strict=True):
        cell = line[match.end() : end].strip().replace("\\|", "|")
        times = re.match(r"\d+", match[1] or "")
        parts += [cell] * min(int(times[0]) if times else 1, 50)
    return parts


def _columns(options: str) -> int:
    match = re.search(r"cols=(?:\"([^\"]*)\"|([^,\]]+))", options)
    if not match:
        return 0
    count = 0
    for part in re.split(r"[,;]", match[1] or match[2]):
        times = re.match(r"\s*(\d+)\*", part)
        count += min(int(times[1]), 100) if times else 1
    return count


ASCIIDOC = Format("text/asciidoc", parse_asciidoc, whole=True, including=parse_asciidoc_file)
