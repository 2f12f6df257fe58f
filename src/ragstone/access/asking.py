"""Whose request is being answered: known below the routes without a parameter in each of them."""

from contextvars import ContextVar

from ragstone.core.caller import LOCAL, Caller

ASKING: ContextVar[Caller] = ContextVar("ragstone_asking", default=LOCAL)
"""Set for each request where its credential is checked; tasks that it starts inherit it."""
