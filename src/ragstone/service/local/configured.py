"""The settings as they hold for a question, and the recipes that they make."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ValidationError

from ragstone.core.errors import ConfigError, InvalidSetting, RagstoneError
from ragstone.core.records import StoredSetting
from ragstone.core.turn import LEVELS, Ask
from ragstone.engine.recipe import Recipe
from ragstone.guard.guard import Guard
from ragstone.recipes import setting_table
from ragstone.recipes.recipe import Recipes, guard
from ragstone.recipes.stage_options import PREFIX
from ragstone.settings import DialectSettings, Settings
from ragstone.settings.names import nested
from ragstone.settings.scope import chain, place

log = logging.getLogger(__name__)


KNOWN = 10_000
"""Collections for which it is remembered which settings hold."""

Values = Mapping[str, Any]


class Merged:
    """The settings with what is set over them, and what is made of them when it is asked for."""

    def __init__(self, settings: Settings, values: Values) -> None:
        self.values = values
        self.settings = merged(settings, values) if values else settings

    @cached_property
    def recipes(self) -> Recipes:
        return Recipes(self.settings)

    @cached_property
    def guard(self) -> Guard:
        return guard(self.settings)

    def asked(self, ask: Ask) -> Ask:
        """The question within what the settings allow its answer."""
        most = self.settings.llm.max_tokens
        wanted = ask.max_tokens
        if ("llm.max_tokens" in self.values) if wanted is None else wanted > most:
            ask = replace(ask, max_tokens=most)
        if ask.temperature is None and "llm.temperature" in self.values:
            ask = replace(ask, temperature=self.values["llm.temperature"])
        return ask


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is set in each scope, what was merged of it, and what holds for a tenant's collection;
    never changed but by being filled."""

    scopes: Mapping[str, Values]
    merged: dict[tuple[str, ...], Merged] = field(default_factory=dict)
    known: dict[tuple[str, str], Merged] = field(default_factory=dict)


class Configured:
    """The settings of the start with those of the store over them.

    Scopes in which nothing is set cost nothing: all questions that the same scopes hold for share
    one set of recipes, made once.
    """

    def __init__(self, base: Settings) -> None:
        setting_table.check_options(base.stages)
        self.base = base
        self._loaded = _Loaded({})

    def load(self, stored: Iterable[StoredSetting]) -> None:
        """Take what the store has; what cannot be is left out, and the log says why."""
        scopes: dict[str, dict[str, Any]] = {}
        for one in stored:
            try:
                key, value = setting_table.read(one.key, one.value)
            except RagstoneError as error:
                log.warning("A stored setting is left out: %s", error)
            else:
                scopes.setdefault(one.scope, {})[key] = value
        self._loaded = _Loaded(scopes)

    def scopes(self) -> Mapping[str, Values]:
        """What is set in each scope."""
        return self._loaded.scopes

    def of(self, tenant: str = "", collection: str = "") -> Merged:
        """What holds for a tenant's collection of this id."""
        loaded = self._loaded
        known = loaded.known.get((tenant, collection))
        if known is None:
            known = self._found(loaded, tenant, collection)
            if len(loaded.known) >= KNOWN:
                loaded.known.clear()
            loaded.known[tenant, collection] = known
        return known

    def _found(self, loaded: _Loaded, tenant: str, collection: str) -> Merged:
        holding = tuple(one for one in chain(tenant, collection) if one in loaded.scopes)
        found = loaded.merged.get(holding)
        if found is None:
            found = self._merged(loaded.scopes, holding)
            loaded.merged[holding] = found
        return found

    def answering(self, ask: Ask) -> Recipe:
        """The recipe that answers this question."""
        return self.of(ask.principal.tenant, ask.collection_id).recipes.answering(ask)

    def searching(self, ask: Ask) -> Recipe:
        """The recipe that finds this question's passages."""
        return self.of(ask.principal.tenant, ask.collection_id).recipes.searching(ask)

    def calling(self, ask: Ask) -> Recipe:
        """The recipe that lets the chat model call this question's functions."""
        return self.of(ask.principal.tenant, ask.collection_id).recipes.calling(ask)

    def asked(self, ask: Ask) -> Ask:
        """The question within what its tenant's settings allow."""
        return self.of(ask.principal.tenant, ask.collection_id).asked(ask)

    def check(self, scopes: Mapping[str, Values]) -> None:
        """Raise InvalidSetting unless these could be what is set in each scope, by values that
        are right by themselves."""
        for name in scopes:
            tenant, collection = place(name)
            holding = [one for one in chain(tenant, collection) if one in scopes]
            values = {k: v for one in holding for k, v in scopes[one].items()}
            try:
                merged(self.base, values)
            except ValidationError as error:
                raise InvalidSetting(_sentence(error)) from error

    def _merged(self, scopes: Mapping[str, Values], holding: Sequence[str]) -> Merged:
        values = {key: value for name in holding for key, value in scopes[name].items()}
        try:
            made = Merged(self.base, values)
            for level in LEVELS:
                made.recipes.of("judged", level)
        except (ConfigError, ValidationError) as error:
            log.error("The settings of %s cannot hold together: %s", holding, _sentence(error))
            return self._merged(scopes, holding[:-1]) if holding else Merged(self.base, {})
        return made


def merged(base: Settings, values: Values) -> Settings:
    """The settings with other values; raises ValidationError where they do not fit together."""
    changes: dict[str, Any] = {}
    for name, inside in nested(values).items():
        if name == PREFIX:
            known = base.stages
            changes[name] = {**known, **{k: {**known.get(k, {}), **v} for k, v in inside.items()}}
        else:
            section = getattr(base, name)
            own = {field: getattr(section, field) for field in type(section).model_fields}
            changes[name] = type(section)(**{**own, **inside})
    return base.model_copy(update=changes)


def value_of(settings: Settings, key: str) -> Any:
    """The value of one setting; None for an option of a stage that nothing sets."""
    first, _, rest = key.partition(".")
    if first == PREFIX:
        stage, _, option = rest.partition(".")
        return settings.stages.get(stage, {}).get(option)
    found = getattr(settings, first)
    if isinstance(found, DialectSettings):
        return found.on(rest)
    return getattr(found, rest) if isinstance(found, BaseModel) else found


def _sentence(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        return f"These settings do not fit together: {name + ': ' if name else ''}{said}."
    return str(error)
