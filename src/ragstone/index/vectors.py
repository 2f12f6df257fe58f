"""What every index asks of vectors before it writes or searches."""

from collections.abc import Sequence

import numpy as np

from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.ports import Search, Vectors


def check_vectors(collection: Collection, vectors: Vectors) -> None:
    """Raise InputError unless the collection can hold `vectors` (n, dimensions)."""
    width = vectors.shape[-1]
    if width != collection.dimensions:
        raise InputError(
            f"Collection {collection.name!r} holds vectors of {collection.dimensions} numbers, "
            f"but one of {width} was given. Use the model that it was indexed with."
        )
    if not np.isfinite(vectors).all():
        raise InputError("A vector holds a value that is not a number. Check the embedding model.")
    if not vectors.any(axis=-1).all():
        raise InputError("A vector holds only zeros, so it has no direction. Check the model.")


def check_searches(collection: Collection, searches: Sequence[Search]) -> None:
    """Raise InputError for a search by vectors that the collection cannot hold."""
    for search in searches:
        if search.vector is not None:
            check_vectors(collection, search.vector)
        if search.late is not None and search.late.vectors.shape[-1] != (collection.late or None):
            raise InputError(
                f"Collection {collection.name!r} cannot be searched by these token vectors. Set "
                "INGEST__LATE_INTERACTION and run 'ragstone rebuild'."
            )
