"""One search as a request to a Qdrant server, and its answer as a ranked list."""

import math

from qdrant_client import models

from ragstone.core.errors import IndexUnavailable
from ragstone.core.turn import RankedList, Scored
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.shard import BM25, DENSE
from ragstone.index.qdrant.schema import sparse
from ragstone.ports import Search


def request(
    search: Search, bm25: Bm25Encoder, condition: models.Filter, limit: int, exact: bool
) -> models.QueryRequest | None:
    """The request for `search`, None for a text without any word to look for."""
    if search.vector is None:
        words = sparse(bm25.query(search.text))
        if not words.indices:
            return None
        return models.QueryRequest(
            query=words, using=BM25, filter=condition, limit=limit, with_payload=False
        )
    quantization = models.QuantizationSearchParams(ignore=exact, rescore=True)
    return models.QueryRequest(
        query=search.vector.tolist(),
        using=DENSE,
        filter=condition,
        limit=limit,
        with_payload=False,
        params=models.SearchParams(exact=exact, quantization=quantization),
    )


def ranked(search: Search, found: list[models.ScoredPoint]) -> RankedList:
    """The list that answers `search`; raises IndexUnavailable for a score that is no number."""
    if not all(math.isfinite(point.score) for point in found):
        raise IndexUnavailable("The Qdrant server returned a score that is no number.")
    scored = tuple(Scored(str(point.id), point.score) for point in found)
    return RankedList("bm25" if search.vector is None else "dense", search.text, scored)
