"""The front matter of a text: YAML between lines of `---`, or TOML between lines of `+++`."""

import re
import tomllib
from typing import Any

import yaml  # type: ignore[import-untyped]

_MAX_CHARS = 1 << 16
_OPENING = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\n")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.M),
    "+++": re.compile(r"^\+\+\+[ \t]*$", re.M),
}
_PLAIN_LINE = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")


class WithoutAliases(yaml.SafeLoader):  # type: ignore[misc]
    """Refuses aliases, by which a file of a few lines becomes one of billions."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, "aliases such as *name are not allowed", event.start_mark
            )
        return super().compose_node(parent, index)


def split_front_matter(source: str) -> tuple[dict[str, Any], str]:
    """The front matter's values, empty if there is none, and the rest of the text.

    Front matter of more than 64 KB is text. What is not valid YAML is read by its plain lines.
    """
    opening = _OPENING.match(source)
    if not opening:
        return {}, source
    closing = _CLOSING[opening[1]].search(source, opening.end(), opening.end() + _MAX_CHARS)
    if not closing:
        return {}, source
    inner = source[opening.end() : closing.start()]
    found = _toml(inner) if opening[1] == "+++" else _yaml(inner)
    if not found and inner.strip():
        return {}, source
    return found, source[closing.end() :]


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _yaml(text: str) -> dict[str, Any]:
    try:
        loader = WithoutAliases(text)
        found = loader.get_single_data()
    except (yaml.YAMLError, RecursionError, ValueError):
        return _plain_lines(text)
    return found if isinstance(found, dict) else {}


def _plain_lines(text: str) -> dict[str, Any]:
    matches = (_PLAIN_LINE.fullmatch(line) for line in text.splitlines())
    return {match[1]: match[2].strip().strip("\"'") for match in matches if match}
