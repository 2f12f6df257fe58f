"""Files inside of files (attachments, members of an archive), read by their types' parsers."""

import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ragstone.core.errors import ConfigError, DocumentError
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.types import FORMATS, check_type

log = logging.getLogger(__name__)

MAX_DEPTH = 2
"""Files are read in a file, and in those, but no deeper."""

_NAME_CHARS = 100


def is_readable(name: str) -> bool:
    """Whether a file of that name is of a type that can be read."""
    return PurePosixPath(name).suffix.lower().removeprefix(".") in FORMATS


def member_blocks(
    outer: Path,
    name: str,
    write: Callable[[BinaryIO], None],
    max_bytes: int,
    *,
    level: int,
    depth: int,
) -> Iterator[Block]:
    """The blocks of a file that stands in `outer`, below its name as heading.

    `write` unpacks it; `depth` is how many files it stands in. Headings go down by `level`. There
    are no pages: those of the member are not the outer file's. A member that cannot be read is left
    out with a warning, so that the others still are read.
    """
    if depth > MAX_DEPTH:
        log.warning("%s in %s is left out: it stands too deep in other files.", name, outer.name)
        return
    title = " ".join(name.split())
    headed = False
    try:
        for block in written_blocks(title, write, max_bytes, depth=depth):
            if not headed:
                yield Block(title, "heading", level)
                headed = True
            lower = block.level + level if block.kind == "heading" else block.level
            yield replace(block, level=lower, page=None, places=())
    except DocumentError as error:
        log.warning("%s in %s is left out: %s", name, outer.name, error)


def written_blocks(
    name: str, write: Callable[[BinaryIO], None], max_bytes: int, *, depth: int
) -> Iterator[Block]:
    """The blocks of a file that `write` makes, as its parser gives them; raises a DocumentError."""
    ending = PurePosixPath(name).suffix.lower()
    try:
        known = FORMATS.get(ending.removeprefix("."))
    except ConfigError as error:
        log.warning("%s", error)
        return
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


def file_name(name: str, ending: str) -> str:
    """A name for the disk: errors show it, so it is like the member's."""
    stem = PurePosixPath(name.replace("\\", "/")).stem
    safe = "".join(char if char.isalnum() or char in " ._-" else "_" for char in stem)
    return (
        f"{safe.strip(' .')[:_NAME_CHARS].encode()[:200].decode(errors='ignore') or 'file'}{ending}"
    )
