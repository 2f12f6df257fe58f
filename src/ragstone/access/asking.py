"""Whose request is being answered: known below the routes without a parameter in each of them."""

from contextvars import ContextVar

from ragstone.core.caller import LOCAL, Caller

ASKING: ContextVar[Caller] = ContextVar("ragstone_asking", default=LOCAL)
"""Set for each request where its credential is checked; tasks that it starts inherit it."""


def limited_key(caller: Caller) -> str:
    """The name under which a caller's use is counted; empty for the local user and operator."""
    return "" if caller.operator else caller.key
