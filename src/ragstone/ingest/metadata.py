"""What people say of files beside them: sidecars (`report.pdf.meta.yaml`), and patterns in a
folder's `ragstone.yaml`.

Such a file may come from anyone who writes to the folder, so it is read with limits, and permits
nothing.
"""

import fnmatch
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ragstone.core.errors import InvalidMetadata
from ragstone.core.metadata import checked, typed
from ragstone.ingest.files import FOLDER_FILE, SIDECARS, FoundFile, RefusedFile
from ragstone.ingest.formats.front_matter import WithoutAliases
from ragstone.ingest.places import archive_of, file_of
from ragstone.ingest.safe_open import open_regular, resolve_links

MOST_BYTES = 64 * 1024
MOST_PATTERNS, MOST_PARTS = 1_000, 50


@dataclass(frozen=True, slots=True)
class FoundMetadata:
    """What the files beside a document say of it. `refused` are those that cannot be read, each
    named once in an ingest."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[RefusedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """The metadata of the files that a pattern means; `parts` are the pattern's, by its slashes."""

    parts: tuple[str, ...]
    metadata: Mapping[str, Any]


class MetadataFiles:
    """Reads the metadata files of one ingest; each folder's is read once. Blocking."""

    def __init__(self, follow_links: bool) -> None:
        self._follow_links = follow_links
        self._rules: dict[Path, Sequence[_Rule]] = {}
        self._above: dict[str, Sequence[tuple[Path, Sequence[_Rule]]]] = {}
        self._archives: dict[str, Mapping[str, Any]] = {}

    def of(self, item: FoundFile) -> FoundMetadata:
        """What is said of a file, the nearest last: folders from the outermost on, the later
        pattern after the earlier one, then the sidecar."""
        metadata: dict[str, Any] = {}
        refused: list[RefusedFile] = []
        for folder, rules in self._rules_above(item, refused):
            parts = item.source.relative_to(folder).parts
            for rule in rules:
                if _matches(rule.parts, parts):
                    metadata.update(rule.metadata)
        archive = archive_of(item.place) if item.digest else ""
        if not archive:
            metadata.update(self._beside(item.place, item.path, _within(item), refused))
        elif archive not in self._archives:
            path = item.path[: len(archive) - len(item.place)]
            said = self._beside(archive, path, _within(item), refused)
            # What is in an archive is not called as that is.
            self._archives[archive] = {key: said[key] for key in said if key != "title"}
        metadata.update(self._archives.get(archive, {}))
        return FoundMetadata(metadata, tuple(refused))

    def _beside(
        self, place: str, path: str, within: Path, refused: list[RefusedFile]
    ) -> Mapping[str, Any]:
        """What the sidecar of a file says."""
        for ending in SIDECARS:
            # Of most files there is none: looking is cheaper than a Path to read.
            if not os.path.lexists(place + ending):
                continue
            file = Path(place + ending)
            try:
                if (text := self._read(file, within)) is not None:
                    return _sidecar(file, text)
            except InvalidMetadata as error:
                refused.append(RefusedFile(path + ending, error))
                break
        return {}

    def _rules_above(
        self, item: FoundFile, refused: list[RefusedFile]
    ) -> Sequence[tuple[Path, Sequence[_Rule]]]:
        """The folders above a file that have rules, with these, the outermost first."""
        parent = os.path.dirname(item.place)
        if parent not in self._above:
            found = []
            for folder in reversed(item.source.parents):
                try:
                    rules = self._rules_of(folder, _within(item))
                except InvalidMetadata as error:
                    self._rules[folder] = ()
                    refused.append(RefusedFile(str(folder / FOLDER_FILE), error))
                    continue
                if rules:
                    found.append((folder, rules))
            self._above[parent] = found
        return self._above[parent]

    def _rules_of(self, folder: Path, within: Path) -> Sequence[_Rule]:
        if folder not in self._rules:
            file = folder / FOLDER_FILE
            text = self._read(file, within) if _counts(file, within) else None
            self._rules[folder] = () if text is None else tuple(_rules(file, text))
        return self._rules[folder]

    def _read(self, file: Path, within: Path) -> str | None:
        """The text of a metadata file, None if there is none. A link must stay inside, as those to
        documents must."""
        target = Path(resolve_links(file))
        try:
            if target != file and not (self._follow_links or target.is_relative_to(within)):
                raise InvalidMetadata(
                    f"{file.name} is a link that leads outside the folder. Copy the file instead."
                )
            with open(target, "rb", opener=open_regular) as content:
                about = os.fstat(content.fileno())
                if not (file.parent.is_relative_to(within) or _is_trusted(about)):
                    return None  # It is another file than it was.
                if about.st_size > MOST_BYTES:
                    raise InvalidMetadata(
                        f"{file.name} has more than {MOST_BYTES // 1024} kB: that is no metadata."
                    )
                return content.read(MOST_BYTES).decode("utf-8-sig")
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


def _within(item: FoundFile) -> Path:
    """The folder in which links must stay."""
    given = item.root == item.source or (item.digest and item.root == file_of(item.place))
    return item.root.parent if given else item.root


def _counts(file: Path, within: Path) -> bool:
    """Whether a folder's file counts: inside what was given always, above it only where it is
    trusted, as anyone may put files into folders such as /tmp."""
    try:
        return file.parent.is_relative_to(within) or _is_trusted(file.stat())
    except OSError:
        return False


def _is_trusted(about: os.stat_result) -> bool:
    """Whether a file is the user's own or root's; Windows does not say whose it is."""
    return sys.platform != "win32" and about.st_uid in (0, os.getuid())


def _sidecar(file: Path, text: str) -> dict[str, Any]:
    try:
        return checked(_load(file, text))
    except ValueError as error:
        raise InvalidMetadata(f"{file.name} cannot be used: {error}.") from error


def _rules(file: Path, text: str) -> Iterator[_Rule]:
    try:
        found = _load(file, text)
        if not isinstance(found, Mapping) or len(found) > MOST_PATTERNS:
            raise ValueError(
                "it must have patterns with metadata, such as '\"reports/*\": {year: 2023}', "
                f"at most {MOST_PATTERNS:,}"
            )
        for pattern, metadata in found.items():
            parts = tuple(part for part in str(pattern).split("/") if part not in ("", "."))
            if not 0 < len(parts) <= MOST_PARTS:
                raise ValueError(f"{str(pattern)[:40]!r} is no pattern of file names")
            try:
                yield _Rule(parts if "/" in str(pattern) else ("**", *parts), checked(metadata))
            except ValueError as error:
                raise ValueError(f"below {str(pattern)[:40]!r}, {error}") from error
    except ValueError as error:
        raise InvalidMetadata(f"{file} cannot be used: {error}.") from error


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a pattern means a file or a folder above it. `*` is anything but a slash, `**` any
    folders; a pattern without a slash is a name at any depth."""

    @cache
    def rest(one: int, at: int) -> bool:
        if one == len(pattern):
            return at > 0
        if pattern[one] == "**":
            return rest(one + 1, at) or (at < len(parts) and rest(one, at + 1))
        return (
            at < len(parts)
            and fnmatch.fnmatchcase(parts[at], pattern[one])
            and rest(one + 1, at + 1)
        )

    return rest(0, 0)


def _load(file: Path, text: str) -> Any:
    """The content of a YAML or JSON file; raises ValueError."""
    try:
        if file.suffix == ".json":
            return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
        node = yaml.compose(text, Loader=WithoutAliases)
        return {} if node is None else _plain(node, 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{place}it is no YAML ({_problem(error)})") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: it is no JSON ({error.msg})") from error
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
    raise ValueError(f"{name} is no number")


def _plain(node: yaml.Node, depth: int) -> Any:
    """A node's value. What is written without quotes is typed as on the command line, so that dates
    stay texts and 'no' is a word."""
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
        return [_plain(one, depth + 1) for one in node.value]
    if node.style:
        return node.value
    return None if node.value in ("", "~", "null") else typed(node.value)
