"""Whose request is being answered: known below the routes without a parameter in each of them."""

from contextvars import ContextVar

from ragstone.core.caller import LOCAL, Caller
from ragstone.core.errors import Forbidden, Unauthorized
from ragstone.core.readers import Reader

ASKING: ContextVar[Caller] = ContextVar("ragstone_asking", default=LOCAL)
"""Set for each request where its credential is checked; tasks that it starts inherit it."""


def limit_key(caller: Caller) -> str:
    """The name under which a caller's use is counted; empty for the local user and operator."""
    return "" if caller.operator or caller.local else caller.key


def current_reader() -> Reader:
    """Return who asks to see what is kept of conversations. An admin sees what others asked,
    whoever may read the documents, but of the collections that the credential reaches."""
    caller = ASKING.get()
    names = None if caller.may("admin") else caller.principal.names
    return Reader(caller.collections, names)


def check_everywhere() -> None:
    """Raise Forbidden for a credential of single collections, where something is of them all."""
    if ASKING.get().collections is not None:
        raise Forbidden(
            "Your credential is for single collections only, and this is of them all. "
            "Use one for all collections."
        )


def check_known() -> None:
    """Raise Unauthorized for who has no credential, where something is of one user."""
    if not ASKING.get().principal.user:
        raise Unauthorized(
            "This needs a credential: nothing is kept for who has none. "
            "Sign in, or send an API key."
        )
