"""Who may read a document: everyone, single users, and groups, by their names."""

import unicodedata
from collections.abc import Iterable

from ragstone.core.chunk import EVERYONE
from ragstone.core.errors import InputError


def parse_readers(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the readers that texts such as "group:hr,user:ada" and "everyone" name, each once.

    Raises InputError for a text that names none.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    readers = tuple(dict.fromkeys(EVERYONE if name == "everyone" else name for name in names))
    check_readers(readers)
    return readers


def check_readers(readers: object) -> None:
    """Raise InputError unless this is a list of names of readers; an empty one names nobody, and
    leaves them as they are."""
    if isinstance(readers, str) or not isinstance(readers, Iterable):
        raise InputError(f"Not a valid list of readers: {str(readers)[:100]!r}. {_NAMES}")
    for name in readers:
        if not _is_reader(name):
            raise InputError(f"Not a valid reader: {str(name)[:100]!r}. {_NAMES}")


_NAMES = "Use '*' for everyone, 'user:NAME' or 'group:NAME'."


MAX_CHARS = 1_000
"""Characters of a reader's name."""


def _is_reader(name: object) -> bool:
    if not isinstance(name, str) or len(name) > MAX_CHARS:
        return False
    if any(unicodedata.category(char) == "Cc" for char in name):
        return False
    kind, _, of = name.partition(":")
    return name == EVERYONE or (kind in ("user", "group") and bool(of.strip()))
