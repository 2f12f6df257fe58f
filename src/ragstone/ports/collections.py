"""The port of the words that collections hold."""

from collections.abc import Collection as Words
from collections.abc import Sequence
from typing import Protocol

from ragstone.core.records import Collection


class Vocabulary(Protocol):
    """Which words were ever read in a collection, whoever may read the documents they are in.

    So what it knows is no answer to a question: whether the caller can find a word, in a document
    that still answers, only a search of the index tells. Words are in small letters of a to z.
    """

    async def find_words(self, collection: Collection, words: Words[str]) -> frozenset[str]:
        """Return those of `words` that were read in the collection."""
        ...

    async def add(
        self, collection: Collection, words: Words[str], read: Sequence[str] = ()
    ) -> None:
        """Take over words, and that the revisions `read` have now been read to their end."""
        ...

    async def unread(self, collection: Collection) -> list[str]:
        """Return the revisions that answer and have not been read.

        Once over a tenth of what was read has gone, everything is forgotten first, so that
        deleted words do not stay.
        """
        ...
