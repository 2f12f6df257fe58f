"""For whom a setting holds that was set at run time."""

from typing import NamedTuple

from ragstone.core.errors import InvalidSetting
from ragstone.settings.profiles import PROFILES

GLOBAL, DIALECT, TENANT, COLLECTION = "global", "dialect:", "tenant:", "collection:"
MAX_SCOPE_CHARS = 512
"""Characters of a scope."""


class ScopePlace(NamedTuple):
    """What a scope names; empty for what it does not. A dialect's holds for every tenant."""

    tenant: str = ""
    collection: str = ""
    dialect: str = ""


def of_collection(tenant: str, collection: str) -> str:
    """Return the scope of a collection: by its id where settings are kept, by its name where people
    are told of it."""
    return f"{COLLECTION}{tenant}/{collection}"


def chain(tenant: str, collection: str, dialect: str = "") -> tuple[str, ...]:
    """The scopes that hold for a collection asked in a dialect, the one that counts most last."""
    asked_in = (f"{DIALECT}{dialect}",) if dialect else ()
    return (GLOBAL, *asked_in, f"{TENANT}{tenant}", of_collection(tenant, collection))


def place(scope: str) -> ScopePlace:
    """Return what a scope names; raises InvalidSetting."""
    kind, _, rest = scope.partition(":")
    tenant, slash, collection = rest.partition("/")
    if scope == GLOBAL:
        return ScopePlace()
    if kind == "dialect" and rest in PROFILES:
        return ScopePlace(dialect=rest)
    if kind == "tenant" and rest and len(rest) <= MAX_SCOPE_CHARS:
        return ScopePlace(rest)
    if kind == "collection" and tenant and slash and collection and len(rest) <= MAX_SCOPE_CHARS:
        return ScopePlace(tenant, collection)
    raise InvalidSetting(
        f"{scope[:80]!r} is not a scope: write global, dialect:<name> ({', '.join(PROFILES)}), "
        "tenant:<name> or collection:<tenant>/<name>."
    )
