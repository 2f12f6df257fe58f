"""The files that one document includes: found, read within bounds, and counted."""

import errno
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragstone.core.errors import DocumentError
from ragstone.ingest.formats.decode import decode
from ragstone.ingest.formats.types import Surroundings
from ragstone.ingest.places import read_regular

MAX_INCLUDED_FILES, MAX_INCLUDED_CHARS, MAX_INCLUDED_DEPTH = 300, 8_000_000, 10
"""Inclusions in one document, characters of them all, and how deep they may be in each other."""

FILE_BYTES = 4 << 20
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class IncludingFile:
    """A file whose lines are read, and the files that include it, itself last. `whole` says whether
    all of its lines are in the document."""

    path: Path
    above: tuple[Path, ...]
    whole: bool = True


class IncludedFiles:
    """Finds and reads what one document includes."""

    def __init__(self, around: Surroundings | None) -> None:
        self._around = around
        self._left: dict[str, str] = {}
        self._count = self._chars = 0
        self.read_files: dict[Path, None] = {}
        self.chapters: dict[Path, None] = {}
        """Documents by themselves of which the including one has all lines."""
        self.attributes: dict[str, str] = {}
        """Of AsciiDoc: the values that a name in braces stands for."""

    def notes(self) -> tuple[str, ...]:
        """Return one sentence on what was left out, none if that is nothing."""
        if not self._left:
            return ()
        shown = [f"{name} ({why})" for name, why in self._left.items()][:_SHOWN]
        more = len(self._left) - len(shown)
        rest = f" and {more:,} more" if more else ""
        return (f"Included files were left out: {', '.join(shown)}{rest}.",)

    def read(
        self, name: str, place: IncludingFile, anywhere: bool = False
    ) -> tuple[str, IncludingFile] | None:
        """Return the text of a file and its place; None if it is left out. `anywhere` looks for it
        from each folder above the document too."""
        found = self._find(name, place, anywhere)
        if isinstance(found, str):
            self._left.setdefault(" ".join(name.split())[:80], found)
            return None
        try:
            text = decode(read_regular(found, FILE_BYTES), found.name).replace("\x00", "")
        except OSError as error:
            self.leave(name, "too much" if error.errno == errno.EFBIG else "not to be read")
            return None
        except DocumentError:
            self.leave(name, "no text")
            return None
        self._count += 1
        self._chars += len(text)
        self.read_files[found] = None
        return text, IncludingFile(found, (*place.above, found), place.whole)

    def enter(
        self, file: IncludingFile, *, is_part: bool, endings: Container[str]
    ) -> IncludingFile:
        """Return a file whose lines are read now, of which a part may be left out; those with one
        of the `endings` would be documents by themselves."""
        file = replace(file, whole=file.whole and not is_part)
        if file.whole and file.path.suffix.lower() in endings:
            self.chapters[file.path] = None
        return file

    def leave(self, name: str, why: str) -> None:
        """Note a file that is left out."""
        self._left.setdefault(name[:80], why)

    def _find(self, name: str, place: IncludingFile, anywhere: bool) -> Path | str:
        """Return the file that a name means, or why it is left out."""
        if self._around is None:
            return "the document was given without its folder"
        outside = False
        for base in _bases(self._around, name, place, anywhere):
            target = self._around.find(base, name)
            if target is None:
                outside = True
                continue
            if self._around.is_hidden(target) or not _is_file(target):
                continue
            # Files that include each other would never end.
            if target in place.above:
                return "it includes itself"
            if len(place.above) > MAX_INCLUDED_DEPTH:
                return f"more than {MAX_INCLUDED_DEPTH} files in each other"
            if self._count >= MAX_INCLUDED_FILES or self._chars >= MAX_INCLUDED_CHARS:
                return "too much"
            return target
        return "outside the given folder" if outside else "not there"


def _bases(around: Surroundings, name: str, place: IncludingFile, anywhere: bool) -> Iterator[Path]:
    """Yield the folders that a name may count from, nearest first."""
    if not name.startswith("/"):
        yield place.path.parent
        yield around.document.parent
    if name.startswith("/") or anywhere:
        for folder in around.document.parents:
            yield folder
            if folder == around.folder:
                return


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def pick_lines(lines: Sequence[str], spec: str, range_sign: str = "-") -> list[str]:
    """The lines of numbers such as "1,3,5-10,20-", counted from 1; negative ends count back."""
    kept: list[str] = []
    for part in re.split(r"[,;]", spec.strip("\"' ")):
        first, sign, last = part.strip().partition(range_sign)
        if not re.fullmatch(r"-?\d{0,7}", first) or not re.fullmatch(r"-?\d{0,7}", last):
            continue
        start = int(first) if first.strip("-") else 1
        end = (int(last) if last.strip("-") else len(lines)) if sign else start
        end = len(lines) + 1 + end if end < 0 else end
        kept += lines[max(start - 1, 0) : max(end, 0)]
    return kept
