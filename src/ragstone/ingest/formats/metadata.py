"""What a document says of itself, as metadata: simple values with common names."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

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
    """The values that are texts, numbers, truth values or lists of them; what is nested has the
    names of both, with a dot. Dates are in ISO form, keywords a list. At most 50 of them."""
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
    """The date in ISO form if it is one of the usual forms, else as it is."""
    if _ISO.fullmatch(text):
        return text.replace(" ", "T", 1)
    with suppress(ValueError, TypeError, IndexError):
        return parsedate_to_datetime(text).isoformat()
    for form in _DATE_FORMS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date().isoformat()
    return text


def keyword_list(text: str) -> list[str]:
    """Keywords as people write them into one field."""
    return [word for part in re.split(r"[,;]", text) if (word := part.strip())]
