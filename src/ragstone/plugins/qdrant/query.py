"""One search as a request to a Qdrant server, and its answer as a ranked list.

Translates the filter AST into the JSON filters of a Qdrant server.
"""

import math
import sys

from qdrant_client import models

from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import (
    METADATA,
    NUMBERS,
    And,
    AnyOf,
    Filter,
    Not,
    Or,
    Range,
    Scalar,
    numbers,
    token,
    validate,
)
from ragstone.core.turn import RankedList, Scored
from ragstone.index.bm25 import Bm25Encoder
from ragstone.index.edge.filter import PAIRS
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


_NOTHING = models.Filter(must=[models.HasIdCondition(has_id=[])])


def translate(condition: Filter) -> models.Filter:
    """`condition` as a Qdrant filter with the same meaning; raises InvalidFilter."""
    validate(condition)
    return _translate(condition)


def missing_vector_filter(vector: str, condition: Filter) -> models.Filter:
    """Inside `condition` and without the named vector."""
    held = models.HasVectorCondition(has_vector=vector)
    return models.Filter(must=[translate(condition)], must_not=[held])


def _translate(condition: Filter) -> models.Filter:
    match condition:
        case And(parts):
            return models.Filter(must=[_translate(part) for part in parts])
        case Or(parts):
            return models.Filter(should=[_translate(p) for p in parts]) if parts else _NOTHING
        case Not(part):
            return models.Filter(must_not=[_translate(part)])
        case AnyOf(field, values):
            return _match_any(field, values) if values else _NOTHING
        case Range(field, None, None):
            empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=field))
            return models.Filter(must_not=[empty])
        case Range(field, low, high):
            return models.Filter(must=[_range_condition(field, *numbers(low, high))])


def _match_any(field: str, values: tuple[Scalar, ...]) -> models.Filter:
    if field in NUMBERS:
        numbers = [_number(value) for value in values]
        return models.Filter(should=[_range_condition(field, n, n) for n in numbers])
    if field.startswith(METADATA):
        key = field.removeprefix(METADATA)
        field, values = PAIRS, tuple(token(key, value) for value in values)
    match = models.MatchAny(any=[str(value) for value in values])
    return models.Filter(must=[models.FieldCondition(key=field, match=match)])


def _range_condition(field: str, low: float | None, high: float | None) -> models.FieldCondition:
    bounds = models.Range(
        gte=None if low is None else _number(low), lte=None if high is None else _number(high)
    )
    return models.FieldCondition(key=field, range=bounds)


def _number(value: Scalar) -> float:
    """JSON has neither infinity nor, in Qdrant, integers past a double: the nearest that it has."""
    largest = sys.float_info.max
    return float(max(-largest, min(largest, value)))
