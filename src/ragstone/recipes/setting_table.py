"""Every setting there is, in one table: what it is, what it may be, and where it may be set.

Settings of the sections below RUNTIME can change while the server runs, for all (`global`), for a
dialect (`dialect:plone`), for a tenant (`tenant:acme`) or for a collection (`collection:acme/law`),
and a request may ask otherwise where REQUEST says so. The others are read when the server starts.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from ragstone.core.errors import ConfigError, InvalidSetting, UnknownSetting
from ragstone.core.faults import describe_fault
from ragstone.core.turn import LEVELS
from ragstone.engine.stage import Stage
from ragstone.language.similar_names import find_similar
from ragstone.recipes.recipe import stages
from ragstone.recipes.stage_options import PREFIX, Options, settable_options
from ragstone.recipes.stages import STAGES, RecipeKey, with_added
from ragstone.settings import Settings
from ragstone.settings.added import added_sections, aliases_by_name, find_aliases
from ragstone.settings.aliases import current_key
from ragstone.settings.all import complete_settings
from ragstone.settings.names import readable, variable
from ragstone.settings.read import refuse_absent

Scope = Literal["global", "dialect", "tenant", "collection", "request"]

EVERYWHERE: tuple[Scope, ...] = ("global", "dialect", "tenant", "collection")

RUNTIME: Mapping[str, tuple[Scope, ...]] = {
    "rag": EVERYWHERE,
    "self_rag": EVERYWHERE,
    "adaptive": EVERYWHERE,
    "ensemble": EVERYWHERE,
    "spelling": EVERYWHERE,
    "conversation": EVERYWHERE,
    "stages": EVERYWHERE,
    "llm.temperature": EVERYWHERE,
    "llm.max_tokens": EVERYWHERE,
    "llm.fallback": EVERYWHERE,
    "llm.decides": EVERYWHERE,
    "cache.enabled": EVERYWHERE,
    "cache.threshold_mode": EVERYWHERE,
    "cache.default_ttl_seconds": EVERYWHERE,
    "cache.max_entries": ("global", "dialect"),
}
"""Sections and single settings that can change at run time, and for whom."""

AT_START = frozenset({"ensemble.models", "self_rag.evaluation_model", "conversation.url"})
"""Settings of these sections that are read at the start all the same."""

REQUEST = frozenset(
    {
        "rag.top_k",
        "rag.mode",
        "rag.fusion",
        "rag.rerank",
        "rag.similarity_threshold",
        "rag.rewrite",
        "llm.temperature",
        "llm.max_tokens",
        "cache.enabled",
    }
)
"""What a request may ask for instead of the setting. It is bounded: 1,000 passages and
`llm.max_tokens` are the most that it gets, and the others have the bounds of their setting."""


MAX_VALUE_BYTES = 20_000
"""Bytes of a value."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `bounds` are words for people, such as `1 to 100`; `variable` is its
    name in the environment, `names` those of other systems' documents."""

    key: str
    section: str
    kind: str
    default: Any
    help: str
    bounds: str
    variable: str
    names: tuple[str, ...]
    scopes: tuple[Scope, ...]
    secret: bool

    @property
    def restart(self) -> bool:
        """Whether a change takes effect only at the next start."""
        return not self.scopes


@cache
def table() -> Mapping[str, Setting]:
    """Every setting by its key, section by section."""
    return {key: _row(key, field) for key, field in _fields().items()}


def setting(name: str) -> Setting:
    """Return the setting of this key, or of a document's name for it; raises UnknownSetting."""
    alias = aliases_by_name().get(name.lower())
    key = current_key(alias.key if alias and alias.key else name)
    found = table().get(key) or table().get(key.lower().replace("__", "."))
    if found is None:
        refuse_absent(key)
        near = find_similar(name.lower(), table(), 1)
        raise UnknownSetting(name[:80], near[0] if near else "")
    return found


def read(name: str, value: Any) -> tuple[str, Any]:
    """Return the key and the value, in its type, that `name` is to be set to at run time.

    Raises UnknownSetting, and InvalidSetting for a value out of range or of another type, or for a
    setting that is read only at the start.
    """
    one = setting(name)
    if one.restart:
        raise InvalidSetting(
            f"{one.key} is read when the server starts: set {one.variable} in its environment, or "
            f"{one.key} in the file of --config, and restart it."
        )
    alias = aliases_by_name().get(name.lower())
    try:
        return one.key, check_value(one.key, alias.how(value) if alias else value)
    except ConfigError as error:
        raise InvalidSetting(f"{name}: {error.message}") from error


def check_options(options: Options) -> None:
    """Raise ConfigError for an option of a stage that does not exist, or that a setting is for."""
    for stage, named in options.items():
        for name in named:
            key = f"{PREFIX}.{stage}.{name}"
            if key not in table():
                near = find_similar(key, table(), 1)
                hint = f" Do you mean {near[0]!r}?" if near else ""
                raise ConfigError(f"There is no setting {key!r}.{hint}")


def check_value(key: str, value: Any) -> Any:
    """Return the value of a setting as JSON; raises InvalidSetting."""
    try:
        found = to_jsonable_python(_validate(key, _coerce(key, value)))
    except ValidationError as error:
        message = describe_fault(error.errors()[0])
        raise InvalidSetting(f"{key} cannot be {_display_value(value)}: {message}.") from error
    try:
        size = len(json.dumps(found, allow_nan=False, ensure_ascii=False).encode())
    except ValueError as error:
        raise InvalidSetting(f"{key} must be a finite number or a text.") from error
    if size > MAX_VALUE_BYTES:
        raise InvalidSetting(f"{key} is too long: it may have {MAX_VALUE_BYTES:,} bytes.")
    return found


def _coerce(key: str, value: Any) -> Any:
    """Return a text as the value that it spells, unless it is a text setting; a boolean is not a
    number."""
    kind = table()[key].kind
    if isinstance(value, str):
        if "null" in kind and value.strip().lower() in ("", "null", "none"):
            return None
        return readable(value)
    if isinstance(value, bool) and "true" not in kind:
        raise InvalidSetting(f"{key} cannot be {_display_value(value)}: it must be {kind}.")
    if isinstance(value, int | float) and not isinstance(value, bool) and kind == "true or false":
        raise InvalidSetting(f"{key} cannot be {_display_value(value)}: it must be {kind}.")
    return value


def _display_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:80]


def _validate(key: str, value: Any) -> Any:
    """Return the value of one setting with the bounds and checks of its section; raises
    ValidationError."""
    section, _, name = key.partition(".")
    kind = complete_settings().model_fields[section].annotation
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return getattr(kind(**{name: value}), name)
    return TypeAdapter(_annotation(_fields()[key])).validate_python(value)


def _annotation(field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


@cache
def _fields() -> Mapping[str, FieldInfo]:
    """Return the field behind each key."""
    found: dict[str, FieldInfo] = {}
    for name, field in complete_settings().model_fields.items():
        kind = field.annotation
        if name in (PREFIX, "prompts"):
            continue
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            found.update({f"{name}.{item}": inner for item, inner in kind.model_fields.items()})
        else:
            found[name] = field
    found.update({f"{PREFIX}.{stage}.{name}": field for stage, name, field in _options()})
    return found


def _options() -> Iterator[tuple[str, str, FieldInfo]]:
    for level in LEVELS:
        made = tuple(stages(Settings(), level).values())
        yield from settable_options(
            with_added(made, RecipeKey(Settings(), level, "plain")), STAGES.ours
        )


def _row(key: str, field: FieldInfo) -> Setting:
    section, _, name = key.rpartition(".")
    default = field.get_default(call_default_factory=False)
    secret = isinstance(default, SecretStr)
    added = added_sections().get(section)
    if added:
        scopes = EVERYWHERE if name in added.at_run_time else ()
    else:
        scopes = () if key in AT_START else RUNTIME.get(key, RUNTIME.get(key.split(".")[0], ()))
    described = field.description or Stage.model_fields[name].description or ""
    return Setting(
        key=key,
        section=section,
        kind=_kind(field),
        default="" if secret or default is PydanticUndefined else _json_value(default),
        help=described,
        bounds=_bounds(field),
        variable=variable(key),
        names=tuple(alias.name for alias in find_aliases() if alias.key == key),
        scopes=(*scopes, "request") if key in REQUEST else scopes,
        secret=secret,
    )


def _json_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _kind(field: FieldInfo) -> str:
    """Return the type in words."""
    return _words(TypeAdapter(_annotation(field)).json_schema())


def _words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_words(item) for item in schema["anyOf"])
    if "const" in schema:
        return str(schema["const"])
    names = {
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "array": "list",
        "object": "object",
        "null": "null",
    }
    return names.get(str(schema.get("type", "")), "text")


def _bounds(field: FieldInfo) -> str:
    low = high = ""
    for item in field.metadata:
        if (value := getattr(item, "ge", None)) is not None:
            low = f"at least {value:g}"
        if (value := getattr(item, "gt", None)) is not None:
            low = f"over {value:g}"
        if (value := getattr(item, "le", None)) is not None:
            high = f"at most {value:g}"
    return ", ".join(part for part in (low, high) if part)
