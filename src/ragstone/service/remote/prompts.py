"""The prompts of a Ragstone in another process."""

from typing import Any
from urllib.parse import quote

from ragstone.core.records import TemplateVersion
from ragstone.service import wire
from ragstone.service.prompts import PromptText
from ragstone.service.remote.call import OK, Send, body, query

PATH = "/api/v1/prompts"


class RemotePrompts:
    """`service.Prompts` over HTTP."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def listed(self, tenant: str = "") -> list[PromptText]:
        found = await self._send("GET", PATH, OK, **query(tenant=tenant))
        return [wire.load(PromptText, one) for one in found["prompts"]]

    async def get(self, name: str, tenant: str = "", version: int = 0) -> PromptText:
        asked = query(tenant=tenant, version=version)
        return wire.load(PromptText, await self._send("GET", _path(name), OK, **asked))

    async def put(self, name: str, text: str, tenant: str, who: str) -> PromptText:
        return await self._changed("PUT", _path(name), {"text": text, "tenant": tenant})

    async def check(self, name: str, text: str) -> None:
        await self._send("POST", f"{_path(name)}/check", OK, **body({"text": text}))

    async def versions(self, name: str, tenant: str = "") -> list[TemplateVersion]:
        found = await self._send("GET", f"{_path(name)}/versions", OK, **query(tenant=tenant))
        return [wire.load(TemplateVersion, one) for one in found["versions"]]

    async def diff(self, name: str, tenant: str, old: int, new: int) -> str:
        asked = query(tenant=tenant, old=old, new=new)
        return str((await self._send("GET", f"{_path(name)}/diff", OK, **asked))["diff"])

    async def rollback(self, name: str, tenant: str, version: int, who: str) -> PromptText:
        given = {"version": version, "tenant": tenant}
        return await self._changed("POST", f"{_path(name)}/rollback", given)

    async def reset(self, name: str, tenant: str, who: str) -> PromptText:
        found = await self._send("DELETE", _path(name), OK, **query(tenant=tenant))
        return wire.load(PromptText, found)

    async def _changed(self, method: str, path: str, given: dict[str, Any]) -> PromptText:
        return wire.load(PromptText, await self._send(method, path, OK, **body(given)))


def _path(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"
