"""The prompts of this process, and of every other one on the same store."""

import asyncio
import difflib
from collections.abc import Mapping, Sequence

from ragstone.core.errors import UnknownPrompt
from ragstone.core.records import TemplateVersion
from ragstone.language.templates import NAMES, check_prompt, describe_prompt, load_shipped
from ragstone.local.added import ServiceParts
from ragstone.plugins.prompts.contract import PromptSource, PromptText
from ragstone.ports import Templates


class LocalPrompts:
    """`contract.PromptService` on the state store, over those of the configuration file."""

    def __init__(self, store: Templates, below: Mapping[str, str]) -> None:
        self._store = store
        self._below = below

    async def list_all(self, tenant: str = "") -> list[PromptText]:
        current = await self._current()
        names = {name for place, name in current if place in ("", tenant)}
        every = [*NAMES, *sorted((names | set(self._below)) - set(NAMES))]
        return [self._effective_prompt(name, tenant, current) for name in every]

    async def get(self, name: str, tenant: str = "", version: int = 0) -> PromptText:
        describe_prompt(name)
        if not version:
            return self._effective_prompt(name, tenant, await self._current())
        found = await self._version(name, tenant, version)
        return _prompt(name, found.text, "tenant" if tenant else "store", version)

    async def put(self, name: str, text: str, tenant: str, who: str) -> PromptText:
        check_prompt(name, text)
        await self._store.put(name, text, tenant, who)
        return await self.get(name, tenant)

    async def check(self, name: str, text: str) -> None:
        check_prompt(name, text)

    async def versions(self, name: str, tenant: str = "") -> list[TemplateVersion]:
        return list(await self._store.versions(name, tenant))

    async def diff(self, name: str, tenant: str, old: int, new: int) -> str:
        before, after = [await self._text(name, tenant, version) for version in (old, new)]
        heads = f"{name} version {old}", f"{name} version {new}"
        return await asyncio.to_thread(_diff, before.splitlines(), after.splitlines(), *heads)

    async def rollback(self, name: str, tenant: str, version: int, who: str) -> PromptText:
        found = await self._version(name, tenant, version)
        await self._store.put(name, found.text, tenant, who)
        return await self.get(name, tenant)

    async def reset(self, name: str, tenant: str, who: str) -> PromptText:
        describe_prompt(name)
        newest = (await self._current()).get((tenant, name))
        if newest is not None and newest.text:
            await self._store.put(name, "", tenant, who)
        return await self.get(name, tenant)

    async def _current(self) -> Mapping[tuple[str, str], TemplateVersion]:
        return {(item.tenant, item.name): item for item in await self._store.current()}

    async def _version(self, name: str, tenant: str, version: int) -> TemplateVersion:
        for item in await self._store.versions(name, tenant):
            if item.version == version:
                return item
        raise UnknownPrompt(
            f"There is no version {version} of the prompt {name!r}. "
            f"List them with 'ragstone prompts versions {name}'."
        )

    async def _text(self, name: str, tenant: str, version: int) -> str:
        if version == 0:
            return self._effective_prompt(name, "", {}).text
        return (await self._version(name, tenant, version)).text

    def _effective_prompt(
        self, name: str, tenant: str, current: Mapping[tuple[str, str], TemplateVersion]
    ) -> PromptText:
        """Return the prompt of the highest layer that has one."""
        for place in dict.fromkeys((tenant, "")):
            newest = current.get((place, name))
            if newest is not None and newest.text:
                source: PromptSource = "tenant" if place else "store"
                return _prompt(name, newest.text, source, newest.version)
        if name in self._below:
            return _prompt(name, self._below[name], "file", 0)
        return _prompt(name, load_shipped(name) or "", "shipped", 0)


def open_service(parts: ServiceParts) -> LocalPrompts:
    """Make the operations of this process."""
    return LocalPrompts(parts.adapters.templates, parts.settings.prompts)


def _prompt(name: str, text: str, source: PromptSource, version: int) -> PromptText:
    known = describe_prompt(name)
    return PromptText(
        name,
        text,
        source,
        version,
        known.help,
        tuple(sorted(known.needed)),
        tuple(sorted(known.allowed)),
    )


def _diff(before: Sequence[str], after: Sequence[str], old: str, new: str) -> str:
    return "\n".join(difflib.unified_diff(before, after, old, new, lineterm=""))
