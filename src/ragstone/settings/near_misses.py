"""Variables that are no setting and look like one: most likely its name with a slip.

They are named where one underscore stands for two (`STATE_URL`), where `RAGSTONE_` stands before a
setting, and where a name with two underscores is nearly that of a setting (`RAGG__TOP_K`).
Variables of other programs are left in peace: a value that the setting could not have is theirs,
and so are single underscores behind a prefix that many use (`DB_HOST`).
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from ragstone.core.errors import ConfigError
from ragstone.language.similar_names import find_similar, similarity
from ragstone.settings.added import aliases_by_name
from ragstone.settings.aliases import current_key
from ragstone.settings.all import complete_settings
from ragstone.settings.names import readable, variable

OWN = "ragstone_"
OWN_NAMES = ("ragstone_data", "ragstone_config")
MIN_LIKENESS = 0.85
"""The least share that names have in common to be taken for each other."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A variable as it was written, and the name that was probably meant; `key` is its setting,
    empty for what names no setting (RAGSTONE_CONFIG)."""

    variable: str
    meant: str
    key: str = ""


def near_misses(variables: Mapping[str, str | None], keys: list[str]) -> Iterator[NearMiss]:
    """Yield those of `variables` that are nearly one of the settings of `keys`."""
    names = {variable(key).lower(): key for key in keys}
    single = {_single(name): name for name in names}
    for written, value in variables.items():
        name = written.lower()
        if (
            name in names
            or name in aliases_by_name()
            or name in OWN_NAMES
            or not (value or "").strip()
        ):
            continue
        found = _nearest(name, names, single)
        if found in OWN_NAMES:
            yield NearMiss(written, found.upper())
        elif found and _fits(found, names, value):
            key = names.get(found) or aliases_by_name()[found].key
            yield NearMiss(written, found.upper(), key)


def _nearest(name: str, names: Mapping[str, str], single: Mapping[str, str]) -> str:
    """The name that one is nearly, of a setting, of a document, or of our own; empty for none."""
    bare = name.removeprefix(OWN).lstrip("_")
    exact = single.get(_single(bare), "")
    if bare != name:
        of_document = bare if bare in aliases_by_name() else ""
        return exact or of_document or _similar(name, OWN_NAMES)
    if "__" not in name:
        return exact if exact and not _is_shared(exact) else ""
    if _is_refused(name):
        return ""
    return exact or _similar(name, names)


def _is_refused(name: str) -> bool:
    """Tell whether a name ends the start anyway: it is in a section that is Ragstone's alone."""
    section = name.split("__")[0]
    return section in complete_settings().model_fields and not _is_shared(name)


def _similar(name: str, names: Mapping[str, str] | tuple[str, ...]) -> str:
    """Return the most similar one; with two underscores, both parts must be similar."""
    parts = name.split("__")
    for near in find_similar(name, names, 3, MIN_LIKENESS):
        theirs = near.split("__")
        if len(theirs) == len(parts) and all(
            similarity(part, other) > MIN_LIKENESS - 0.1
            for part, other in zip(parts, theirs, strict=True)
        ):
            return near
    return ""


def _single(name: str) -> str:
    return re.sub("_+", "_", name)


def _is_shared(name: str) -> bool:
    """Tell whether others use the prefix of this setting too: its section ignores their names."""
    kind: Any = complete_settings().model_fields[name.split("__")[0]].annotation
    return is_section(kind) and kind.model_config.get("extra") == "ignore"


def is_section(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel)


def _fits(name: str, names: Mapping[str, str], value: str | None) -> bool:
    """Tell whether the setting could have this value."""
    given: Any = readable(value)
    key = names.get(name, "")
    if not key:
        alias = aliases_by_name()[name]
        try:
            key, given = alias.key, alias.how(given)
        except ConfigError:
            return False
    section, _, inside = current_key(key).partition(".")
    field = complete_settings().model_fields.get(section)
    if field is None or section in ("stages", "prompts"):
        return True
    kind: Any = field.annotation
    try:
        if inside and is_section(kind):
            kind(**{inside: given})
        else:
            TypeAdapter(kind).validate_python(given)
    except ValidationError:
        return False
    return True
