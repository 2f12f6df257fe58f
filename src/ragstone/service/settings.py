"""What can be asked of the settings while the server runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.core.records import SettingChange
from ragstone.service.routes import Count


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting with the value that holds, and where that comes from.

    `source` is default, profile, file, environment, command line or store; `where` names the
    dialect, the variable, the line or the scope. `kind` and `bounds` are words for people.
    `restart` says that it is read only when the server starts. The value of a `secret` is "set" or
    empty.
    """

    key: str
    section: str
    value: Any
    default: Any
    source: str
    where: str
    kind: str
    bounds: str
    help: str
    variable: str
    names: tuple[str, ...]
    scopes: tuple[str, ...]
    restart: bool
    secret: bool


@dataclass(frozen=True, slots=True)
class SettingLayer:
    """One place that has a value for a setting; of several, the last one counts."""

    source: str
    where: str
    value: Any


class SettingsService(Protocol):
    """Settings by key, or by another system's name for it; see `registry` for the table.

    Methods raise UnknownSetting, InvalidSetting, StateUnavailable.
    """

    async def list_all(
        self, tenant: str = "", collection: str = "", dialect: str = ""
    ) -> list[SettingValue]:
        """Every setting as it holds for all, for a tenant, or for a tenant's collection, and for
        questions that come through a dialect."""
        ...

    async def get(
        self, name: str, tenant: str = "", collection: str = "", dialect: str = ""
    ) -> SettingValue:
        """One setting as it holds there."""
        ...

    async def put(self, scope: str, values: Mapping[str, Any], who: str) -> list[SettingValue]:
        """Set all of these in a scope or, if one cannot be, none; they hold for the next
        question."""
        ...

    async def unset(self, scope: str, names: Sequence[str], who: str) -> list[SettingValue]:
        """Take settings out of a scope: what stands below it holds again."""
        ...

    async def explain(
        self, name: str, tenant: str = "", collection: str = "", dialect: str = ""
    ) -> list[SettingLayer]:
        """Every place that has a value for a setting, from the default to the one that counts."""
        ...

    async def log(self, limit: Count, name: str = "", scope: str = "") -> list[SettingChange]:
        """Who changed what, the newest first."""
        ...
