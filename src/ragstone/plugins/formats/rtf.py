"""RTF: its groups and control words are followed as far as they say what is shown.

Headings come from the names of styles and from outline levels, list labels from the text that
writers put beside each item, tables from their cells. Pictures, fields' codes, hidden and deleted
text and comments are left out.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragstone.core.errors import EmptyDocument, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.furniture import add_running_heads
from ragstone.ingest.formats.inline_text import lower_text, raise_text
from ragstone.ingest.formats.metadata import keyword_list
from ragstone.ingest.formats.numbering import BULLET
from ragstone.ingest.formats.struck import hide, strike_out
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import Format

_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9A-Fa-f]{2})"
    rb"|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)
_DROPPED = {
    "fonttbl", "colortbl", "listtable", "listoverridetable", "pict", "object", "fldinst",
    "annotation", "atnid", "atnauthor", "themedata", "colorschememapping", "datastore",
    "latentstyles", "rsidtbl", "xmlnstbl", "generator", "filetbl", "revtbl", "pgptbl",
    "nonshppict", "bkmkstart", "bkmkend", "shpinst", "wgrffmtfilter", "private", "comment",
    "operator", "ftnsep", "ftnsepc", "aftnsep", "aftnsepc", "falt", "panose", "listname", "xe",
    "tc", "template", "fontemb", "objdata", "ffdeftext", "ffformat", "formfield", "datafield",
    "userprops", "docvar", "mmathPr", "nonesttables",
}  # fmt: skip
_RUNNING = {f"{kind}{page}": kind for kind in ("header", "footer") for page in ("", "l", "r", "f")}
_SHOWN_ANYWAY = {"shptxt", "fldrslt", "result", "listtext", "pntext", "footnote", "info"}
_ENDS = {"par", "sect", "cell", "nestcell", "row", "nestrow"}
_SIGNS = {
    "tab": " ", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“",
    "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ", "line": "\n",
    "lbr": "\n", "softline": "\n", "page": "\n", "column": "\n", "qmspace": " ",
}  # fmt: skip
_SHIFTS = {"super": 1, "sub": -1, "nosupersub": 0, "up": 1, "dn": -1}
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251", 222: "cp874", 238: "cp1250", 255: "cp437",
}  # fmt: skip
_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|kop|rubrik) ?([1-9])", re.IGNORECASE
)
_MAX_DEPTH = 1000
_BODY_TEXT = 9
_PROPERTIES = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords",
               "company": "company", "doccomm": "description"}  # fmt: skip


@dataclass(slots=True)
class _State:
    """What holds within a group."""

    shown: bool = True
    codec: str = "cp1252"
    skip: int = 1
    """How many bytes after a Unicode character stand for it in older readers."""
    target: str = "body"
    hidden: bool = False
    struck: bool = False
    shift: int = 0
    """Above 0 for raised text, below 0 for lowered."""
    style: int = -1
    outline: int = -1
    list_level: int = 0
    in_table: bool = False


@dataclass(slots=True)
class _Document:
    """What is collected on the way."""

    blocks: list[Block] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    notes: list[list[str]] = field(default_factory=list)
    running: dict[str, list[str]] = field(default_factory=lambda: {"header": [], "footer": []})
    info: dict[str, list[str]] = field(default_factory=dict)
    styles: dict[int, str] = field(default_factory=dict)
    dates: dict[str, dict[str, int]] = field(default_factory=dict)


def parse_rtf(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole. Raises UnreadableDocument."""
    data = path.read_bytes()
    reader = _Reader(path, data)
    found = reader.read()
    if not found.blocks:
        raise EmptyDocument(f"{path.name} holds no text.")
    values = {name: " ".join("".join(text).split()) for name, text in found.info.items()}
    metadata: dict[str, Any] = {
        ours: values[name] for name, ours in _PROPERTIES.items() if values.get(name)
    }
    title = metadata.pop("title", "")
    if words := metadata.get("keywords"):
        metadata["keywords"] = keyword_list(words)
    for name, ours in (("creatim", "created"), ("revtim", "modified")):
        parts = found.dates.get(name, {})
        if {"yr", "mo", "dy"} <= set(parts):
            hour, minute = parts.get("hr", 0), parts.get("min", 0)
            day = f"{parts['yr']:04}-{parts['mo']:02}-{parts['dy']:02}"
            metadata[ours] = f"{day}T{hour:02}:{minute:02}:00"
    blocks = add_running_heads(found.blocks, found.running["header"], found.running["footer"])
    return Parsed(title, blocks, metadata=metadata)


class _Reader:
    """Follows the groups of one file."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data = path, data
        self._document = _Document()
        self._state = _State()
        self._stack: list[_State] = []
        self._fonts: dict[int, str] = {}
        self._default = "cp1252"
        self._font = -1
        self._pending = 0
        self._high = ""
        self._bytes = bytearray()
        self._starred = False
        self._fresh = False
        """Whether a group has just begun: only there, a star says that it may be left out."""

    def read(self) -> _Document:
        position, size = 0, len(self._data)
        while position < size:
            match = _TOKEN.match(self._data, position)
            if match is None:
                position += 1
                continue
            position = match.end()
            kind = match.lastgroup or ""
            if kind in ("word", "number"):
                number = int(match["number"]) if match["number"] else None
                name = match["word"].decode()
                if name == "bin" and number:
                    position += max(number, 0)
                    continue
                self._word(name, number)
            elif kind == "hex":
                self._raw(bytes([int(match["hex"], 16)]))
            elif kind == "sign":
                self._sign(match["sign"])
            elif kind == "brace":
                self._brace(match["brace"] == b"{")
            elif kind == "text":
                self._raw(match["text"])
        self._flush()
        self._state.in_table = False
        self._paragraph()
        self._table()
        return self._document

    def _brace(self, opens: bool) -> None:
        self._flush()
        if opens:
            if len(self._stack) >= _MAX_DEPTH:
                raise UnreadableDocument(
                    f"{self._path.name} cannot be read: its groups stand too deep in each other."
                )
            self._stack.append(replace(self._state))
            self._starred, self._fresh = False, True
        elif self._stack:
            before = self._state
            self._state = self._stack.pop()
            if before.target == "note" and self._state.target != "note":
                self._document.notes.append([])

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._starred, self._fresh = self._fresh, False
        elif sign in b"\\{}":
            self._raw(sign)
        elif sign == b"~":
            self._say("\u00a0")
        elif sign == b"_":
            self._say("-")
        elif sign in b"\r\n":
            self._word("par", None)

    def _word(self, word: str, number: int | None) -> None:
        self._flush()
        starred, self._starred, self._fresh = self._starred, False, False
        if word in _DROPPED:
            self._state.shown = False
        elif word in _SHOWN_ANYWAY or word in _RUNNING:
            self._destination(word)
        elif starred:
            self._state.shown = False
        elif word in _SIGNS:
            self._say(_SIGNS[word])
        elif word == "u" and number is not None:
            self._unicode(number)
        elif word in ("strike", "striked"):
            self._state.struck = number != 0
        elif word in _SHIFTS:
            self._state.shift = _SHIFTS[word] if number != 0 else 0
        elif not self._structure(word) and not self._font_word(word, number):
            self._property(word, number)

    def _destination(self, word: str) -> None:
        state = self._state
        if word in ("listtext", "pntext"):
            state.target, state.shown = "label", True
        elif word == "footnote":
            state.target, state.shown = "note", state.shown
            self._document.notes.append([])
        elif word in _RUNNING:
            state.target = _RUNNING[word]
            self._document.running[state.target].append("")
        elif word == "info":
            state.target, state.shown = "info", False
        elif word in ("shptxt", "fldrslt", "result"):
            state.shown = state.target == "body" or state.shown

    def _structure(self, word: str) -> bool:
        """Ends of paragraphs, cells and rows; False for any other word."""
        state = self._state
        if word in ("par", "sect") and state.target == "note":
            self._say("\n")
        elif state.target in self._document.running:
            if word not in _ENDS:
                return False
            self._say(" ")
        elif word in ("par", "sect"):
            self._paragraph()
        elif word in ("cell", "nestcell"):
            self._document.cells.append(self._take_text())
        elif word in ("row", "nestrow"):
            if self._document.cells:
                self._document.rows.append(self._document.cells)
            self._document.cells = []
        elif word == "pard":
            state.style = state.outline = -1
            state.list_level, state.in_table = 0, False
        elif word == "intbl":
            state.in_table = True
        else:
            return False
        return True

    def _font_word(self, word: str, number: int | None) -> bool:
        """Fonts and code pages, which say how bytes are read."""
        if word == "ansicpg" and number:
            self._default = self._state.codec = _find_codec(f"cp{number}")
        elif word == "mac":
            self._default = self._state.codec = "mac_roman"
        elif word == "f" and number is not None:
            self._font = number
            self._state.codec = self._fonts.get(number, self._default)
        elif word == "fcharset" and number is not None:
            self._fonts[self._font] = (
                _CHARSETS.get(number, self._default) if number else self._default
            )
        elif word == "plain":
            self._state.codec, self._state.hidden = self._default, False
            self._state.struck, self._state.shift = False, 0
        elif word == "uc" and number is not None:
            self._state.skip = max(number, 0)
        else:
            return False
        return True

    def _property(self, word: str, number: int | None) -> None:
        state = self._state
        on = number != 0
        if word == "v":
            state.hidden = on
        elif word == "deleted":
            state.struck = on
        elif word == "s" and number is not None:
            state.style = number
        elif word == "outlinelevel" and number is not None:
            state.outline = number
        elif word == "ilvl" and number is not None:
            state.list_level = min(max(number, 0), 8)
        elif word == "stylesheet":
            state.target = "styles"
        elif state.target.startswith("info"):
            if word in _PROPERTIES or word in ("creatim", "revtim"):
                state.target = f"info {word}"
            elif state.target in ("info creatim", "info revtim") and number is not None:
                self._document.dates.setdefault(state.target[5:], {})[word] = number

    def _unicode(self, number: int) -> None:
        code = number % 65536
        self._pending = self._state.skip
        if 0xD800 <= code < 0xDC00:
            self._high = chr(code)
            return
        char = chr(code)
        if 0xDC00 <= code < 0xE000:
            pair = (self._high or "\ufffd") + char
            char = pair.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self._high = ""
        if 0xF000 <= code < 0xF100:
            char = "•"
        self._say(char, keeps_pending=True)

    def _raw(self, data: bytes) -> None:
        if self._pending:
            cut = min(self._pending, len(data))
            self._pending -= cut
            data = data[cut:]
        self._bytes += data

    def _flush(self) -> None:
        self._pending = 0
        if self._bytes:
            text = bytes(self._bytes).decode(self._state.codec, "replace")
            self._bytes.clear()
            self._say(text)

    def _say(self, text: str, keeps_pending: bool = False) -> None:
        pending = self._pending
        if self._bytes:
            self._flush()
        self._pending = pending if keeps_pending else 0
        state, document = self._state, self._document
        if state.target.startswith("info "):
            document.info.setdefault(state.target[5:], []).append(text)
        elif state.target == "styles":
            key = max(state.style, 0)
            document.styles[key] = document.styles.get(key, "") + text
        elif not state.shown:
            return
        elif state.hidden:
            hide(text)
        elif state.target == "label":
            document.label.append(text)
        elif state.target in document.running:
            document.running[state.target][-1] += text
        elif state.target == "note" and document.notes:
            document.notes[-1].append(self._format(text))
        else:
            document.parts.append(self._format(text))

    def _format(self, text: str) -> str:
        """Return text as raised or lowered, if it is; a mark for what is struck out."""
        state = self._state
        if state.struck:
            return strike_out(text)
        if state.shift:
            return raise_text(text) if state.shift > 0 else lower_text(text)
        return text

    def _take_text(self) -> str:
        """Return the text since the last paragraph or cell, with its label."""
        document = self._document
        lines = (" ".join(line.split()) for line in "".join(document.parts).split("\n"))
        text = "\n".join(lines).strip()
        label = " ".join("".join(document.label).split())
        document.parts, document.label = [], []
        return f"{label} {text}".strip() if label and text else text

    def _paragraph(self) -> None:
        self._flush()
        document, state = self._document, self._state
        if state.in_table and (document.cells or document.rows or document.parts):
            document.parts.append(" ")
            return
        label = " ".join("".join(document.label).split())
        document.label = []
        text = self._take_text()
        if text and not state.in_table:
            self._table()
            document.blocks.append(self._block(text, label))
        for note in document.notes:
            if said := " ".join("".join(note).split()):
                document.blocks.append(Block(f"Footnote: {said}"))
        document.notes = []

    def _block(self, text: str, label: str) -> Block:
        level = self._level()
        if level:
            text = " ".join(text.split())
            return Block(f"{label} {text}" if label[:1].isalnum() else text, "heading", level)
        if label:
            label = label if any(char.isalnum() for char in label) and len(label) > 1 else BULLET
            return Block(f"{label} {text}", "item", self._state.list_level + 1, label=label)
        return Block(text)

    def _level(self) -> int:
        """Return the heading level of the paragraph, 0 for body text."""
        if 0 <= self._state.outline < _BODY_TEXT:
            return self._state.outline + 1
        name = self._document.styles.get(self._state.style, "") if self._state.style >= 0 else ""
        match = _HEADING.match(name.strip(" ;"))
        return int(match[1]) if match else int(name.strip(" ;").lower() == "title")

    def _table(self) -> None:
        """A table ends with the first paragraph outside of it."""
        document = self._document
        if document.cells:
            document.rows.append(document.cells)
        rows, document.rows, document.cells = document.rows, [], []
        document.blocks += list(_table_or_text(rows))


def _table_or_text(rows: list[list[str]]) -> Iterator[Block]:
    if all(len(row) < 2 for row in rows):
        yield from (Block(cell) for row in rows for cell in row if cell)
    else:
        yield from table_blocks(rows)


def _find_codec(name: str) -> str:
    try:
        return codecs.lookup("utf-8" if name == "cp65001" else name).name
    except LookupError:
        return "cp1252"


RTF = Format("application/rtf", parse_rtf, whole=True, magic=b"{\\rtf")
