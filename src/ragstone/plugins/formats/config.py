"""YAML, TOML and INI: values under their paths, as in JSON ("a.b: value")."""

import configparser
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from ragstone.core.errors import ArchiveBomb, TooLarge, UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.json import value_blocks
from ragstone.ingest.formats.types import Format

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_CHARS = 20_000_000
_MAX_DEPTH = 100
_MAX_EXPANDED = 10
"""So many times its own size a file may grow by what its aliases repeat."""
_FREE_CHARS = 1_000_000


class _Loader(_LOADER):  # type: ignore[misc,valid-type]
    """Reads what is plain, and gives the text of what has a type of its own (`!Ref name`)."""


def _construct_untyped(loader: Any, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!", _construct_untyped)
_Loader.add_multi_constructor("tag:", _construct_untyped)
for _kind in ("bool", "int", "float", "timestamp", "value"):
    # As it stands there: `on` is a name in most files, `1:30` a time and `012` no ten.
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", lambda _, node: node.value)


def parse_yaml(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the documents of a YAML file. Raises UnreadableDocument, TooLarge or ArchiveBomb."""
    text = _read(path)
    try:
        _check_depth(path, text)
        documents = list(yaml.load_all(text, Loader=_Loader))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" in line {mark.line + 1:,}" if mark else ""
        raise UnreadableDocument(f"{path.name} is not valid YAML{place}.") from error
    return Parsed("", _limit_blocks(path, documents, len(text)))


def parse_toml(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the tables of a TOML file. Raises UnreadableDocument or TooLarge."""
    text = _read(path)
    try:
        values = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UnreadableDocument(f"{path.name} is not valid TOML ({error}).") from error
    return Parsed("", _limit_blocks(path, [values], len(text)))


def parse_ini(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the sections of an INI file. Raises UnreadableDocument or TooLarge."""
    text = _read(path)
    reader = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=", ":"))
    reader.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        try:
            reader.read_string(text)
        except configparser.MissingSectionHeaderError:
            reader.read_string(f"[DEFAULT]\n{text}")
    except configparser.Error as error:
        reason = str(error).split("\n")[0]
        raise UnreadableDocument(f"{path.name} is not a valid INI file ({reason}).") from error
    own = {name: dict(reader.items(name)) for name in reader.sections()}
    return Parsed("", _limit_blocks(path, [{**reader.defaults(), **own}], len(text)))


def _read(path: Path) -> str:
    text = decode_file(path).removeprefix("\ufeff").replace("\x00", "")
    if len(text) > _MAX_CHARS:
        raise TooLarge(
            f"{path.name} has {len(text):,} characters; files of this format are read up to "
            f"{_MAX_CHARS:,}."
        )
    return text


def _check_depth(path: Path, text: str) -> None:
    """The libraries build what is nested by recursion in C, so its depth is counted before."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise UnreadableDocument(f"{path.name} is nested too deep to be read.")


def _limit_blocks(path: Path, documents: list[Any], size: int) -> Iterator[Block]:
    try:
        expanded = _expanded_size(documents, {})
    except RecursionError as error:
        raise UnreadableDocument(f"{path.name} has a value that holds itself.") from error
    if expanded > max(_FREE_CHARS, _MAX_EXPANDED * size):
        raise ArchiveBomb(
            f"{path.name} repeats itself by aliases to more than {_MAX_EXPANDED} times its size."
        )
    return _blocks(documents)


def _expanded_size(value: Any, known: dict[int, int]) -> int:
    """About how many characters a value has where each alias is written out, without doing so."""
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, Mapping):
        size = sum(len(str(key)) + _expanded_size(item, known) for key, item in value.items())
    elif isinstance(value, list):
        size = sum(_expanded_size(item, known) for item in value)
    else:
        return len(str(value)) + 1
    known[id(value)] = size + 1
    return size + 1


def _blocks(documents: list[Any]) -> Iterator[Block]:
    for document in documents:
        if not isinstance(document, Mapping):
            yield from value_blocks(document, "")
            continue
        plain: dict[Any, Any] = {}
        for key, value in document.items():
            if isinstance(value, Mapping | list) and value:
                yield from value_blocks(plain, "")
                plain = {}
                yield Block(str(key), "heading", 1)
                yield from value_blocks(value, str(key))
            else:
                plain[key] = value
        yield from value_blocks(plain, "")


YAML = Format("application/yaml", parse_yaml)
TOML = Format("application/toml", parse_toml)
INI = Format("text/x-ini", parse_ini)
