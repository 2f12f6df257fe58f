"""For whom a setting holds that was set at run time."""

from ragstone.core.errors import InvalidSetting

GLOBAL, TENANT, COLLECTION = "global", "tenant:", "collection:"
LONGEST = 512
"""Characters of a scope."""


def of_collection(tenant: str, collection: str) -> str:
    """The scope of a collection: by its id where settings are kept, by its name where people are
    told of it."""
    return f"{COLLECTION}{tenant}/{collection}"


def chain(tenant: str, collection: str) -> tuple[str, ...]:
    """The scopes that hold for a collection, the one that counts most last."""
    return (GLOBAL, f"{TENANT}{tenant}", of_collection(tenant, collection))


def place(scope: str) -> tuple[str, str]:
    """The tenant and collection of a scope, empty for none; raises InvalidSetting."""
    kind, _, rest = scope.partition(":")
    tenant, slash, collection = rest.partition("/")
    if scope == GLOBAL:
        return "", ""
    if kind == "tenant" and rest and len(rest) <= LONGEST:
        return rest, ""
    if kind == "collection" and tenant and slash and collection and len(rest) <= LONGEST:
        return tenant, collection
    raise InvalidSetting(
        f"{scope[:80]!r} is no scope: write global, tenant:<name> or collection:<tenant>/<name>."
    )
