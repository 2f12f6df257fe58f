"""Finding the files below the paths that a user gave."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragstone.core.errors import DocumentError, OutsideFolder, UnreadableDocument, WrongType
from ragstone.ingest.formats.types import supported
from ragstone.service import Handed

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index.

    `source` is where it is (absolute, links resolved), `path` its name in the collection, such
    as "/folder/sub/file.pdf", `root` the given file or folder it belongs to (absolute, links
    resolved). `size` is in bytes, `modified` in seconds since 1970. `handed` describes it if it was
    handed over.
    """

    source: Path
    path: str
    root: Path
    size: int
    modified: float
    handed: Handed | None = None


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file or folder that cannot be indexed, and why."""

    path: str
    error: DocumentError


def discover(paths: Sequence[Path], follow_links: bool) -> Iterator[FoundFile | RefusedFile]:
    """Walk the given files and folders lazily, each folder in sorted order.

    Hidden entries and unsupported types inside folders are passed over; a file named explicitly
    is refused instead. A document's path starts with the name of the folder that was given. Where
    two given paths have the same name, the later one gets "-2", "-3", ... in the order given, so
    the same command always makes the same paths; a path given twice is walked once.
    """
    taken: set[str] = set()
    seen: set[Path] = set()
    for given in paths:
        root = Path(os.path.realpath(given))
        if root in seen:
            continue
        seen.add(root)
        if root.is_dir():
            name = _unique(root.name or "root", taken)
            yield from _walk(root, f"/{name}", root, follow_links, frozenset())
        else:
            yield _named(given, root, taken)


def content_hash(path: Path) -> str:
    """The BLAKE2b hash of a file's bytes (32 hex digits), read in pieces.

    Raises UnreadableDocument.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while data := file.read(_READ_BYTES):
                digest.update(data)
    except OSError as error:
        raise _unreadable(path, error) from error
    return digest.hexdigest()


def _named(given: Path, root: Path, taken: set[str]) -> FoundFile | RefusedFile:
    if not {given.suffix.lower(), root.suffix.lower()} & set(supported()):
        if not root.exists():
            return RefusedFile(str(given), _missing(given))
        return RefusedFile(str(given), _unsupported(given))
    return _file(root, f"/{_unique(Path(os.path.abspath(given)).name, taken)}", root)


def _walk(
    folder: Path, path: str, root: Path, follow_links: bool, above: frozenset[Path]
) -> Iterator[FoundFile | RefusedFile]:
    """`above` are the real folders that the walk is inside of: entering one again is a loop."""
    real = Path(os.path.realpath(folder))
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield RefusedFile(path, _unreadable(folder, error))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        place, name = Path(entry.path), f"{path}/{entry.name}"
        target = Path(os.path.realpath(place))
        if entry.is_symlink() and not follow_links and not target.is_relative_to(root):
            if place.is_dir() or place.suffix.lower() in supported():
                yield RefusedFile(name, _outside(place))
        elif place.is_dir():
            if target not in above | {real}:
                yield from _walk(place, name, root, follow_links, above | {real})
        elif place.suffix.lower() in supported():
            yield _file(place, name, root)


def _file(place: Path, path: str, root: Path) -> FoundFile | RefusedFile:
    source = Path(os.path.realpath(place))
    try:
        if not source.exists():
            return RefusedFile(path, _missing(place))
        if not source.is_file():
            return RefusedFile(path, UnreadableDocument(f"{place.name} is not a regular file."))
        with source.open("rb"):
            status = source.stat()
    except OSError as error:
        return RefusedFile(path, _unreadable(place, error))
    return FoundFile(source, path, root, status.st_size, status.st_mtime)


def _unique(name: str, taken: set[str]) -> str:
    stem, suffix = os.path.splitext(name)
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{stem}-{number}{suffix}"
    taken.add(unique)
    return unique


def _missing(path: Path) -> DocumentError:
    return UnreadableDocument(f"{path} does not exist. Check the path.")


def _outside(path: Path) -> DocumentError:
    return OutsideFolder(
        f"{path} is a link that leads outside the given folder. "
        "Set INGEST__FOLLOW_LINKS=true to follow such links."
    )


def _unsupported(path: Path) -> DocumentError:
    kind = path.suffix or "without an ending"
    return WrongType(
        f"{path.name} is of a type that cannot be read ({kind}). "
        f"Supported are {', '.join(supported())}."
    )


def _unreadable(path: Path, error: OSError) -> DocumentError:
    if isinstance(error, FileNotFoundError):
        return _missing(path)
    reason = "permission denied" if isinstance(error, PermissionError) else error.strerror
    return UnreadableDocument(f"{path} cannot be read: {reason}.")
