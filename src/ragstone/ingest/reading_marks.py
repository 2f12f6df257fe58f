"""Which files are being read, where it outlives the process.

Files are read in processes that may die. Still a file can end the whole server: in a container
whose memory is over, all processes are killed together, and the job begins with the same file
again. So a file is marked while it is read, and given up when the server has died with the
same mark too often. A death counts in full where reading had taken much memory. Of others many are
needed: whoever stops a server hard stops it at some file.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.files import FoundFile
from ragstone.ingest.places import find_file

FOLDER = "reading"

HEAVY_DEATHS = 2
"""Deaths of the server while reading the same file took much memory."""

DEATHS = 10
"""Deaths of any kind while the same file was read."""


@dataclass(frozen=True, slots=True)
class ReadingMark:
    """A file that is being read, as it is now, and how often that ended with the server."""

    path: str
    size: int
    modified: float
    deaths: int = 0
    heavy_deaths: int = 0
    heavy: bool = False


class ReadingMarks:
    """Marks in a folder of the data directory, which one process at a time has; without a folder
    nothing is marked."""

    def __init__(self, data: Path | None) -> None:
        self._folder = data / FOLDER if data else None

    @contextmanager
    def mark(self, item: FoundFile, sample: bool = False) -> Iterator[Callable[[], None]]:
        """Mark a file while it is read; yields what to call if that takes much memory.

        Raises UnreadableDocument for a file with which the server has died too often. That ends
        its mark, unless it is read as a `sample` only, so that it can be tried again.
        """
        if self._folder is None:
            yield lambda: None
            return
        place = self._folder / hashlib.blake2b(os.fsencode(item.place), digest_size=16).hexdigest()
        new = ReadingMark(item.place, item.size, item.modified)
        mark = _after_death(new, _read(place))
        if mark.heavy_deaths >= HEAVY_DEATHS or mark.deaths >= DEATHS:
            # The reading that follows a sample must find the mark too.
            if not sample:
                place.unlink(missing_ok=True)
            raise UnreadableDocument(
                f"The server ended {mark.deaths} times while {item.source.name} was read, so it is "
                "left out. Ingest it again if the file was not the cause, or lower "
                "INGEST__PARSE_MEMORY_MB so that it fails before the memory is over."
            )
        try:
            # Before the file is opened: the server may die at once.
            _write(place, mark)
            yield lambda: _write(place, replace(mark, heavy=True))
        finally:
            place.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete the marks of files that are gone."""
        for place in self._folder.glob("*") if self._folder else ():
            mark = _read(place)
            if mark is None or not os.path.lexists(find_file(mark.path)):
                place.unlink(missing_ok=True)


def _after_death(new: ReadingMark, left: ReadingMark | None) -> ReadingMark:
    """What is known of a file by the mark of a process that died; a changed file begins anew."""
    if left is None or (left.path, left.size, left.modified) != (new.path, new.size, new.modified):
        return new
    return replace(new, deaths=left.deaths + 1, heavy_deaths=left.heavy_deaths + int(left.heavy))


def _read(place: Path) -> ReadingMark | None:
    """Return the mark that is left; one that was cut off in writing counts for nothing."""
    try:
        return ReadingMark(**json.loads(place.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _write(place: Path, mark: ReadingMark) -> None:
    with suppress(OSError):  # On a full disk the index says so.
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.write_text(json.dumps(asdict(mark)), encoding="utf-8")
