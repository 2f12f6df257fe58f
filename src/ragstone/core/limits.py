"""How much one question may hold, by whichever door it comes: what can be looked through without
keeping others waiting."""

from ragstone.core.errors import InputError
from ragstone.core.filters import check_size
from ragstone.core.turn import Ask

MAX_MESSAGES = 2000
MAX_STOPS = 16
MAX_CLASSES = 1000
MAX_TOOLS = 128
MAX_NAME = 255
MAX_TOPICS = 20_000


def check_collection_name(name: str) -> None:
    """Raise InputError unless a collection can be called this."""
    if not 0 < len(name) <= MAX_NAME or name != name.strip():
        raise InputError(
            f"Not a valid name of a collection: use 1 to {MAX_NAME} "
            "characters, and no space at either end."
        )
    if not name.isprintable():
        raise InputError("Not a valid name of a collection: leave out what cannot be shown.")


def check_ask(ask: Ask) -> None:
    """Raise InputError, and InvalidFilter, for a question that holds too much."""
    for what, held, most in (
        ("earlier messages", ask.history, MAX_MESSAGES),
        ("stop words", ask.stop, MAX_STOPS),
        ("values of metadata", ask.classes, MAX_CLASSES),
        ("tools", ask.tools, MAX_TOOLS),
        ("calls of tools", ask.steps, MAX_MESSAGES),
    ):
        if len(held) > most:
            raise InputError(
                f"The question has {len(held):,} {what}; the limit is {most:,}. Send fewer."
            )
    for what, name in (("collection", ask.collection), ("id", ask.id)):
        if len(name) > MAX_NAME:
            raise InputError(
                f"The {what} has {len(name):,} characters; the limit is {MAX_NAME}. Shorten it."
            )
    if ask.where is not None:
        check_size(ask.where)
