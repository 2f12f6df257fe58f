"""Files inside of files (attachments, members of an archive), read by their types' parsers."""

import mimetypes
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ragstone.core.errors import ConfigError, DocumentError, UnreadableDocument, WrongType
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.types import FORMATS, check_type, suggest_conversion

MAX_DEPTH = 2
"""Files are read in a file, and in those, but no deeper."""

MAX_TOLD = 20
"""Of the files in a file that are left out, these are named."""

_NAME_CHARS = 100


def is_readable(name: str) -> bool:
    """Tell whether a file of that name is of a type that can be read."""
    return PurePosixPath(name).suffix.lower().removeprefix(".") in FORMATS


class LeftOut:
    """Which files in a file are not read, and why."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._count = 0

    def add(self, sentence: str) -> None:
        """Keep a sentence on one of them; only the first ones are told."""
        self._count += 1
        if self._count <= MAX_TOLD:
            self._notes.append(sentence)

    def notes(self) -> Sequence[str]:
        """Return the sentences, for `Parsed.last_notes`."""
        more = self._count - len(self._notes)
        return (*self._notes, *([f"{more:,} more files in it are left out."] if more else ()))


def member_blocks(
    name: str,
    write: Callable[[BinaryIO], None],
    max_bytes: int,
    left_out: LeftOut,
    *,
    level: int,
    depth: int,
) -> Iterator[Block]:
    """Yield the blocks of a file that stands in another one, below its name as heading.

    `write` unpacks it; `depth` is how many files it stands in. Headings go down by `level`. There
    are no pages: those of the member are not the outer file's. A member that cannot be read is
    `left_out`, so that the others still are read.
    """
    title = " ".join(name.split())
    headed = False
    try:
        if depth > MAX_DEPTH:
            raise UnreadableDocument("it stands too deep in other files.")
        if not is_readable(name):
            raise WrongType(_unreadable_message(name))
        for block in read_member_blocks(title, write, max_bytes, left_out, depth=depth):
            if not headed:
                yield Block(title, "heading", level)
                headed = True
            lower = block.level + level if block.kind == "heading" else block.level
            yield replace(block, level=lower, page=None, places=())
    except DocumentError as error:
        # Most pictures of a mail are logos: nobody misses their text.
        if not (mimetypes.guess_type(name)[0] or "").startswith("image/"):
            left_out.add(f"{title} is left out: {error}")


def read_member_blocks(
    name: str, write: Callable[[BinaryIO], None], max_bytes: int, left_out: LeftOut, *, depth: int
) -> Iterator[Block]:
    """The blocks of a file that `write` makes, as its parser gives them; raises a DocumentError."""
    ending = PurePosixPath(name).suffix.lower()
    try:
        known = FORMATS.get(ending.removeprefix("."))
    except ConfigError as error:
        raise UnreadableDocument(error.message) from error
    with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
        path = Path(folder) / file_name(name, ending)
        with path.open("wb") as file:
            write(file)
        check_type(path, known.magic)
        parsed: Parsed
        if known.nested:
            parsed = known.nested(path, ending, max_bytes, depth)
        else:
            parsed = known.parse(path, ending, max_bytes)
        for block in parsed.blocks:
            # Its pictures are in no file that is there when somebody wants to see them.
            if block.text or not block.pictures:
                yield replace(block, pictures=())
        for note in (*parsed.notes, *parsed.last_notes()):
            left_out.add(f"{name}: {note}")


def _unreadable_message(name: str) -> str:
    ending = PurePosixPath(name).suffix
    advice = suggest_conversion(ending)
    said = f"files of its type ({ending or 'no ending'}) cannot be read."
    return f"{said} {advice} and ingest that." if advice else said


def file_name(name: str, ending: str) -> str:
    """Return a name for the disk: errors show it, so it is like the member's."""
    stem = PurePosixPath(name.replace("\\", "/")).stem
    safe = "".join(char if char.isalnum() or char in " ._-" else "_" for char in stem)
    return (
        f"{safe.strip(' .')[:_NAME_CHARS].encode()[:200].decode(errors='ignore') or 'file'}{ending}"
    )
