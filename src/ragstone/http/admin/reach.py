"""Whose settings and prompts an administrator may see and change."""

from ragstone.core.caller import Caller
from ragstone.core.errors import Forbidden, UnknownCollection


def of_tenant(caller: Caller, tenant: str, collection: str = "") -> None:
    """Refuse a tenant (empty for all) or a collection that is not the caller's to look at."""
    if not _runs_the_server(caller) and tenant not in ("", caller.principal.tenant):
        raise Forbidden("Your credential belongs to another tenant. Use one of this tenant.")
    if collection and not caller.reaches(collection):
        raise UnknownCollection(collection)


def of_scope(caller: Caller, tenant: str, collection: str) -> None:
    """Refuse to change what is not the caller's: what holds for all (no tenant) or for others, and
    for a credential of single collections everything but those."""
    of_tenant(caller, tenant, collection)
    if not tenant and not _runs_the_server(caller):
        raise Forbidden("This holds for every tenant, and only the operator may change it.")
    if caller.collections is not None and not collection:
        raise Forbidden("Your credential is for single collections only. Use one for all.")


def _runs_the_server(caller: Caller) -> bool:
    """Whether this is the operator, or the local user where no credentials are set."""
    return caller.operator or caller.local


def log_name(caller: Caller) -> str:
    """Who the log says it was."""
    return caller.key or caller.principal.user
