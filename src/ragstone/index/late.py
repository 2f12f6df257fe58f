"""Late interaction in an index: which chunks to compare token by token, and comparing them.

A chunk's token vectors are summed up in one vector whose inner product with that of a question is
about the MaxSim of the two, so that any index of vectors finds candidates for it under its filter:
the fixed dimensional encodings of Dhulipala et al., "MUVERA" (2024). The candidates' own token
vectors then decide. An index of every token's vector takes several times the space, and a scan of
it grows with the collection (`docs/retrieval.md`).

Random hyperplanes cut the space of a token vector into regions. In each a question has the sum of
its vectors, a chunk the mean of its own or, where it has none, that of the nearest region; random
projections make these shorter. All of it follows from `SEED`: nothing is fitted or kept. What the
other searches of a question find is compared too.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import shake_256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import InputError
from ragstone.core.records import Collection
from ragstone.core.turn import RankedList, Scored
from ragstone.language.late_interaction import Floats, LateQuery, unpack_deviations, unpack_tokens
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
                "INGEST__TOKEN_VECTORS=search and run 'ragstone rebuild'."
            )


REPETITIONS, PLANES, PROJECTED = 16, 3, 16
"""Times that the space is cut anew, by how many planes, and the numbers of a region: together
DIMENSIONS."""

DIMENSIONS = REPETITIONS * 2**PLANES * PROJECTED

SEED = b"ragstone late interaction"

CANDIDATES_PER_CHUNK, MIN_CANDIDATES = 2, 100
"""Candidates for one chunk that is wanted, and how many there are at least."""


class HoldsTokens(Protocol):
    """The part of an index that gives packed token vectors."""

    async def tokens(self, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]: ...


def candidate_count(search: Search, limit: int) -> int:
    """Tell how many chunks to look for where the best `limit` are wanted."""
    return limit if search.late is None else max(CANDIDATES_PER_CHUNK * limit, MIN_CANDIDATES)


async def rerank_late(
    index: HoldsTokens,
    collection: Collection,
    searches: Sequence[Search],
    lists: Sequence[RankedList],
    limit: int,
) -> list[RankedList]:
    """Return the lists of one call with those of late interaction, which hold candidates so far,
    ordered by MaxSim. What the other searches of the call found is compared too: it lies inside the
    same filter, and its token vectors are all that it costs."""
    asked = [search.late for search in searches]
    if not any(asked):
        return list(lists)
    ids = list(dict.fromkeys(item.chunk_id for ranked in lists for item in ranked.found))
    held = await index.tokens(collection, ids)
    return [
        ranked
        if late is None
        else await asyncio.to_thread(rank_by_maxsim, late, ranked.query, held, limit)
        for late, ranked in zip(asked, lists, strict=True)
    ]


def chunk_encodings(collection: Collection, packed: Sequence[bytes] | None) -> Floats | None:
    """Return the vectors (n, DIMENSIONS) of unit length by which chunks are found, of their packed
    token vectors; None where there are none or the collection is not searched by them.

    Raises InputError for token vectors of another length than the collection's.
    """
    if packed is None or not collection.late:
        return None
    try:
        rows = [_chunk_encoding(unpack_deviations(item, collection.late)) for item in packed]
    except ValueError as error:
        raise InputError(
            f"Collection {collection.name!r} holds token vectors of {collection.late} numbers, but "
            "others were given. Use the model that it was indexed with."
        ) from error
    return np.array(rows, np.float32).reshape(-1, DIMENSIONS)


def question_encoding(query: LateQuery) -> Floats:
    """Return the vector (DIMENSIONS,) of unit length that is compared with those of chunks."""
    parts = _cuts(len(query.scale))
    said = query.vectors * query.scale * query.weights[:, None]
    found = np.zeros((REPETITIONS, 2**PLANES, PROJECTED), np.float32)
    for place, (planes, projection) in enumerate(parts):
        np.add.at(found[place], _regions(query.vectors / query.scale, planes), said @ projection)
    return _unit(found)


def rank_by_maxsim(
    query: LateQuery, text: str, held: Mapping[str, bytes], limit: int
) -> RankedList:
    """The best `limit` of the candidates by MaxSim, whose packed token vectors are `held`."""
    lengths, rows = [], []
    for packed in held.values():
        vectors = unpack_tokens(packed, query.scale).vectors
        lengths.append(len(vectors))
        rows.append(vectors)
    if not sum(lengths):
        return RankedList("late", text, ())
    # One product for all candidates, then the maximum within each: MaxSim without a loop.
    similar = (query.vectors * query.weights[:, None]) @ np.concatenate(rows).T
    starts = np.cumsum([0, *lengths[:-1]])
    filled = np.flatnonzero(lengths)
    best = np.maximum.reduceat(similar, starts[filled], axis=1).sum(axis=0)
    ids = [id for id, length in zip(held, lengths, strict=True) if length]
    # By id where scores are equal, so that every index gives the same order.
    order = sorted(zip(ids, best.tolist(), strict=True), key=lambda item: (-item[1], item[0]))
    return RankedList("late", text, tuple(Scored(*item) for item in order[:limit]))


def _chunk_encoding(vectors: Floats) -> Floats:
    """Of token vectors in usual deviations (m, dimensions); a chunk without any is found by
    nothing."""
    found = np.zeros((REPETITIONS, 2**PLANES, PROJECTED), np.float32)
    if len(vectors):
        for place, (planes, projection) in enumerate(_cuts(vectors.shape[1])):
            regions = _regions(vectors, planes)
            counts = np.bincount(regions, minlength=2**PLANES)
            np.add.at(found[place], regions, vectors @ projection)
            filled = counts > 0
            # The mean, so that a long chunk is not near to everything.
            found[place, filled] /= counts[filled, None]
            nearest = _NEAR[np.ix_(~filled, regions)].argmin(axis=1)
            found[place, ~filled] = vectors[nearest] @ projection
    return _unit(found)


def _regions(vectors: Floats, planes: Floats) -> NDArray[np.int64]:
    """Return the number of the region of each vector."""
    found: NDArray[np.int64] = (vectors @ planes > 0) @ (1 << np.arange(PLANES))
    return found


def _unit(found: Floats) -> Floats:
    flat = found.ravel()
    length = float(np.linalg.norm(flat))
    if not length:  # No index takes a vector without a direction; this one is like any other.
        return np.full(DIMENSIONS, DIMENSIONS**-0.5, np.float32)
    unit: Floats = flat / np.float32(length)
    return unit


@lru_cache(maxsize=8)
def _cuts(dimensions: int) -> list[tuple[Floats, Floats]]:
    """Return the planes (dimensions, PLANES) and the projection (dimensions, PROJECTED) of each
    repetition."""
    each = PLANES + PROJECTED
    count = REPETITIONS * dimensions * each
    # NumPy's own random numbers may be others in another version.
    bits = np.frombuffer(shake_256(SEED).digest(-(-count // 8)), np.uint8)
    signs = np.unpackbits(bits)[:count].astype(np.float32).reshape(REPETITIONS, dimensions, each)
    signs = 2 * signs - 1
    return [(sign[:, :PLANES], sign[:, PLANES:] / np.float32(PROJECTED**0.5)) for sign in signs]


def _count_differing_planes() -> NDArray[np.int64]:
    """By how many planes each two regions are apart (regions, regions)."""
    numbers = np.arange(2**PLANES)
    both = numbers[:, None] ^ numbers[None, :]
    return np.array([[int(item).bit_count() for item in row] for row in both])


_NEAR = _count_differing_planes()
