"""What a document says of itself, as metadata: simple values with common names, and front matter.

Front matter is YAML between lines of `---`, or TOML between lines of `+++`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import yaml  # type: ignore[import-untyped]

_MAX_FRONT_CHARS = 1 << 16
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


def extract_front_matter(source: str) -> tuple[dict[str, Any], str]:
    """Return the front matter's values, empty if there is none, and the rest of the text.

    Front matter of more than 64 KB is text. What is not valid YAML is read by its plain lines.
    """
    opening = _OPENING.match(source)
    if not opening:
        return {}, source
    closing = _CLOSING[opening[1]].search(source, opening.end(), opening.end() + _MAX_FRONT_CHARS)
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


_COMMON = {
    "authors": "author",
    "creator": "author",
    "lang": "language",
    "locale": "language",
    "tags": "keywords",
    "date": "created",
    "published": "created",
    "revdate": "created",
    "lastmod": "modified",
    "last_modified": "modified",
    "last_updated": "modified",
    "last_update": "modified",
    "updated": "modified",
}
"""Names that are given, and the common ones, under which the values are found too."""

_DATE_FORMS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y")
_DATED = {"created", "modified"}
_MAX_KEYS = 50
_MAX_CHARS = 2000
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")


def flatten_values(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values that are texts, numbers, truth values or lists of them; what is nested has
    the names of both, with a dot. Dates are in ISO form, keywords a list. At most 50 of them."""
    found: dict[str, Any] = {}
    for key, value in _flat(given, "", 0):
        common = _COMMON.get(key, key)
        for name in (key, common):
            shaped = _shape_value(name, value)
            if shaped not in ("", [], None) and len(found) < _MAX_KEYS:
                found.setdefault(name, shaped)
    return found


def _flat(given: Mapping[Any, Any], above: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        name = f"{above}{str(key).strip().lower()}"[:100]
        if isinstance(value, Mapping):
            if depth < 3:
                yield from _flat(value, f"{name}.", depth + 1)
        else:
            yield name, value


def _shape_value(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple | set):
        return [
            item
            for item in (_simple(entry) for entry in list(value)[:200])
            if item not in ("", None)
        ]
    simple = _simple(value)
    if name in _DATED and isinstance(simple, str):
        return iso_date(simple)
    if name == "keywords" and isinstance(simple, str):
        return keyword_list(simple)
    return simple


def _simple(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 2**63 else str(value)
    return str(value).strip()[:_MAX_CHARS] if isinstance(value, str) else None


def iso_date(text: str) -> str:
    """Return the date in ISO form if it is one of the usual forms, else as it is."""
    if _ISO.fullmatch(text):
        return text.replace(" ", "T", 1)
    with suppress(ValueError, TypeError, IndexError):
        return parsedate_to_datetime(text).isoformat()
    for form in _DATE_FORMS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date().isoformat()
    return text


def keyword_list(text: str) -> list[str]:
    """Return keywords as people write them into one field."""
    return [word for part in re.split(r"[,;]", text) if (word := part.strip())]


_PAGE_NAMES = {
    "language": "language",
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "keywords": "keywords",
    "article:tag": "keywords",
    "date": "created",
    "dc.date": "created",
    "datepublished": "created",
    "article:published_time": "created",
    "last-modified": "modified",
    "datemodified": "modified",
    "article:modified_time": "modified",
    "og:site_name": "site",
    "dc.language": "language",
}
"""Names of `meta` elements, and the metadata they give."""


def page_metadata(tree: Any) -> dict[str, Any]:
    """Return what a web page says of itself in its `meta` elements, by the names of metadata."""
    facts: dict[str, Any] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower()
        if name and (value := (meta.get("content") or "").strip()):
            facts.setdefault(name, value)
    if language := tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang"):
        facts["language"] = language
    kept = {key: facts[key] for key in facts if key in _PAGE_NAMES or key == "og:title"}
    return {_PAGE_NAMES.get(key, key): value for key, value in reversed(kept.items())}
