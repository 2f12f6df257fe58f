"""Reads the settings: from a file, then from the environment, which counts more.

What documents name in parts: the chat model, by provider and model, and the MongoDB of
conversations, by host and port.

OPENAI_API_KEY alone changes nothing: many machines have one for other programs, and documents must
not go to OpenAI because of it. It is the key only where LLM_PROVIDER is openai, or OPENAI_MODEL is
set, or a model that names no other provider and no other server.
"""

import inspect
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dotenv import dotenv_values
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ragstone.core.errors import ConfigError, InputError, UnknownSetting
from ragstone.core.faults import describe_fault
from ragstone.language.similar_names import find_similar
from ragstone.language.templates import check_prompt
from ragstone.registry import PLUGINS_OFF
from ragstone.settings.added import ADDED_SECTIONS, aliases_by_name
from ragstone.settings.aliases import (
    DB_HOST,
    DB_PORT,
    MADE_OF_PARTS,
    OLLAMA_MODEL,
    OLLAMA_URL,
    OPENAI_KEY,
    OPENAI_MODEL,
    PROVIDER,
    REMOVED,
    current_key,
)
from ragstone.settings.all import Settings, complete_settings
from ragstone.settings.names import nest_values, ours, readable, variable
from ragstone.settings.near_misses import is_section, near_misses
from ragstone.settings.origin import COMMAND_LINE, GivenValue, Origin

OPENAI, OLLAMA = "openai", "ollama"
OLLAMA_HERE = "http://localhost:11434"
MODEL, URL, KEY = "llm.model", "llm.base_url", "llm.api_key"
CONVERSATIONS, MONGODB_PORT = "conversation.url", "27017"


def whole(given: dict[str, GivenValue]) -> dict[str, GivenValue]:
    """Return the settings with the parts that documents name put together to `llm.*` and
    `conversation.url`; what is set as these wins. Raises ConfigError."""
    parts = {name: given.pop(name) for name in MADE_OF_PARTS if name in given}
    if host := _text(parts.get(DB_HOST)):
        _fill_value(given, CONVERSATIONS, replace(parts[DB_HOST], value=_mongodb(host, parts)))
    named = parts.get(PROVIDER)
    provider = _text(named).lower() or _infer_provider(given, parts)
    if provider == OLLAMA:
        _fill_value(given, MODEL, parts.get(OLLAMA_MODEL))
        url = parts.get(OLLAMA_URL) or (named and GivenValue(OLLAMA_HERE, named.origin))
        if url and _text(given.get(MODEL)):
            _fill_value(given, URL, replace(url, value=_v1(_text(url))))
    elif provider == OPENAI:
        _fill_value(given, MODEL, parts.get(OPENAI_MODEL))
    model = _text(given.get(MODEL))
    if named and not model:
        log.warning("%s is %s, but no model is set.", named.origin.where, provider)
    if model and ":" not in model and provider != OLLAMA and not _text(given.get(URL)) and provider:
        given[MODEL] = replace(given[MODEL], value=f"{provider}:{model}")
    elsewhere = _text(given.get(URL)) or model.partition(":")[0] not in (OPENAI, model)
    if provider == OPENAI or (not provider and model and not elsewhere):
        _fill_value(given, KEY, parts.get(OPENAI_KEY))
    return given


def _mongodb(host: str, parts: dict[str, GivenValue]) -> str:
    """The address of the MongoDB of chat-core's document; raises ConfigError for a wrong port."""
    port = _text(parts.get(DB_PORT)) or MONGODB_PORT
    if not (port.isdecimal() and 1 <= int(port) <= 65_535):
        raise ConfigError(f"{parts[DB_PORT].origin.where} is {port!r}, which is not a port.")
    return f"mongodb://{f'[{host}]' if ':' in host else quote(host, safe='')}:{port}"


def _infer_provider(given: dict[str, GivenValue], parts: dict[str, GivenValue]) -> str:
    """Return the provider implied by the name of a model setting, if none is given."""
    if _text(given.get(MODEL)):
        return ""
    if OPENAI_MODEL in parts:
        return OPENAI
    return OLLAMA if OLLAMA_MODEL in parts else ""


def _fill_value(given: dict[str, GivenValue], key: str, part: GivenValue | None) -> None:
    if part is not None and not _text(given.get(key)):
        given[key] = part.override(given.get(key))


def _v1(url: str) -> str:
    url = url.strip().rstrip("/")
    return url if url.endswith("/v1") else f"{url}/v1"


def _text(given: GivenValue | None) -> str:
    return str(given.value).strip() if given and given.value is not None else ""


FILE = ".env"

Named = tuple[str, Any, Origin]


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables of one place, which is named behind each of them."""

    values: Mapping[str, str | None]
    place: str = ""

    def settings(self, sections: frozenset[str]) -> Iterator[Named]:
        """Yield those that may be settings, by their dotted names. An empty one counts as not set:
        a container passes on what its host has not set."""
        for written, value in self.values.items():
            name, origin = written.lower(), Origin("environment", f"{written}{self.place}")
            if value is None or not value.strip():
                continue
            if name in aliases_by_name():
                yield name, value, origin
                continue
            first, *rest = name.split("__")
            if rest and first in sections:
                key = ".".join((first, *rest))
                yield key, value if first == "prompts" else readable(value), origin
            elif name in sections and isinstance(whole := readable(value), dict):
                for inside, item in whole.items():
                    yield f"{name}.{inside}", item, origin
            elif name not in sections:
                yield name, value, origin


def environment() -> Variables:
    """Return the variables of this process."""
    return Variables(os.environ)


def dotenv() -> Variables:
    """Return those of the `.env` file of the working directory; raises ConfigError."""
    try:
        values = dotenv_values(FILE, encoding="utf-8") if Path(FILE).is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file {Path(FILE).absolute()} cannot be read: {error}.") from error
    return Variables(values, f" in {FILE}")


log = logging.getLogger(__name__)

CONFIG = "RAGSTONE_CONFIG"
PROMPTS = "prompts."


def load(
    config: Path | None = None, origin: Origin = COMMAND_LINE, /, **overrides: Any
) -> Settings:
    """Read the settings; raises ConfigError that names what is wrong, and where it stands.

    `config` is the file, else that of RAGSTONE_CONFIG; `overrides` count more than all others, and
    come from `origin`. Raises UnknownSetting for a name of them that is none.
    """
    given: dict[str, GivenValue] = {}
    path = config or (Path(value) if (value := os.environ.get(CONFIG, "").strip()) else None)
    if path is not None:
        _add(given, _of_file(path.expanduser()))
    places = (dotenv(), environment())
    sections = frozenset((*_sections(), *ADDED_SECTIONS.switched_off))
    for variables in places:
        _add(given, ours(variables.settings(sections), _is_known))
    _add(given, _check_overrides(overrides, origin))
    for variables in places:
        _name_near_misses(variables, given)
    given = whole(given)
    _check_prompts(given)
    try:
        settings = complete_settings()(
            **nest_values({key: item.value for key, item in given.items()})
        )
    except ValidationError as error:
        first, *others = error.errors()
        for other in others:
            log.error("%s", _describe_error(other, given))
        raise ConfigError(_describe_error(first, given)) from error
    settings._given.update(given)
    return settings


def _add(given: dict[str, GivenValue], more: Mapping[str, GivenValue]) -> None:
    """Add the values of a place that counts more than those before."""
    for key, item in more.items():
        given[key] = item.override(given.get(key))


def _name_near_misses(variables: Variables, given: Mapping[str, GivenValue]) -> None:
    """Warn of variables that are nearly a setting, unless that is set: then they are others'."""
    for miss in near_misses(variables.values, _keys()):
        if not miss.key or miss.key not in given:
            log.warning(
                "%s%s is not a setting and has no effect. Do you mean %s?",
                miss.variable,
                variables.place,
                miss.meant,
            )


def _check_prompts(given: dict[str, GivenValue]) -> None:
    """Raise ConfigError for a prompt that cannot be one."""
    for key, item in given.items():
        if key.startswith(PROMPTS):
            try:
                check_prompt(key.removeprefix(PROMPTS), str(item.value))
            except InputError as error:
                raise ConfigError(f"{item.origin.where}: {error.message}") from error


def _of_file(path: Path) -> dict[str, GivenValue]:
    """Return the settings of the file. Raises for a name that is not a setting."""
    from ragstone.settings.file import from_file  # YAML takes 15 ms that most starts need not pay

    values = list(from_file(path))
    known = ours(values, _is_known)
    for name, _, origin in values:
        if name.lower() not in aliases_by_name() and not _settable(current_key(name)):
            place = origin.where.partition(" (")[0]
            raise ConfigError(f"{place}: there is no setting {name!r}. {_suggestion(name)}")
    return known


def _check_overrides(overrides: Mapping[str, Any], origin: Origin) -> dict[str, GivenValue]:
    """Check settings that a command or a program gives; every name must be one. Raises
    UnknownSetting."""
    for name in overrides:
        if not _settable(current_key(name)) and name.lower() not in aliases_by_name():
            raise UnknownSetting(name[:80], _similar_name(name))
    return ours(((name, value, origin) for name, value in overrides.items()), _is_known)


def _suggestion(name: str) -> str:
    near = _similar_name(name)
    return f"Do you mean {near!r}?" if near else "'ragstone settings list' shows what there is."


def _similar_name(name: str) -> str:
    """Return the setting with the most similar name, empty if none is similar."""
    return next(iter(find_similar(name.lower(), [*_keys(), *aliases_by_name()], 1)), "")


def refuse_absent(name: str) -> None:
    """Raise ConfigError for a setting that was removed, or of a plugin that is switched off."""
    if name in REMOVED:
        raise ConfigError(f"There is no setting {variable(name)} any more. {REMOVED[name]}")
    first, _, inside = name.partition(".")
    off = ADDED_SECTIONS.switched_off.get(first)
    if off and inside in off.load().model_fields:
        raise ConfigError(
            f"The setting {variable(name)} is one of the plugin {off.package}, which {PLUGINS_OFF} "
            "switches off."
        )


def _is_known(name: str) -> bool:
    """Tell whether a name is in a known section, or is a setting; pydantic checks the rest."""
    refuse_absent(name)
    first, dot, _ = name.partition(".")
    return first in _sections() if dot else name in complete_settings().model_fields


def _settable(name: str) -> bool:
    first = name.partition(".")[0]
    return name in _keys() or (first in ("stages", "prompts") and name != first)


def _sections() -> Iterable[str]:
    return (
        name
        for name, field in complete_settings().model_fields.items()
        if name in ("stages", "prompts") or is_section(field.annotation)
    )


def _keys() -> list[str]:
    """Return every setting that has a field."""
    keys = []
    for name, field in complete_settings().model_fields.items():
        kind = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            keys += [f"{name}.{inside}" for inside in kind.model_fields]
        else:
            keys.append(name)
    return keys


def _describe_error(error: ErrorDetails, given: dict[str, GivenValue]) -> str:
    """Return the first error in one sentence, with its variable or line."""
    key = ".".join(str(part) for part in error["loc"])
    one = given.get(key) or next((g for k, g in given.items() if key.startswith(f"{k}.")), None)
    where = one.origin.where if one else ""
    name = variable(key)
    if error["type"] == "extra_forbidden":
        stands = f" ({where})" if where.upper() != name else ""
        near = _similar_name(key)
        meant = f" Do you mean {variable(near)}?" if near else ""
        return f"There is no setting {name}{stands}.{meant}"
    message = describe_fault(error)
    if where and where.upper() != name:
        return f"The setting {name} is wrong ({where}): {message}."
    return f"The setting {name} is wrong: {message}."
