"""What the result of a question depends on besides the question, as the scopes of the cache."""

import hashlib
from dataclasses import fields
from typing import Any

from ragstone import __version__
from ragstone.core.records import Collection
from ragstone.core.turn import Turn
from ragstone.ports import Edition

ASKER = frozenset(
    {"question", "principal", "history", "room", "id", "cache", "user_id", "keeps", "collection_id"}
)
"""Fields of an Ask that change no result, or are in the scope in another form."""

ANSWER = frozenset({"temperature", "max_tokens", "stop", "guidance", "sampling", "json"})
"""Fields that change the answer but not the search. Every other field changes both."""


def scopes(
    turn: Turn, collection: Collection, edition: Edition, recipe: str, model: str
) -> tuple[str, str]:
    """The scopes of the whole answer and of what the search finds.

    Who asks is in them as the tenant and the names that open some document of the collection:
    principals who share these can read the same. The edition is another one as soon as a document
    that could have been used changes, so an entry is never found again after that. A collection
    is in them by its id: another name changes nothing, and another collection of its name has none.
    """
    ask = turn.ask
    asked = {field.name: getattr(ask, field.name) for field in fields(ask)}
    asked["collection"] = collection.id
    found: list[Any] = [
        __version__,
        recipe,
        ask.principal.tenant,
        edition.stamp,
        sorted(edition.readers.intersection(ask.principal.names)),
        sorted((name, repr(asked[name])) for name in asked.keys() - ASKER - ANSWER),
    ]
    answered = [model, sorted((name, repr(asked[name])) for name in ANSWER)]
    return _hash("answer", *found, *answered), _hash("search", *found)


def external_scope(turn: Turn, recipe: str, embedder: str) -> str:
    """The scope of what somebody else's retrieval service finds. It is told the tenant and the
    filters and nothing else of who asks, so it finds the same for all of a tenant; `recipe` holds
    its address, `embedder` the fingerprint of what compares the questions."""
    ask = turn.ask
    asked = sorted((field.name, repr(getattr(ask, field.name))) for field in fields(ask))
    asked = [(name, value) for name, value in asked if name not in ASKER | ANSWER]
    return _hash("external", __version__, recipe, embedder, ask.principal.tenant, asked)


def depends_on_history(turn: Turn) -> bool:
    """Whether the answer may depend on what was said before.

    The search does not: it reads the question alone.
    """
    return bool(turn.ask.history)


def _hash(*parts: Any) -> str:
    text = repr(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()
