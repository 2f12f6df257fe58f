"""Settings from a YAML file: our own keys, or the shape of the VoiceHelper document.

`${VAR}` and `${VAR:default}` stand for variables of the environment, `$$` for a dollar sign.
"""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_origin

import yaml  # type: ignore[import-untyped]

from ragstone.core.errors import ConfigError
from ragstone.settings.all import complete_settings
from ragstone.settings.origin import Origin
from ragstone.settings.section import Section

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
_MAP = "tag:yaml.org,2002:map"

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\})")


def from_file(path: Path) -> Iterator[tuple[str, Any, Origin]]:
    """Yield every value of the file by its dotted name; raises ConfigError that names the line."""
    root = _parse_yaml(path)
    if root is not None:
        yield from _Reader(path).values(root, "", 0)


def _parse_yaml(path: Path) -> yaml.Node | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(
                f"The file {path} has over {MAX_BYTES:,} bytes: that is not settings."
            )
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(f"The configuration file {path} cannot be read ({reason}).") from error
    try:
        found: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise ConfigError(f"{path}{place}: this is not YAML: {problem}.") from error
    return found


@cache
def _find_mappings() -> frozenset[str]:
    """Return settings whose value is a mapping: what stands below them in the file is theirs."""
    return frozenset(
        f"{name}.{item}"
        for name, field in complete_settings().model_fields.items()
        if isinstance(field.default, Section)
        for item, inner in type(field.default).model_fields.items()
        if get_origin(inner.annotation) is dict or isinstance(inner.default, Section)
    )


class _Reader:
    """Reads one file; every error names the line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def values(self, node: yaml.Node, prefix: str, depth: int) -> Iterator[tuple[str, Any, Origin]]:
        for name, value in self._pairs(node, prefix, depth):
            key = f"{prefix}.{name.value}" if prefix else str(name.value)
            where = f"{self._path}, line {name.start_mark.line + 1} ({key})"
            if not isinstance(value, yaml.MappingNode):
                yield key, self._value(value), Origin("file", where)
            elif key in _find_mappings():
                yield key, self._mapping(value, key, depth + 1), Origin("file", where)
            else:
                yield from self.values(value, key, depth + 1)

    def _pairs(
        self, node: yaml.Node, prefix: str, depth: int
    ) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """The names of a mapping with their values; raises ConfigError for one that is none."""
        if not isinstance(node, yaml.MappingNode):
            raise self._build_error(
                node, f"{prefix or 'the file'} must have names with values below it"
            )
        if node.tag != _MAP:
            raise self._build_error(node, f"{node.tag} is nothing that settings can be")
        if depth > MAX_DEPTH:
            raise self._build_error(node, "this is nested too deeply")
        seen: set[str] = set()
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise self._build_error(name, "a name must be a text")
            key = f"{prefix}.{name.value}" if prefix else str(name.value)
            if key in seen:
                raise self._build_error(name, f"{key} stands here a second time")
            seen.add(key)
            yield name, value

    def _mapping(self, node: yaml.MappingNode, key: str, depth: int) -> dict[str, Any]:
        """Return a mapping as a value, with mappings inside it; their names may hold dots."""
        return {
            name.value: self._mapping(value, f"{key}.{name.value}", depth + 1)
            if isinstance(value, yaml.MappingNode)
            else self._value(value)
            for name, value in self._pairs(node, key, depth)
        }

    def _value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item) for item in node.value]
        if not isinstance(node, yaml.ScalarNode):
            raise self._build_error(node, "only texts, numbers and true or false can be listed")
        expanded = self._expand_variables(node)
        if expanded != node.value or node.style:
            return expanded
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self._build_error(node, f"{node.value!r} cannot be read") from error

    def _expand_variables(
        self, node: yaml.ScalarNode, variables: Mapping[str, str] = os.environ
    ) -> str:
        def value(match: re.Match[str]) -> str:
            dollar, name, default = match.groups()
            if dollar:
                return "$"
            found = variables.get(name) or default
            if found is None:
                raise self._build_error(
                    node, f"{name} is not set; write ${{{name}:default}} for a default"
                )
            return found

        return _VARIABLE.sub(value, str(node.value))

    def _build_error(self, node: yaml.Node, message: str) -> ConfigError:
        return ConfigError(f"{self._path}, line {node.start_mark.line + 1}: {message}.")
