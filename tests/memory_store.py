"""The stores of settings, prompts and names in memory, for services without a database."""

import time
from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence

from ragstone.core.records import (
    SettingChange,
    SettingEdit,
    StoredSetting,
    TemplateVersion,
)
from ragstone.language.templates import describe_prompt


class MemoryNames:
    """`ports.CollectionNames` without a database: every collection is one to come."""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, str], str] = {}

    async def identity(self, tenant: str, name: str, *, make: bool = True) -> str:
        if make:
            self.ids.setdefault((tenant, name), f"c{len(self.ids)}")
        return self.ids.get((tenant, name), "")

    async def names(self, tenant: str, ids: Several[str]) -> Mapping[str, str]:
        return {id: name for (of, name), id in self.ids.items() if of == tenant and id in ids}

    async def find_readers(self, document_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        return {}


class MemorySettings:
    """`ports.SettingsStore` without a database."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], object] = {}
        self.lines: list[SettingChange] = []

    async def marks(self) -> Mapping[str, int]:
        return {"settings": len(self.lines)}

    async def list_stored(self) -> Sequence[StoredSetting]:
        return [StoredSetting(*place, value) for place, value in self.values.items()]

    async def edit(self, edits: Sequence[SettingEdit], who: str) -> None:
        for item in edits:
            place = (item.scope, item.key)
            old = self.values.pop(place, None)
            if not item.removes:
                self.values[place] = item.value
            action = "unset" if item.removes else "set"
            self.lines.append(
                SettingChange(time.time(), who, item.scope, item.key, action, old, item.value)
            )

    async def changes(self, limit: int, key: str = "", scope: str = "") -> Sequence[SettingChange]:
        found = [c for c in self.lines if key in ("", c.key) and scope in ("", c.scope)]
        return found[::-1][:limit]


class MemoryTemplates:
    """`ports.Templates` without a database."""

    def __init__(self) -> None:
        self.rows: list[TemplateVersion] = []

    async def texts(self, tenant: str = "default") -> Mapping[str, str]:
        current = await self.current()
        return {o.name: o.text for t in ("", tenant) for o in current if o.tenant == t and o.text}

    async def put(self, name: str, text: str, tenant: str = "", who: str = "") -> int:
        version = len(await self.versions(name, tenant)) + 1
        self.rows.append(TemplateVersion(name, version, text, time.time(), tenant, who))
        return version

    async def versions(self, name: str, tenant: str = "") -> Sequence[TemplateVersion]:
        describe_prompt(name)
        return [row for row in self.rows if (row.name, row.tenant) == (name, tenant)][::-1]

    async def current(self) -> Sequence[TemplateVersion]:
        return list({(row.tenant, row.name): row for row in self.rows}.values())

    async def refresh(self) -> None: ...
