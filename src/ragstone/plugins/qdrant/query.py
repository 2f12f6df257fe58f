"""One search as a request to a Qdrant server, and its answer as a ranked list."""

import math

from qdrant_client import models

from ragstone.core.errors import IndexUnavailable
from ragstone.core.turn import RankedList, Scored
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.shard import BM25, DENSE, LATE
from ragstone.index.late import candidate_count, question_encoding
from ragstone.plugins.qdrant.schema import QdrantPlace, sparse
from ragstone.ports import Search


def request(
    search: Search,
    bm25: Bm25Encoder,
    condition: models.Filter,
    limit: int,
    params: models.SearchParams,
    place: QdrantPlace,
) -> models.QueryRequest | None:
    """Return the request for `search`, None for a text without any word to look for; `params` say
    how vectors are searched."""
    condition = place.only(condition)
    if search.late is not None:
        vector, using = question_encoding(search.late), LATE
    elif search.vector is not None:
        vector, using = search.vector, DENSE
    else:
        words = sparse(bm25.query(search.text))
        if not words.indices:
            return None
        rarity = place.rarity()
        return models.QueryRequest(
            query=words,
            using=BM25,
            filter=condition,
            limit=limit,
            with_payload=place.payload_fields,
            params=models.SearchParams(idf=rarity) if rarity else None,
        )
    limit = candidate_count(search, limit)
    return models.QueryRequest(
        query=vector.tolist(),
        using=using,
        filter=condition,
        limit=limit,
        with_payload=place.payload_fields,
        params=params,
    )


def read_ranking(search: Search, found: list[models.ScoredPoint], place: QdrantPlace) -> RankedList:
    """The list that answers `search`; raises IndexUnavailable for a score that is not a number."""
    if not all(math.isfinite(point.score) for point in found):
        raise IndexUnavailable("The Qdrant server returned a score that is not a number.")
    scored = tuple(Scored(place.chunk_id(point), point.score) for point in found)
    return RankedList(search.source, search.text, scored)
