"""Finding the files below the paths that a user gave."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragstone.core.clock import calendar_time
from ragstone.core.errors import DocumentError, OutsideFolder, UnreadableDocument, WrongType
from ragstone.ingest.file_threads import report_progress
from ragstone.ingest.formats.types import explain_skipped, explain_unsupported, list_endings
from ragstone.ingest.places import open_folder, open_regular, resolve_links
from ragstone.language.similar_names import MAX_NAMES, find_similar
from ragstone.service import Handed

_READ_BYTES = 1 << 20

SIDECARS = (".meta.yaml", ".meta.yml", ".meta.json")
"""Endings that the name of a file gets for the file that describes it; the first one counts."""

FOLDER_FILE = "ragstone.yaml"
"""Describes the files below its folder, by patterns."""

HIDDEN, NO_ENDING, WITHOUT_TEXT = "hidden", "no ending", "picture without text"
CHAPTER = "part of another document"
COPY = "copy of another document"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index.

    `place` is where it is (absolute, links resolved), `path` its name in the collection, such
    as "/folder/sub/file.pdf", `root` the given file or folder it belongs to (absolute, links
    resolved). `size` is in bytes, `modified` in seconds since 1970, 0 where no calendar has that
    time. `handed` describes it if it was handed over. The place of a member of an archive is below
    that of the archive, and `digest` tells its content from another. With a `refusal` it is known
    already that it cannot be read; one of a type that is passed over in folders is `skipped`.
    """

    # A text: an ingest keeps a million of these, and a Path takes twice as much memory.
    place: str
    path: str
    root: Path
    size: int
    modified: float
    handed: Handed | None = None
    digest: str = ""
    refusal: DocumentError | None = None
    skipped: bool = False

    def __post_init__(self) -> None:
        if (modified := calendar_time(self.modified)) != self.modified:
            object.__setattr__(self, "modified", modified)

    @property
    def source(self) -> Path:
        """Where it is."""
        return Path(self.place)


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file or folder that cannot be indexed, and why."""

    path: str
    error: DocumentError


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder inside a given folder that is passed over. `kind` is its ending, HIDDEN or
    NO_ENDING; `file` is what is known of it, None for what nobody asks after by its name."""

    path: str
    kind: str
    file: FoundFile | None = None


Item = FoundFile | RefusedFile | SkippedFile


class _WalkOptions:
    """What a walk looks at."""

    def __init__(self, pictures: bool) -> None:
        self.pictures = pictures
        self.endings = list_endings(pictures=pictures)


def discover(
    paths: Sequence[Path], *, pictures: bool = True, only: Sequence[Path] | None = None
) -> Iterator[Item]:
    """Walk the given files and folders lazily, each folder in sorted order.

    Hidden entries and unsupported types inside folders are skipped; a file named explicitly is
    refused instead. Files that describe others are no documents. A document's path starts with the
    name of the folder that was given. Where two given paths have the same name, the later one gets
    "-2", "-3", ... in the order given, so the same command always makes the same paths; a path
    given twice is walked once. `pictures` says whether pictures are documents. Where `only` names
    files and folders below these, nothing else is looked at, and what is gone is left out.
    """
    how = _WalkOptions(pictures)
    taken: set[str] = set()
    seen: set[Path] = set()
    for given in paths:
        root = Path(resolve_links(given))
        if root in seen:
            continue
        seen.add(root)
        if _is_folder(root):
            path = f"/{_unique_name(root.name or 'root', taken)}"
            changed = None if only is None else _places_below(given, root, only)
            if changed is None or Path() in changed:
                yield from _walk(str(root), str(root), path, root, how, frozenset())
            else:
                yield from _walk_changed(root, path, how, changed)
        elif only is None or {given, root} & set(only):
            yield _read_given_file(given, root, taken, how)


def content_hash(path: Path) -> str:
    """Return the BLAKE2b hash of a file's bytes (32 hex digits), read in pieces.

    Raises UnreadableDocument.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb", opener=open_regular) as file:
            while data := file.read(_READ_BYTES):
                report_progress(path)
                digest.update(data)
    except OSError as error:
        raise _unreadable_error(path, error) from error
    return digest.hexdigest()


def find_given_folder(path: str, source: Path) -> Path | None:
    """Return the folder that was given for a document, by its path in the collection: the files
    that it includes must be there. None for one that was given alone."""
    below = path.strip("/").split("/")[1:]
    if below and source.parts[-len(below) :] == tuple(below):
        return source.parents[len(below) - 1]
    return None


def printable_path(path: str | Path) -> str:
    """Return the path with invalid Unicode replaced, so that it can be stored and printed."""
    return os.fsencode(path).decode("utf-8", "replace")


def is_text(path: str | Path) -> bool:
    """Tell whether a path is valid Unicode, so that it can be stored."""
    return printable_path(path) == str(path)


def is_description_file(name: str) -> bool:
    """Tell whether a file of this name describes other files."""
    return name == FOLDER_FILE or name.lower().endswith(SIDECARS)


def suggest_nearest(path: Path) -> str:
    """Return the names beside a path that does not exist that are most like its own, as the end of
    a sentence; empty if there are none."""
    folder = path.parent
    while not _is_folder(folder) and folder != folder.parent:
        path, folder = folder, folder.parent
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_NAMES), strict=False)]
    except OSError:
        return ""
    visible = sorted(
        name for name in names if not (name.startswith(".") or is_description_file(name))
    )
    found = [str(folder / name) for name in find_similar(path.name, visible)]
    return f" The nearest: {', '.join(found)}." if found else ""


def _read_given_file(
    given: Path, root: Path, taken: set[str], how: _WalkOptions
) -> FoundFile | RefusedFile:
    if is_description_file(given.name) and os.path.exists(root):
        return RefusedFile(
            str(given), WrongType(f"{given.name} describes other files. Ingest those instead.")
        )
    if not {given.suffix.lower(), root.suffix.lower()} & set(how.endings):
        if not os.path.exists(root):
            return RefusedFile(str(given), _not_found_error(given))
        return RefusedFile(
            str(given), WrongType(explain_unsupported(given.name, pictures=how.pictures))
        )
    path = f"/{_unique_name(Path(os.path.abspath(given)).name, taken)}"
    return _file(str(root), str(root), path, root)


def _walk(
    folder: str, real: str, path: str, root: Path, how: _WalkOptions, above: frozenset[str]
) -> Iterator[Item]:
    """`real` is the folder with links resolved; `above` are the real folders that the walk is
    inside of: entering one again is a loop."""
    try:
        with open_folder(real) as handle, os.scandir(handle) as found:
            # Sorted, so that the same folder makes the same paths ("-2", "-3") each time.
            entries = sorted(
                (entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False))
                for entry in found
            )
    except OSError as error:
        yield RefusedFile(path, _unreadable_error(Path(folder), error))
        return
    inside = above | {real}
    for name, linked, is_folder in entries:
        if not is_description_file(name):
            place, target = os.path.join(folder, name), os.path.join(real, name)
            if linked:
                # Only a link makes another place of its name: no other is looked up from the top.
                target = resolve_links(target)
                is_folder = os.path.isdir(target)
            here = f"{path}/{name}"
            yield from _entry(place, target, linked, is_folder, here, root, how, inside)


def _entry(
    place: str,
    target: str,
    linked: bool,
    is_folder: bool,
    name: str,
    root: Path,
    how: _WalkOptions,
    above: frozenset[str],
) -> Iterator[Item]:
    """Yield what an entry of a folder is or holds. `target` is its place with links resolved;
    `linked`: it is a link itself."""
    base = os.path.basename(place)
    ending = os.path.splitext(base)[1].lower()
    if base.startswith("."):
        yield SkippedFile(name, HIDDEN)
    elif linked and not Path(target).is_relative_to(root):
        if is_folder or ending in how.endings:
            yield RefusedFile(name, _outside_error(place))
    elif is_folder:
        if target not in above:
            yield from _walk(place, target, name, root, how, above)
    elif ending in how.endings:
        yield _file(place, target, name, root)
    else:
        yield build_skipped_file(FoundFile(target, name, root, 0, 0.0), pictures=how.pictures)


def build_skipped_file(item: FoundFile, *, pictures: bool) -> SkippedFile:
    """Return a file of a type that is passed over, which who names it is told."""
    ending = os.path.splitext(item.path)[1].lower()
    if not ending:
        return SkippedFile(item.path, NO_ENDING)
    reason = WrongType(explain_skipped(os.path.basename(item.path), pictures=pictures))
    return SkippedFile(item.path, ending, replace(item, refusal=reason, skipped=True))


def _places_below(given: Path, root: Path, only: Sequence[Path]) -> set[Path]:
    """Return the places of `only` below a given folder, relative to it; that itself is `Path()`.
    What describes documents stands for these."""
    found = set()
    for place in only:
        for start in (Path(os.path.abspath(given)), root):
            if start.is_relative_to(place):
                found.add(Path())
            elif place.is_relative_to(start):
                found.add(_path_it_describes(place.relative_to(start)))
    return found


def _path_it_describes(place: Path) -> Path:
    """Return the file or folder that a file says something about; another one is itself."""
    if place.name == FOLDER_FILE:
        return place.parent
    sidecar = next((end for end in SIDECARS if place.name.lower().endswith(end)), "")
    return place.with_name(place.name[: -len(sidecar)]) if sidecar else place


def _walk_changed(root: Path, path: str, how: _WalkOptions, changed: set[Path]) -> Iterator[Item]:
    """Yield what is at these places below `root`, each once."""
    seen: set[Path] = set()
    for place in sorted(changed):
        entry, name, above = root, path, frozenset[str]()
        for part in place.parts:
            above |= {resolve_links(entry)}
            entry, name = entry / part, f"{name}/{part}"
            if part.startswith(".") or entry in seen:
                break
            # A linked folder is walked whole, as is the last part.
            linked = os.path.islink(entry)
            if linked or entry == root / place:
                seen.add(entry)
                if os.path.lexists(entry):
                    target = resolve_links(entry)
                    is_folder = os.path.isdir(target)
                    yield from _entry(str(entry), target, linked, is_folder, name, root, how, above)
                break


def _is_folder(place: Path) -> bool:
    """False also for what cannot be reached, which reading then tells."""
    try:
        return place.is_dir()
    except OSError:
        return False


def _file(place: str, target: str, path: str, root: Path) -> FoundFile | RefusedFile:
    try:
        # Opened to be measured: what is told of a path may be of another file by then.
        handle = open_regular(target)
        status = os.fstat(handle)
        os.close(handle)
    except (OSError, ValueError) as error:
        return RefusedFile(path, _unreadable_error(Path(place), error))
    return FoundFile(target, path, root, status.st_size, status.st_mtime)


def _unique_name(name: str, taken: set[str]) -> str:
    stem, suffix = os.path.splitext(name)
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{stem}-{number}{suffix}"
    taken.add(unique)
    return unique


def _not_found_error(path: Path) -> DocumentError:
    return UnreadableDocument(f"{path} does not exist. Check the path.{suggest_nearest(path)}")


def _outside_error(path: str) -> DocumentError:
    return OutsideFolder(
        f"{path} is a link that leads outside the given folder. "
        "Give the folder that it leads to as well."
    )


def _unreadable_error(path: Path, error: OSError | ValueError) -> DocumentError:
    # A name with a null byte is one that no file has.
    if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
        return _not_found_error(path)
    reason = "permission denied" if isinstance(error, PermissionError) else error.strerror
    return UnreadableDocument(f"{path} cannot be read: {reason}.")
