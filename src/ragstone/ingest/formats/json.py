"""JSON and JSON Lines: each value under its path ("a.b: value"), small records as rows of a table,
a larger one as a block.

A JSON file is read piece by piece: the elements of an array, and the values of the objects that
hold it, down to a few levels, so that memory holds one record at a time. Several objects or arrays
may follow each other, as programs write them that add to a file.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from ragstone.core.errors import TooLarge, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import open_text
from ragstone.ingest.formats.types import Format

_READ_CHARS = 1 << 16
_OPEN_LEVELS = 3

ROW_CHARS, ROWS_CHARS = 600, 4_000
"""Characters of the longest record that is a row, and of a block of rows."""

_SPACE = " \t\r\n"
_BLANK = re.compile(r"[ \t\r\n]*\Z")
_EMPTY = re.compile(r"\[[ \t\r\n]*\]|\{[ \t\r\n]*\}")
_DECODER = json.JSONDecoder(strict=False)


def parse_json(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the records of a JSON file; a single one may have `max_bytes` at most."""
    return Parsed("", _json_blocks(path, max_bytes))


def parse_jsonl(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the records of a JSON Lines file; a line may have `max_bytes` at most."""
    return Parsed("", _jsonl_blocks(path, max_bytes))


def _jsonl_blocks(path: Path, max_bytes: int) -> Iterator[Block]:
    rows = _Rows()
    with open_text(path) as file:
        number = 0
        while line := file.readline(max_bytes + 1):
            number += 1
            if len(line) > max_bytes:
                raise _too_long(path)
            if not line.strip():
                continue
            try:
                yield from rows.add(_DECODER.decode(line.strip()))
            except (ValueError, RecursionError) as error:
                raise UnreadableDocument(
                    f"{path.name} has no valid JSON in line {number:,}."
                ) from error
    yield from rows.rest()


def _json_blocks(path: Path, max_bytes: int) -> Iterator[Block]:
    with open_text(path) as file:
        source = _Source(path, file, max_bytes)
        yield from _value(source, "", 0)
        while following := source.peek():
            if following not in "[{":
                raise source.invalid()
            yield from _value(source, "", 0)


def record_blocks(path: Path, value: Any, max_bytes: int) -> Iterator[Block]:
    """Return the blocks of a value as they are those of its JSON: records are rows."""
    text = json.dumps(value, ensure_ascii=False)
    return _value(_Source(path, io.StringIO(text), max_bytes), "", 0)


def _value(source: "_Source", name: str, depth: int) -> Iterator[Block]:
    """Yield the blocks of the next value: containers are entered while they may hold records."""
    opening = source.peek()
    if opening == "[" and depth < _OPEN_LEVELS:
        source.take("[")
        yield from _array(source, name, depth)
    elif opening == "{" and depth < _OPEN_LEVELS:
        source.take("{")
        yield from _object(source, name, depth)
    else:
        yield from value_blocks(source.value(), "" if name == "[]" else name)


def _array(source: "_Source", name: str, depth: int) -> Iterator[Block]:
    if source.peek() == "]":
        source.take("]")
        return
    if name and name != "[]":
        yield Block(name, "heading", min(depth, 6) or 1)
    rows = _Rows()
    while True:
        if source.peek() == "{":
            yield from rows.add(source.value())
        else:
            yield from rows.rest()
            yield from _value(source, "[]", depth + 1)
        if source.peek() == "]":
            source.take("]")
            yield from rows.rest()
            return
        source.take(",")


def _object(source: "_Source", name: str, depth: int) -> Iterator[Block]:
    """Yield scalars that follow each other are one record; a large value stands alone."""
    plain: dict[str, Any] = {}
    prefix = f"{name}." if name and name != "[]" else ""
    while source.peek() != "}":
        key = source.value()
        if not isinstance(key, str):
            raise source.invalid()
        source.take(":")
        if source.take_empty():
            plain[prefix + key] = None
        elif source.peek() in "[{":
            yield from value_blocks(plain)
            plain = {}
            yield from _value(source, prefix + key, depth + 1)
        else:
            plain[prefix + key] = source.value()
        if source.peek() != "}":
            source.take(",")
    source.take("}")
    yield from value_blocks(plain)


class _Rows:
    """Records one after another: small ones become rows of a table, "name: Ann; age: 7"."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._chars = 0
        self._empty: dict[str, None] = {}
        self._used: set[str] = set()

    def add(self, record: Any) -> Iterator[Block]:
        """Yield the blocks that are whole with this record."""
        cells = list(_lines(record, "")) if isinstance(record, dict) else []
        line = "; ".join(cells)
        split = any("\n" in cell or "; " in cell for cell in cells)
        # A row is one line, in which "; " parts the values.
        if len(cells) < 2 or split or len(line) > ROW_CHARS:
            yield from self.rest()
            yield from value_blocks(record)
            return
        self._lines.append(line)
        self._chars += len(line)
        self._empty |= dict.fromkeys(_empty_names(record, ""))
        self._used |= {cell.partition(": ")[0] for cell in cells}
        if self._chars >= ROWS_CHARS:
            yield from self.rest()

    def rest(self) -> Iterator[Block]:
        if self._lines:
            unused = _format_empty_paths(item for item in self._empty if item not in self._used)
            yield Block("\n".join((*self._lines, *unused)), "table")
        self._lines, self._chars = [], 0
        self._empty, self._used = {}, set()


def value_blocks(value: Any, name: str = "") -> Iterator[Block]:
    """Yield a value as one block, each of its values under its path, and last the paths that have
    none; nothing for an empty value."""
    lines = (*_lines(value, name), *_format_empty_paths(dict.fromkeys(_empty_names(value, name))))
    text = "\n".join(lines)
    if text.strip():
        yield Block(text)


def _format_empty_paths(names: Iterable[str]) -> Iterator[str]:
    """Yield the paths without a value, as one line."""
    if line := " | ".join(names):
        yield line


def _empty_names(value: Any, name: str) -> Iterator[str]:
    """Yield the paths that have no value: in settings a name alone may say something."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _empty_names(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value:
        for inner in value:
            if isinstance(inner, dict | list):
                yield from _empty_names(inner, name)
    elif name and not isinstance(value, bool | int | float) and not value:
        yield name


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        if all(not isinstance(inner, dict | list) for inner in value):
            if value:
                yield _line(name, ", ".join(_scalar(inner) for inner in value))
        else:
            for inner in value:
                yield from _lines(inner, name)
    elif value is not None and value != "":
        yield _line(name, _scalar(value))


def _line(name: str, value: str) -> str:
    return f"{name}: {value}" if name else value


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


class _Source:
    """A window on the text of a JSON file that moves forward only."""

    def __init__(self, path: Path, file: TextIO, max_chars: int) -> None:
        self._path, self._file, self._max = path, file, max_chars
        self._text, self._at = "", 0

    def peek(self) -> str:
        """Return the next character that is not white space, "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._read_more():
                return ""

    def take_empty(self) -> bool:
        """Take an array or object without anything in it, if one is next."""
        if self.peek() not in ("[", "{"):
            return False
        while _BLANK.match(self._text, self._at + 1) and self._read_more():
            pass
        found = _EMPTY.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found is not None

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self.invalid()
        self._at += 1

    def value(self) -> Any:
        """Return the next whole value, reading on until it is complete."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if isinstance(error, RecursionError) or not self._read_more():
                    raise self.invalid() from error
                continue
            # A number at the end of the window may go on behind it.
            if end == len(self._text) and self._read_more():
                continue
            self._at = end
            return value

    def invalid(self) -> UnreadableDocument:
        near = " ".join(self._text[self._at : self._at + 40].split()) or "its end"
        return UnreadableDocument(f"{self._path.name} is not valid JSON near: {near}")

    def _read_more(self) -> bool:
        """Read on, doubling the window so that a long value costs linear time."""
        # What was taken is dropped, so that memory holds one value.
        kept = self._text[self._at :]
        if len(kept) > self._max:
            raise _too_long(self._path)
        read = self._file.read(max(_READ_CHARS, len(kept)))
        self._text, self._at = kept + read, 0
        return bool(read)


def _too_long(path: Path) -> TooLarge:
    return TooLarge(
        f"{path.name} has a single JSON value that is larger than INGEST__MAX_FILE_MB allows."
    )


JSON = Format("application/json", parse_json)
JSONL = Format("application/jsonl", parse_jsonl)
NDJSON = Format("application/x-ndjson", parse_jsonl)
