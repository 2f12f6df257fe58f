"""The settings of this process, and of every other one on the same store."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr

from ragstone.core.errors import InvalidSetting
from ragstone.core.records import SettingChange, SettingEdit
from ragstone.local.collections import identify_granted
from ragstone.local.configured import Configured, setting_value
from ragstone.ports import Cache, CollectionNames, SettingsStore
from ragstone.recipes import setting_table
from ragstone.recipes.setting_table import Setting
from ragstone.service.settings import SettingLayer, SettingValue
from ragstone.settings.scope import DIALECT, GLOBAL, TENANT, chain, of_collection, place

MAX_CHANGES = 200
"""Settings that may be changed at once."""

_PASSWORD = re.compile(r"(://[^/@\s:]*:)[^/@\s]+@")
"""The password in an address."""


class LocalSettings:
    """`service.RuntimeSettings` on the state store, whose scopes have the ids of collections;
    those that are given and told have the names of `names`. `changed` is called when they have
    been read anew."""

    def __init__(
        self,
        store: SettingsStore,
        names: CollectionNames,
        configured: Configured,
        cache: Cache | None = None,
        changed: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._names = names
        self._configured = configured
        self._cache = cache
        self._changed = changed
        self._turn = asyncio.Lock()

    async def refresh(self) -> None:
        """Read anew what is set in the store; raises StateUnavailable."""
        await asyncio.to_thread(self._configured.load, await self._store.list_stored())
        if self._changed is not None:
            await self._changed()
        if self._cache is not None:
            self._cache.resize(self._configured.cache_entries)

    async def list_all(
        self, tenant: str = "", collection: str = "", dialect: str = ""
    ) -> list[SettingValue]:
        here = await self._place(tenant, collection, dialect)
        return [self._value(item, here) for item in setting_table.table().values()]

    async def get(
        self, name: str, tenant: str = "", collection: str = "", dialect: str = ""
    ) -> SettingValue:
        one = setting_table.setting(name)
        return self._value(one, await self._place(tenant, collection, dialect))

    async def put(self, scope: str, values: Mapping[str, Any], who: str) -> list[SettingValue]:
        read = [setting_table.read(name, value) for name, value in values.items()]
        given = dict(read)
        if not given or len(given) < len(read) or len(read) > MAX_CHANGES:
            raise InvalidSetting(f"Name 1 to {MAX_CHANGES} settings, each once.")
        for key in given:
            _check_scope(key, scope)
        here = await self._place(*place(scope), make=True)
        edits = [SettingEdit(here.scope, key, value) for key, value in given.items()]
        return await self._edit(here, edits, who)

    async def unset(self, scope: str, names: Sequence[str], who: str) -> list[SettingValue]:
        keys = dict.fromkeys(setting_table.setting(name).key for name in names)
        here = await self._place(*place(scope))
        if here.collection and not here.id:
            return [self._value(setting_table.setting(key), here) for key in keys]
        edits = [SettingEdit(here.scope, key, removes=True) for key in keys]
        return await self._edit(here, edits, who)

    async def explain(
        self, name: str, tenant: str = "", collection: str = "", dialect: str = ""
    ) -> list[SettingLayer]:
        one, here = setting_table.setting(name), await self._place(tenant, collection, dialect)
        return [
            SettingLayer(layer.source, layer.where, _plain(one, layer.value))
            for layer in self._layers(one, here)
        ]

    async def log(self, limit: int, name: str = "", scope: str = "") -> list[SettingChange]:
        key = setting_table.setting(name).key if name else ""
        if scope:
            scope = (await self._place(*place(scope))).scope
        changes = await self._store.changes(limit, key, scope)
        told = {
            item: await self._scope_by_name(item) for item in {change.scope for change in changes}
        }
        return [replace(item, scope=told[item.scope]) for item in changes]

    async def _place(
        self, tenant: str, collection: str, dialect: str = "", *, make: bool = False
    ) -> "_Place":
        if dialect:
            place(f"{DIALECT}{dialect}")
        if not collection:
            id = ""
        elif make:
            id = await identify_granted(self._names, tenant, collection)
        else:
            id = await self._names.identity(tenant, collection, make=False)
        return _Place(tenant, collection, dialect, id)

    async def _scope_by_name(self, scope: str) -> str:
        """Return a scope with the name of its collection; unchanged if the collection is gone."""
        tenant, id, _ = place(scope)
        names = await self._names.names(tenant, [id]) if id else {}
        return of_collection(tenant, names[id]) if id in names else scope

    async def _edit(
        self, here: "_Place", edits: Sequence[SettingEdit], who: str
    ) -> list[SettingValue]:
        """Make the changes if all that is set then fits together."""
        async with self._turn:
            await self.refresh()
            scopes = {name: dict(values) for name, values in self._configured.scopes().items()}
            inside = scopes.setdefault(here.scope, {})
            for edit in edits:
                if edit.removes:
                    inside.pop(edit.key, None)
                else:
                    inside[edit.key] = edit.value
            await asyncio.to_thread(self._configured.check, scopes)
            await self._store.edit(edits, who)
            await self.refresh()
        return [self._value(setting_table.setting(e.key), here) for e in edits]

    def _value(self, setting: Setting, here: "_Place") -> SettingValue:
        last = self._layers(setting, here)[-1]
        return SettingValue(
            key=setting.key,
            section=setting.section,
            value=_plain(setting, last.value),
            default=setting.default,
            source=last.source,
            where=last.where,
            kind=setting.kind,
            bounds=setting.bounds,
            help=setting.help,
            variable=setting.variable,
            names=setting.names,
            scopes=setting.scopes,
            restart=setting.restart,
            secret=setting.secret,
        )

    def _layers(self, setting: Setting, here: "_Place") -> list[SettingLayer]:
        """Return every layer that has a value; the effective one is last."""
        base = self._configured.base
        origin, known = base.origin(setting.key), setting_value(base, setting.key)
        layers = [SettingLayer("default", "", setting.default)]
        if origin.source != "default":
            layers += [
                SettingLayer(beaten.origin.source, beaten.origin.where, beaten.value)
                for beaten in base.beaten(setting.key)
            ]
            layers.append(SettingLayer(origin.source, origin.where, known))
        elif known is not None:
            layers = [SettingLayer("default", "", known)]
        profile = self._configured.profile(here.dialect)
        if setting.key in profile:
            layers.append(SettingLayer("profile", here.dialect, profile[setting.key]))
        scopes = self._configured.scopes()
        told = chain(here.tenant, here.collection, here.dialect)
        for scope, name in zip(chain(here.tenant, here.id, here.dialect), told, strict=True):
            if setting.key in scopes.get(scope, {}):
                layers.append(SettingLayer("store", name, scopes[scope][setting.key]))
        return layers


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a setting is asked for: a collection by its name and its id; empty for none."""

    tenant: str
    collection: str
    dialect: str
    id: str

    @property
    def scope(self) -> str:
        """The scope in the store. A collection without an id has no settings in it."""
        if self.collection:
            return of_collection(self.tenant, self.id)
        if self.tenant:
            return f"{TENANT}{self.tenant}"
        return f"{DIALECT}{self.dialect}" if self.dialect else GLOBAL


def _check_scope(key: str, scope: str) -> None:
    """Raise InvalidSetting unless the setting can be set in the scope."""
    place(scope)
    allowed = setting_table.table()[key].scopes
    if scope.partition(":")[0] not in allowed:
        kinds = [item for item in allowed if item != "request"]
        raise InvalidSetting(f"{key} can be set for {' or '.join(kinds)}, not for {scope!r}.")


def _plain(setting: Setting, value: Any) -> Any:
    """A value as JSON, an address without its password; of a secret only whether it is set."""
    if setting.secret:
        secret = value.get_secret_value() if isinstance(value, SecretStr) else value
        return "set" if secret else ""
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, str):
        return _PASSWORD.sub(r"\1***@", value)
    return value if isinstance(value, int | float | bool | dict | None) else str(value)
