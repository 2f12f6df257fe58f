"""Whose settings and prompts an administrator may see and change."""

from ragstone.core.caller import Caller
from ragstone.core.errors import Forbidden, UnknownCollection
from ragstone.core.turn import Principal

OPERATORS = Principal().tenant
"""Administrators of this tenant run the server: they may change what holds for all."""


def of_tenant(caller: Caller, tenant: str, collection: str = "") -> None:
    """Refuse a tenant (empty for all) or a collection that is not the caller's to look at."""
    own = caller.principal.tenant
    if own != OPERATORS and tenant not in ("", own):
        raise Forbidden("Your credential belongs to another tenant.")
    if collection and not caller.reaches(collection):
        raise UnknownCollection(collection)


def of_scope(caller: Caller, tenant: str, collection: str) -> None:
    """Refuse to change what is not the caller's: what holds for all (no tenant) or for others, and
    for a credential of single collections everything but those."""
    of_tenant(caller, tenant, collection)
    if not tenant and caller.principal.tenant != OPERATORS:
        raise Forbidden(
            f"This holds for every tenant, and only administrators of {OPERATORS!r} may change it."
        )
    if caller.collections is not None and not collection:
        raise Forbidden("Your credential is for single collections only.")


def name_of(caller: Caller) -> str:
    """Who the log says it was."""
    return caller.key or caller.principal.user
