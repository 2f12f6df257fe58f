"""The port that takes the whole state out, and puts it back."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from ragstone.core.records import Collection

Row = dict[str, Any]
"""A row of a table as JSON values."""

Rows = tuple[str, list[Row]]
"""Some rows of the table of this name; those of one table follow each other."""


class StateDump(Protocol):
    """The state store as rows, in an order in which they can be inserted.

    Methods raise StateUnavailable and StorageFull.
    """

    @property
    def schema(self) -> str:
        """The schema that `snapshot` has and `replace` leaves."""
        ...

    def snapshot(self) -> AbstractAsyncContextManager[AsyncIterator[Rows]]:
        """Everything as of one moment, but what was being written."""
        ...

    async def replace(
        self, schema: str, rows: Iterable[Rows], collections: Sequence[Collection]
    ) -> None:
        """Put `rows`, which are of this schema, in the place of everything, in one transaction.

        `collections` are those that there are afterwards, whose indexes are none of those that
        there were: these are unused then (`ports.Catalog`). Jobs that had not ended have failed,
        and documents without a version too. Raises ConfigError for a schema that is newer than this
        program's, InputError for rows that do not fit it.
        """
        ...

    async def flaws(self) -> list[str]:
        """What the store itself finds wrong with its file, a sentence each."""
        ...
