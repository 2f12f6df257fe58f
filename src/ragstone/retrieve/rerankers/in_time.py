"""Scores the best candidates first, and stops when the time for it is up."""

import time
from collections.abc import Awaitable, Callable, Iterable

import numpy as np

from ragstone.ports import Vectors

BATCH = 10
"""Candidates that are scored at a time."""

MAX_SECONDS = 15.0
"""Seconds after which no other batch is begun: on two busy cores 50 passages took over 30."""


async def score_in_time(
    count: int, score: Callable[[slice], Awaitable[Iterable[float]]]
) -> tuple[Vectors, int]:
    """Score `count` candidates in batches, the best first, as long as there is time.

    Returns:
        The scores, and how many candidates were reached. What was not reached is NaN, as is what
        `score` says cannot be read; a reranked hit without a score keeps its place.
    """
    scores = np.full(count, np.nan, np.float32)
    until = time.monotonic() + MAX_SECONDS
    done = 0
    while done < count and (not done or time.monotonic() < until):
        batch = slice(done, min(done + BATCH, count))
        scores[batch] = list(await score(batch))
        done = batch.stop
    return scores, done
