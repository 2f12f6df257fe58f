"""The settings of a Ragstone in another process."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ragstone.core.records import SettingChange
from ragstone.service import wire
from ragstone.service.remote.call import OK, Send, body, query
from ragstone.service.settings import SettingLayer, SettingValue

PATH = "/api/v1/settings"


class RemoteSettings:
    """`service.RuntimeSettings` over HTTP."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def listed(self, tenant: str = "", collection: str = "") -> list[SettingValue]:
        found = await self._send("GET", PATH, OK, **query(tenant=tenant, collection=collection))
        return [_value(one) for section in found["sections"] for one in section["settings"]]

    async def get(self, name: str, tenant: str = "", collection: str = "") -> SettingValue:
        return _value(await self._one(name, tenant, collection))

    async def put(self, scope: str, values: Mapping[str, Any], who: str) -> list[SettingValue]:
        sent = body({"scope": scope, "values": dict(values)})
        return _values(await self._send("PUT", PATH, OK, **sent))

    async def unset(self, scope: str, names: Sequence[str], who: str) -> list[SettingValue]:
        sent = body({"scope": scope, "keys": list(names)})
        return _values(await self._send("POST", f"{PATH}/unset", OK, **sent))

    async def explain(
        self, name: str, tenant: str = "", collection: str = ""
    ) -> list[SettingLayer]:
        found = await self._one(name, tenant, collection)
        return [wire.load(SettingLayer, one) for one in found["layers"]]

    async def log(self, limit: int, name: str = "", scope: str = "") -> list[SettingChange]:
        asked = query(limit=limit, key=name, scope=scope)
        found = await self._send("GET", f"{PATH}/audit", OK, **asked)
        return [wire.load(SettingChange, one) for one in found["changes"]]

    async def _one(self, name: str, tenant: str, collection: str) -> dict[str, Any]:
        path = f"{PATH}/{quote(name, safe='')}"
        asked = query(tenant=tenant, collection=collection)
        found: dict[str, Any] = await self._send("GET", path, OK, **asked)
        return found


def _value(data: Mapping[str, Any]) -> SettingValue:
    known = SettingValue.__dataclass_fields__
    return wire.load(SettingValue, {name: data[name] for name in known if name in data})


def _values(found: Mapping[str, Any]) -> list[SettingValue]:
    return [_value(one) for one in found["settings"]]
