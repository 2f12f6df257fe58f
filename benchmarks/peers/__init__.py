"""Hybrid retrieval of Ragstone and of its peers over the same vectors, in one run.

One process for each side: `ragstone_side` in Ragstone's environment, the others in `.nox/peers`,
which holds no Ragstone. All read the same chunks, questions and vectors (`exported`) and give
documents back; `compare` scores them alike.
"""

from collections.abc import Iterator

from benchmarks.row import Row


def run() -> Iterator[Row]:
    """Yield the whole comparison."""
    # The peers' environment imports this package too, and could not import this module.
    from benchmarks.peers.compare import compared

    yield from compared()
