"""Names of settings: `rag.top_k`, as a variable `RAG__TOP_K`, and as nested values."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ragstone.core.errors import ConfigError
from ragstone.settings.added import aliases_by_name
from ragstone.settings.aliases import current_key
from ragstone.settings.origin import GivenValue, Origin

log = logging.getLogger(__name__)

DEPTH = {"prompts": 1, "stages": 2}
"""How many names stand before the last one where that may hold dots, or more than one do."""


def variable(key: str) -> str:
    """Return the environment's name of a setting."""
    return "__".join(_key_parts(key)).upper()


def nest_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by key as the sections that they are in."""
    whole: dict[str, Any] = {}
    for key, value in values.items():
        *path, last = _key_parts(key)
        inside = whole
        for name in path:
            inside = inside.setdefault(name, {})
        inside[last] = value
    return whole


def ours(
    given: Iterable[tuple[str, Any, Origin]], known: Callable[[str], bool]
) -> dict[str, GivenValue]:
    """Return what one source gives, by our keys; names of documents are replaced, with a warning
    where two mean the same.

    A name that is neither `known` nor a document's is left out. Raises ConfigError for a value that
    a document's name cannot have, and for what `known` refuses.
    """
    aliases = aliases_by_name()
    direct: dict[str, GivenValue] = {}
    called: list[tuple[str, GivenValue]] = []
    for given_name, value, origin in given:
        name = current_key(given_name)
        alias = aliases.get(name.lower())
        with _name_origin(origin):
            is_known = known(alias.key if alias else name)
        if alias:
            called.append((name.lower(), GivenValue(value, origin)))
        elif is_known:
            direct[name] = GivenValue(value, origin)
    found: dict[str, GivenValue] = {}
    rank = {name: place for place, name in enumerate(aliases)}
    for name, entry in sorted(called, key=lambda item: rank[item[0]]):
        alias = aliases[name]
        with _name_origin(entry.origin):
            value = alias.how(entry.value)
        if value is None:
            continue
        if not alias.key:
            log.warning("%s has no effect. %s", entry.origin.where, alias.note)
        elif alias.joins and alias.key in found:
            first = found[alias.key]
            found[alias.key] = replace(first, value=f"{first.value}\n{value}")
        else:
            _add_value(found, alias.key, GivenValue(value, entry.origin))
    for key, entry in found.items():
        _add_value(direct, key, entry)
    return direct


@contextmanager
def _name_origin(origin: Origin) -> Iterator[None]:
    """Say in a ConfigError where the setting stands."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{origin.where}: {error.message}") from error


def _add_value(found: dict[str, GivenValue], key: str, value: GivenValue) -> None:
    """Add a value unless the key has one already; the first value wins."""
    first = found.get(key)
    if first is None:
        found[key] = value
        return
    found[key] = first.override(value)
    if str(first.value) != str(value.value):
        log.warning("%s counts, not %s: both are %s.", first.origin.where, value.origin.where, key)


def readable(value: Any) -> Any:
    """Return a text that is a JSON list or object as such."""
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _key_parts(key: str) -> list[str]:
    first = key.split(".", 1)[0]
    return key.split(".", DEPTH.get(first, 1))
