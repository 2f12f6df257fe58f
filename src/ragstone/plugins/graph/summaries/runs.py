"""Cuts a row of vectors into runs of neighbours that are alike.

The clusters of RAPTOR (Sarthi et al. 2024) may lie anywhere in a document. Ours are stretches of
it: a summary then is of one part of the text and stands in its place among the others, and
neighbours are about the same most of the time. The cut is the best there is, by dynamic programming
over all cuts into that many runs (Fisher 1958).
"""

import numpy as np
from numpy.typing import NDArray

MIN_RUN, MAX_RUN = 3, 8
"""Vectors of a run; a row of up to `MAX_RUN` is one."""

MEAN = 6
"""Vectors of a run on average."""


def runs(vectors: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Begin and end of each run of a row of vectors of shape (n, dimensions): the cut with the
    least sum of squared distances to the means of the runs, the same for the same vectors."""
    n = len(vectors)
    if n <= MAX_RUN:
        return [(0, n)]
    count = min(max(round(n / MEAN), -(-n // MAX_RUN)), n // MIN_RUN)
    lengths = np.arange(MIN_RUN, MAX_RUN + 1)
    costs = _costs(vectors.astype(np.float64), lengths)
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    chosen = np.zeros((count, n + 1), np.int8)
    for run in range(count):
        options = costs.copy()
        for row, length in enumerate(lengths):
            options[row, length:] += best[: n + 1 - length]
        picked = options.argmin(axis=0)
        best = options[picked, np.arange(n + 1)]
        chosen[run] = lengths[picked]
    found, end = list[tuple[int, int]](), n
    for run in reversed(range(count)):
        begin = end - int(chosen[run, end])
        found.append((begin, end))
        end = begin
    return found[::-1]


def _costs(vectors: NDArray[np.float64], lengths: NDArray[np.int_]) -> NDArray[np.float64]:
    """For each length and end of a run, the sum of squared distances to its mean; infinite where
    there is no such run."""
    n = len(vectors)
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), vectors.cumsum(axis=0)])
    squares = np.concatenate([[0.0], (vectors**2).sum(axis=1).cumsum()])
    costs = np.full((len(lengths), n + 1), np.inf)
    for row, length in enumerate(lengths):
        inside = ((sums[length:] - sums[:-length]) ** 2).sum(axis=1) / length
        costs[row, length:] = np.maximum(squares[length:] - squares[:-length] - inside, 0.0)
    return costs


def means(vectors: NDArray[np.float32], found: list[tuple[int, int]]) -> NDArray[np.float32]:
    """The direction of each run's mean, of length 1."""
    sums = np.stack([vectors[begin:end].sum(axis=0) for begin, end in found])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    directions: NDArray[np.float32] = (sums / np.where(lengths, lengths, 1.0)).astype(np.float32)
    return directions
