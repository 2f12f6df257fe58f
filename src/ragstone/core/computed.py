"""What an answer was computed from: a query over rows of a table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Computed:
    """A figure or rows that a query over a document's table gave.

    `sentence` is the one of the answer that states it, `sql` the query, or in words which comments
    were counted, `table` the name that it has there, `columns` and `rows` what it returned (the
    first rows, as texts), `used` how many rows of the document it was computed from. `recomputed`
    says that a second computation, which is not SQL, gave the same.
    """

    sentence: str
    sql: str
    table: str
    document_id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    used: int
    recomputed: bool = False
