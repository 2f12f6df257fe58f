"""The port of customers' comments: those of a collection that an asker may read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragstone.core.comments import CustomerComment
from ragstone.core.filters import Filter
from ragstone.core.records import Collection
from ragstone.ports.embedding import Vectors


@dataclass(frozen=True, slots=True)
class ReadComments:
    """Comments with their vectors (n, dimensions). `left_out` says which tables are not among them
    and why; `waiting` are comments that are being read still, which are not among them either."""

    comments: tuple[CustomerComment, ...]
    vectors: Vectors
    left_out: tuple[str, ...] = ()
    waiting: int = 0


class CommentReader(Protocol):
    """Reads tables of comments."""

    async def read(self, collection: Collection, where: Filter, seconds: float) -> ReadComments:
        """The comments of the tables inside `where`, as far as they can be read in so many seconds;
        what was begun goes on, for the next call. A table of which a part lies outside is left
        out."""
        ...

    async def of_texts(self, comments: Sequence[CustomerComment]) -> ReadComments:
        """Comments that stand in no document, with their tones and vectors."""
        ...

    async def score_topic(self, topic: str, read: ReadComments) -> NDArray[np.float64]:
        """How surely each comment speaks of a topic (n,), in any words; those that do have 0 or
        more."""
        ...
