"""The settings as they hold for a question, and the recipes that they make.

Completes a question: the id of its collection, and the values that its ranges mean.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ValidationError

from ragstone.core.clock import state_time
from ragstone.core.errors import ConfigError, InvalidSetting, RagstoneError, StateUnavailable
from ragstone.core.faults import describe_fault
from ragstone.core.filters import expand_ranges, range_keys, simplify
from ragstone.core.records import Collection, StoredSetting
from ragstone.core.turn import LEVELS, Ask
from ragstone.engine.recipe import Recipe
from ragstone.guard.guard import Guard
from ragstone.ports import Catalog, CollectionNames, find_collection
from ragstone.recipes import setting_table
from ragstone.recipes.recipe import Recipes, guard
from ragstone.recipes.stage_options import PREFIX
from ragstone.settings import Settings
from ragstone.settings.names import nest_values
from ragstone.settings.profiles import PROFILES
from ragstone.settings.scope import chain, place

log = logging.getLogger(__name__)


KNOWN = 10_000
"""Collections for which it is remembered which settings hold."""

Values = Mapping[str, Any]


class Merged:
    """The settings with what holds over them, and what is made of them when it is asked for."""

    def __init__(self, settings: Settings, values: Values, begun: float) -> None:
        self.values = values
        self._begun = begun
        self.settings = merge_settings(settings, values) if values else settings

    @cached_property
    def recipes(self) -> Recipes:
        return Recipes(self.settings, self._begun)

    @cached_property
    def guard(self) -> Guard:
        return guard(self.settings)

    def limit_ask(self, ask: Ask) -> Ask:
        """Return the question within what the settings allow its answer."""
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
    known: dict[tuple[str, str, str], Merged] = field(default_factory=dict)


class Configured:
    """The settings of the start with those of the store over them.

    Scopes in which nothing is set cost nothing: all questions that the same scopes hold for share
    one set of recipes, made once.
    """

    def __init__(self, base: Settings) -> None:
        setting_table.check_options(base.stages)
        self.base = base
        self._begun = state_time()
        self._profiles = {} if base.profile == "ragstone" else dict(PROFILES)
        self._loaded = _Loaded({})

    def load(self, stored: Iterable[StoredSetting]) -> None:
        """Load the settings of the store; invalid ones are left out and logged."""
        scopes: dict[str, dict[str, Any]] = {}
        for setting in stored:
            try:
                key, value = setting_table.read(setting.key, setting.value)
            except RagstoneError as error:
                log.warning("A stored setting is left out: %s", error)
            else:
                scopes.setdefault(setting.scope, {})[key] = value
        self._loaded = _Loaded(scopes)

    def scopes(self) -> Mapping[str, Values]:
        """Return what is set in each scope."""
        return self._loaded.scopes

    def profile(self, dialect: str) -> Values:
        """Return the defaults of a dialect's document, without those that the start has set."""
        values: Values = self._profiles.get(dialect, {})  # type: ignore[call-overload]
        return {k: v for k, v in values.items() if self.base.origin(k).source == "default"}

    def of(self, tenant: str = "", collection: str = "", dialect: str = "") -> Merged:
        """Return what holds for a tenant's collection of this id, asked in this dialect."""
        loaded = self._loaded
        known = loaded.known.get((tenant, collection, dialect))
        if known is None:
            known = self._merge_settings(loaded, tenant, collection, dialect)
            if len(loaded.known) >= KNOWN:
                loaded.known.clear()
            loaded.known[tenant, collection, dialect] = known
        return known

    def _merge_settings(
        self, loaded: _Loaded, tenant: str, collection: str, dialect: str
    ) -> Merged:
        holding = tuple(
            item for item in chain(tenant, collection, dialect) if item in loaded.scopes
        )
        profile = self.profile(dialect)
        place = (dialect if profile else "", *holding)
        found = loaded.merged.get(place)
        if found is None:
            found = self._merge(profile, loaded.scopes, holding)
            loaded.merged[place] = found
        return found

    def of_dialects(self, collection: Collection) -> Iterator[Settings]:
        """Yield what holds for questions of a collection, in each dialect."""
        for dialect in ("", *PROFILES):
            yield self.of(collection.tenant, collection.id, dialect).settings

    @property
    def cache_entries(self) -> int:
        """How many entries the one cache of all dialects has: as many as that which wants most."""
        dialects = ("", *self._profiles)
        return max(self.of(dialect=dialect).settings.cache.max_entries for dialect in dialects)

    def answer_recipe(self, ask: Ask) -> Recipe:
        """Return the recipe that answers this question."""
        return self._find_settings(ask).recipes.answer_recipe(ask)

    def search_recipe(self, ask: Ask) -> Recipe:
        """Return the recipe that finds this question's passages."""
        return self._find_settings(ask).recipes.search_recipe(ask)

    def call_recipe(self, ask: Ask) -> Recipe:
        """Return the recipe that lets the chat model call this question's functions."""
        return self._find_settings(ask).recipes.call_recipe(ask)

    def limit_ask(self, ask: Ask) -> Ask:
        """Return the question within what its tenant's settings allow."""
        return self._find_settings(ask).limit_ask(ask)

    def _find_settings(self, ask: Ask) -> Merged:
        return self.of(ask.principal.tenant, ask.collection_id, ask.profile)

    def check(self, scopes: Mapping[str, Values]) -> None:
        """Raise InvalidSetting unless these could be what is set in each scope, by values that
        are right by themselves."""
        for name in scopes:
            holding = [item for item in chain(*place(name)) if item in scopes]
            values = {k: v for item in holding for k, v in scopes[item].items()}
            try:
                merge_settings(self.base, values)
            except ValidationError as error:
                raise InvalidSetting(_error_sentence(error)) from error

    def _merge(
        self, profile: Values, scopes: Mapping[str, Values], holding: Sequence[str]
    ) -> Merged:
        values = dict(profile)
        for name in holding:
            values.update(scopes[name])
        try:
            made = Merged(self.base, values, self._begun)
            for level in LEVELS:
                made.recipes.of("judged", level)
        except (ConfigError, ValidationError) as error:
            log.error(
                "The settings of %s cannot hold together: %s", holding, _error_sentence(error)
            )
            if holding:
                return self._merge(profile, scopes, holding[:-1])
            return Merged(self.base, {}, self._begun)
        return made


def merge_settings(base: Settings, values: Values) -> Settings:
    """The settings with other values; raises ValidationError where they do not fit together."""
    changes: dict[str, Any] = {}
    for name, inside in nest_values(values).items():
        if name == PREFIX:
            known = base.stages
            changes[name] = {**known, **{k: {**known.get(k, {}), **v} for k, v in inside.items()}}
        else:
            section = base.part(name)
            own = {field: getattr(section, field) for field in type(section).model_fields}
            changes[name] = type(section)(**{**own, **inside})
    return base.model_copy(update=changes)


def setting_value(settings: Settings, key: str) -> Any:
    """Return the value of one setting; None for an option of a stage that nothing sets."""
    first, _, rest = key.partition(".")
    if first == PREFIX:
        stage, _, option = rest.partition(".")
        return settings.stages.get(stage, {}).get(option)
    found = settings.part(first)
    return getattr(found, rest) if isinstance(found, BaseModel) else found


def _error_sentence(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        said = describe_fault(first)
        return f"These settings do not fit together: {name + ': ' if name else ''}{said}."
    return str(error)


async def identify_collection(names: CollectionNames, ask: Ask) -> Ask:
    """The question with the id of the collection that has the name now, and a filter that does not
    ask for the name. Where the store does not answer it stays as it is, and fails with that."""
    if ask.collection_id:
        return ask
    with suppress(StateUnavailable):
        id = await names.identity(ask.principal.tenant, ask.collection, make=False)
        where = ask.where and simplify(ask.where, "collection", ask.collection)
        return replace(ask, collection_id=id, where=where)
    return ask


async def with_known_values(catalog: Catalog, ask: Ask) -> Ask:
    """Return the question with each range of metadata as the values that documents have within it.

    Raises InvalidFilter.
    """
    keys = range_keys(ask.where) if ask.where is not None else frozenset[str]()
    if ask.where is None or not keys:
        return ask
    collection = await find_collection(catalog, ask)
    if collection is None:
        return replace(ask, where=expand_ranges(ask.where, {}))
    counted = await catalog.metadata_values(collection.tenant, collection.id, keys)
    values = {key: [item.value for item in some] for key, some in counted.items()}
    return replace(ask, where=expand_ranges(ask.where, values))
