"""The vectors of one scope's questions, in one matrix that is compared at once."""

import numpy as np
from numpy.typing import NDArray

from ragstone.ports import Near, Vectors

FIRST_ROWS = 16


class VectorMatrix:
    """Grows by doubling. A removed row stays until half of them are gone, and a comparison works
    on the matrix as it was when it began, so it may run in another thread."""

    def __init__(self, dimensions: int) -> None:
        self._matrix: NDArray[np.float32] = np.zeros((FIRST_ROWS, dimensions), np.float32)
        self._rows: dict[str, int] = {}
        self._ids: list[str | None] = []
        self._questions: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def dimensions(self) -> int:
        return int(self._matrix.shape[1])

    def add(self, id: str, question: str, vector: Vectors) -> None:
        """Add an entry, or replace the one of this id."""
        self.remove(id)
        row = len(self._ids)
        if row == len(self._matrix):
            grown = np.zeros((2 * row, self.dimensions), np.float32)
            grown[:row] = self._matrix
            self._matrix = grown
        self._matrix[row] = vector
        self._ids.append(id)
        self._rows[id] = row
        self._questions[id] = question

    def remove(self, id: str) -> None:
        """Remove an entry, if it is there."""
        row = self._rows.pop(id, None)
        if row is None:
            return
        self._ids[row] = None
        del self._questions[id]
        if len(self._rows) < len(self._ids) // 2:
            self._compact()

    def oldest(self) -> str:
        """Return the id that was added before all others."""
        return next(iter(self._rows))

    def near(self, vector: Vectors, least: float, limit: int) -> list[Near]:
        """Return entries of at least this cosine, nearest first."""
        matrix, ids = self._matrix, self._ids
        cosines = matrix[: len(ids)] @ vector
        rows = np.flatnonzero(cosines >= least)
        found: list[Near] = []
        for row in rows[np.argsort(-cosines[rows], kind="stable")]:
            id = ids[row]
            question = self._questions.get(id) if id is not None else None
            if id is not None and question is not None:
                found.append(Near(id, question, min(1.0, float(cosines[row]))))
            if len(found) == limit:
                break
        return found

    def _compact(self) -> None:
        rows = list(self._rows.values())
        matrix = np.zeros((max(FIRST_ROWS, 2 * len(rows)), self.dimensions), np.float32)
        matrix[: len(rows)] = self._matrix[rows]
        self._matrix, self._ids = matrix, list(self._rows)
        self._rows = {id: row for row, id in enumerate(self._rows)}
