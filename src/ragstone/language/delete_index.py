"""Words within two edits of a misspelt one: symmetric delete spelling correction (SymSpell).

After Garbe (2012): delete up to two letters from the beginning of every dictionary word and of
the misspelt one; where results meet, the words may be near. Only the first seven letters are
looked at, so the index stays small and far candidates remain, which the caller must compare.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ragstone.language.letters import Rows, lengths, rows

PREFIX = 7
DELETES = 2
LONGER = 3
"""A candidate's length may differ by so many letters."""

_PRIME = np.uint32(0x01000193)

Ids = NDArray[np.uint32]


class DeleteIndex:
    """Finds rows of a matrix of words. 18 MB and 0.3 s for 83,000 words."""

    def __init__(self, matrix: Rows) -> None:
        self._lengths = lengths(matrix)
        prefix = np.ascontiguousarray(matrix[:, :PREFIX].T)
        ids = np.arange(len(matrix), dtype=np.uint32)
        hashes, owners = [_hash(prefix)], [ids]
        for gone in _deletes(PREFIX):
            long_enough = self._lengths > gone[-1]
            kept = [letter for letter in range(PREFIX) if letter not in gone]
            hashes.append(_hash(prefix[kept][:, long_enough]))
            owners.append(ids[long_enough])
        # One number of hash and owner sorts several times faster than an order of the hashes.
        pairs = np.concatenate(hashes).astype(np.uint64) << np.uint64(32)
        pairs |= np.concatenate(owners)
        pairs.sort()
        self._hashes = (pairs >> np.uint64(32)).astype(np.uint32)
        self._owners = pairs.astype(np.uint32)

    def near(self, word: str) -> Ids:
        """The rows that may be within two edits of `word`, in order; some are not."""
        start = word[:PREFIX]
        shorter = {start} | {
            "".join(letter for place, letter in enumerate(start) if place not in gone)
            for gone in _deletes(len(start))
        }
        wanted = _hash(np.ascontiguousarray(rows(sorted(shorter))[:, :PREFIX].T))
        first = np.searchsorted(self._hashes, wanted, "left")
        last = np.searchsorted(self._hashes, wanted, "right")
        parts = [self._owners[a:b] for a, b in zip(first, last, strict=True) if b > a]
        if not parts:
            return np.zeros(0, np.uint32)
        found = np.unique(np.concatenate(parts))
        return found[np.abs(self._lengths[found] - len(word)) <= LONGER]


def _deletes(length: int) -> list[tuple[int, ...]]:
    """Which places to delete from so many letters."""
    return [gone for n in range(1, DELETES + 1) for gone in combinations(range(length), n)]


def _hash(columns: Rows) -> NDArray[np.uint32]:
    """A hash of each word, given letter by letter: zeros do not count (FNV-1a)."""
    value = np.full(columns.shape[1], 0x811C9DC5, np.uint32)
    for column in columns:
        np.copyto(value, (value ^ column) * _PRIME, where=column > 0)
    return value
