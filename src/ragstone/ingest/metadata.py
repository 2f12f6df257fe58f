"""What people say of files beside them: sidecars (`report.pdf.meta.yaml`), and patterns and readers
in a folder's `ragstone.yaml`.

Such a file may come from anyone who writes to the folder, so it is read with limits, and what it
says of readers holds within what the folders above say.
"""

import fnmatch
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ragstone.core.errors import InputError, InvalidMetadata
from ragstone.core.metadata import check_metadata, parse_value
from ragstone.core.readers import FolderReaders, intersect_readers, parse_readers
from ragstone.ingest.files import FOLDER_FILE, SIDECARS, FoundFile, RefusedFile, find_given_folder
from ragstone.ingest.formats.metadata import WithoutAliases
from ragstone.ingest.places import find_archive, open_regular, resolve_links

MAX_METADATA_BYTES = 64 * 1024
MAX_PATTERNS, MAX_PARTS = 1_000, 50

READERS = "readers"
"""The key of a folder's readers, where patterns are others."""


@dataclass(frozen=True, slots=True)
class FoundMetadata:
    """What the files beside a document say of it. `refused` are those that cannot be read, each
    named once in an ingest."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[RefusedFile, ...] = ()
    readers: tuple[FolderReaders, ...] = ()
    """Those of the folders that the file is in, as folders of the collection."""
    closed: InvalidMetadata | None = None
    """Why it is not known who may read the file."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """The metadata of the files that a pattern means; `parts` are the pattern's, by its slashes."""

    parts: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _FolderFile:
    """What a folder's file says. `error` is why it cannot be used, and `closed` that it may say
    more of readers than is known."""

    rules: Sequence[_Rule] = ()
    readers: tuple[str, ...] = ()
    error: InvalidMetadata | None = None
    closed: bool = False


class MetadataFiles:
    """Reads the metadata files of one ingest; each folder's is read once. Blocking."""

    def __init__(self) -> None:
        self._files: dict[Path, _FolderFile] = {}
        self._above: dict[str, Sequence[Path]] = {}
        self._told: set[Path] = set()
        self._archives: dict[str, Mapping[str, Any]] = {}

    def describe(self, item: FoundFile) -> FoundMetadata:
        """Return what is said of a file, the nearest last: folders from the outermost on, the later
        pattern after the earlier one, then the sidecar."""
        metadata: dict[str, Any] = {}
        refused: list[RefusedFile] = []
        # What is said of an archive holds for its members.
        archive = find_archive(item.place) if item.digest else ""
        told = item
        if archive:
            path = item.path[: len(archive) - len(item.place)]
            told = replace(item, place=archive, path=path)
        above = self._folders_above(told)
        for folder in above:
            said = self._files[folder]
            if said.error and folder not in self._told:
                self._told.add(folder)
                refused.append(RefusedFile(str(folder / FOLDER_FILE), said.error))
            parts = item.source.relative_to(folder).parts
            for rule in said.rules:
                if _matches(rule.parts, parts):
                    metadata.update(rule.metadata)
        if not archive:
            metadata.update(self._read_sidecar(told, refused))
        elif archive not in self._archives:
            values = self._read_sidecar(told, refused)
            # What is in an archive is not called as that is.
            self._archives[archive] = {key: values[key] for key in values if key != "title"}
        metadata.update(self._archives.get(archive, {}))
        readers, closed = self._readers(told, above)
        return FoundMetadata(metadata, tuple(refused), readers, closed)

    def _read_sidecar(self, item: FoundFile, refused: list[RefusedFile]) -> Mapping[str, Any]:
        """Return what the sidecar of a file says."""
        for ending in SIDECARS:
            # Of most files there is none: looking is cheaper than a Path to read.
            if not os.path.lexists(item.place + ending):
                continue
            file = Path(item.place + ending)
            try:
                if (text := self._read(file, _link_boundary(item))) is not None:
                    return _sidecar(file, text)
            except InvalidMetadata as error:
                refused.append(RefusedFile(item.path + ending, error))
                break
        return {}

    def _readers(
        self, item: FoundFile, above: Sequence[Path]
    ) -> tuple[tuple[FolderReaders, ...], InvalidMetadata | None]:
        """Return the readers of the folders that a file is in, and why they are not known.

        What folders above the given one say, of which the collection has nothing, is that one's. A
        file that was given alone, or that a link leads to, has its own.
        """
        top, *parts = item.path.strip("/").split("/")
        given = find_given_folder(item.path, item.source)
        if given and not item.root.is_relative_to(given):
            given = None  # A link on the way leads to a folder of the same name.
        folders = list(above)
        if given is None and item.root != item.source:
            by_name = [item.root.joinpath(*parts[:n]) for n in range(1, len(parts))]
            folders += [
                entry for entry in self._list_speaking(by_name, item.root) if entry not in above
            ]
        by_path: dict[str, FolderReaders] = {}
        for folder in folders:
            said, file = self._files[folder], folder / FOLDER_FILE
            if said.closed:
                return (), InvalidMetadata(f"It is not known who may read this: {said.error}")
            if not said.readers:
                continue
            path = item.path if given is None else f"/{top}"
            if given is not None and folder.is_relative_to(given):
                path = "/".join((path, *folder.relative_to(given).parts))
            outer = by_path.get(path)
            # An inner folder may close what is open above it, never the other way round.
            names = intersect_readers(outer.readers, said.readers) if outer else said.readers
            if outer and not names:
                return (), InvalidMetadata(
                    f"Nobody may read this: {outer.file} and {file} have no reader in common."
                )
            by_path[path] = FolderReaders(path, names, str(file))
        return tuple(by_path.values()), None

    def _folders_above(self, item: FoundFile) -> Sequence[Path]:
        """Return the folders above a file whose files say something, the outermost first."""
        parent = os.path.dirname(item.place)
        if parent not in self._above:
            folders = list(reversed(item.source.parents))
            self._above[parent] = self._list_speaking(folders, _link_boundary(item))
        return self._above[parent]

    def _list_speaking(self, folders: Sequence[Path], within: Path) -> list[Path]:
        """Return those of some folders whose files say something."""
        for folder in folders:
            self._look(folder, within)
        return [folder for folder in folders if self._files[folder] != _FolderFile()]

    def _look(self, folder: Path, within: Path) -> None:
        """Read the file of a folder, once."""
        if folder in self._files:
            return
        file, text = folder / FOLDER_FILE, None
        inside = folder.is_relative_to(within)
        # Above what was given, anyone may put files into folders such as /tmp.
        if not (inside or _may_count(file)):
            self._files[folder] = _FolderFile()
            return
        try:
            text = self._read(file, within)
            if text is None:
                self._files[folder] = _FolderFile()
                return
            rules, readers = _rules(file, text)
            trusted = inside or _is_trusted(file.stat())
            self._files[folder] = _FolderFile(rules if trusted else (), readers)
        except (InvalidMetadata, OSError) as error:
            said = error if isinstance(error, InvalidMetadata) else InvalidMetadata(str(error))
            self._files[folder] = _FolderFile(error=said, closed=text is None or READERS in text)

    def _read(self, file: Path, within: Path) -> str | None:
        """Return the text of a metadata file, None if there is none. A link must stay inside, as
        those to documents must."""
        target = Path(resolve_links(file))
        try:
            if target != file and not target.is_relative_to(within):
                raise InvalidMetadata(
                    f"{file.name} is a link that leads outside the folder. Copy the file instead."
                )
            with open(target, "rb", opener=open_regular) as content:
                about = os.fstat(content.fileno())
                if about.st_size > MAX_METADATA_BYTES:
                    raise InvalidMetadata(
                        f"{file.name} has more than {MAX_METADATA_BYTES >> 10} kB: that is not "
                        "metadata."
                    )
                return content.read(MAX_METADATA_BYTES).decode("utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as error:
            raise InvalidMetadata(
                f"{file.name} is not UTF-8 (byte {error.start:,}). Save it as UTF-8."
            ) from error
        except OSError as error:
            if error.errno and file.name.endswith(SIDECARS) and not file.exists():
                return None  # A name that became too long for the file system.
            raise InvalidMetadata(f"{file.name} cannot be read: {error.strerror}.") from error


def _link_boundary(item: FoundFile) -> Path:
    """Return the folder in which links must stay."""
    return item.root.parent if item.root == item.source else item.root


def _may_count(file: Path) -> bool:
    """Tell whether what a file above the given folder says of readers counts: where only who may
    change the folder could put it there, or its user is trusted."""
    try:
        mode = file.parent.stat().st_mode
        shared = bool(mode & stat.S_ISVTX and mode & stat.S_IWOTH)
        return _is_trusted(file.stat()) if shared else os.path.lexists(file)
    except OSError:
        return False


def _is_trusted(about: os.stat_result) -> bool:
    """Tell whether a file is the user's own or root's; Windows does not say whose it is."""
    return sys.platform != "win32" and about.st_uid in (0, os.getuid())


def _sidecar(file: Path, text: str) -> dict[str, Any]:
    try:
        return check_metadata(_load(file, text))
    except ValueError as error:
        raise InvalidMetadata(f"{file.name} cannot be used: {error}.") from error


def _rules(file: Path, text: str) -> tuple[tuple[_Rule, ...], tuple[str, ...]]:
    """Return the patterns of a folder's file with their metadata, and the folder's readers."""
    try:
        found = _load(file, text)
        readers: tuple[str, ...] = ()
        # A pattern that is called so has metadata.
        if isinstance(found, Mapping) and not isinstance(found.get(READERS, {}), Mapping):
            readers = _folder_readers(found[READERS])
            found = {key: value for key, value in found.items() if key != READERS}
        return tuple(_patterns(found)), readers
    except ValueError as error:
        raise InvalidMetadata(f"{file} cannot be used: {error}.") from error


def _folder_readers(said: Any) -> tuple[str, ...]:
    names = said if isinstance(said, list) else [said]
    try:
        if not names:
            raise ValueError(f"'{READERS}' names nobody")
        return parse_readers([str(name) for name in names])
    except InputError as error:
        raise ValueError(f"below '{READERS}': {error.message.rstrip('.')}") from error


def _patterns(found: Any) -> Iterator[_Rule]:
    if not isinstance(found, Mapping) or len(found) > MAX_PATTERNS:
        raise ValueError(
            "it must have patterns with metadata, such as '\"reports/*\": {year: 2023}', "
            f"at most {MAX_PATTERNS:,}"
        )
    for pattern, metadata in found.items():
        parts = tuple(part for part in str(pattern).split("/") if part not in ("", "."))
        if not 0 < len(parts) <= MAX_PARTS:
            raise ValueError(f"{str(pattern)[:40]!r} is not a pattern of file names")
        try:
            yield _Rule(parts if "/" in str(pattern) else ("**", *parts), check_metadata(metadata))
        except ValueError as error:
            raise ValueError(f"below {str(pattern)[:40]!r}, {error}") from error


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Tell whether a pattern means a file or a folder above it. `*` is anything but a slash, `**`
    any folders; a pattern without a slash is a name at any depth."""

    @cache
    def rest(number: int, at: int) -> bool:
        if number == len(pattern):
            return at > 0
        if pattern[number] == "**":
            return rest(number + 1, at) or (at < len(parts) and rest(number, at + 1))
        return (
            at < len(parts)
            and fnmatch.fnmatchcase(parts[at], pattern[number])
            and rest(number + 1, at + 1)
        )

    return rest(0, 0)


def _load(file: Path, text: str) -> Any:
    """Return the content of a YAML or JSON file; raises ValueError."""
    try:
        if file.suffix == ".json":
            return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
        # Composed and not loaded: YAML would make dates and truth values of words.
        node = yaml.compose(text, Loader=WithoutAliases)
        return {} if node is None else _plain(node, 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{place}it is not YAML ({_problem(error)})") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: it is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _problem(error: yaml.YAMLError) -> str:
    return " ".join(str(getattr(error, "problem", None) or "it cannot be parsed").split())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _plain(node: yaml.Node, depth: int) -> Any:
    """Return a node's value. What is written without quotes is typed as on the command line, so
    that dates stay texts and 'no' is a word."""
    if depth > 3:
        raise ValueError("it is nested too deeply")
    if isinstance(node, yaml.MappingNode):
        found = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError(f"line {line}: a key must be a text")
            if key.value in found:
                raise ValueError(f"line {line}: {key.value[:40]!r} stands there twice")
            found[key.value] = _plain(value, depth + 1)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, depth + 1) for item in node.value]
    if node.style:
        return node.value
    return None if node.value in ("", "~", "null") else parse_value(node.value)
