"""Qdrant's JSON requests as the engine's own objects; what is not known here is refused."""

from typing import Any

import qdrant_edge as edge

CLAUSES = {"must", "should", "must_not"}


class BadRequest(Exception):
    """The request holds what the server does not know."""


def check_keys(body: dict[str, Any], known: set[str]) -> None:
    """Raise BadRequest for a field that the server does not know."""
    if unknown := set(body) - known:
        raise BadRequest(f"unknown field {sorted(unknown)[0]}")


def filter_of(body: dict[str, Any]) -> edge.Filter:
    check_keys(body, CLAUSES)
    return edge.Filter(**{clause: [_condition(c) for c in body[clause]] for clause in body})


def _condition(body: dict[str, Any]) -> Any:
    match body:
        case {"is_empty": {"key": str(key)}}:
            return edge.IsEmptyCondition(key)
        case {"has_id": list(ids)}:
            return edge.HasIdCondition(set(ids))
        case {"has_vector": str(name)}:
            return edge.HasVectorCondition(name)
        case {"key": str(key), "match": {"any": list(values)}}:
            return edge.FieldCondition(key, match=edge.MatchAny(values))
        case {"key": str(key), "range": bounds}:
            check_keys(bounds, {"gte", "lte"})
            return edge.FieldCondition(key, range=edge.RangeFloat(**bounds))
    return filter_of(body)


def vector_of(body: Any) -> Any:
    if isinstance(body, list):
        return body
    check_keys(body, {"indices", "values"})
    return edge.SparseVector(body["indices"], body["values"])


def query_of(body: dict[str, Any]) -> edge.QueryRequest:
    check_keys(body, {"query", "using", "filter", "limit", "params", "with_payload"})
    query = body["query"]
    nearest = query["nearest"] if isinstance(query, dict) and "nearest" in query else query
    params = body.get("params", {})
    check_keys(params, {"exact", "quantization", "hnsw_ef", "idf"})
    corpus = params["idf"]["corpus"] if "idf" in params else None
    return edge.QueryRequest(
        body["limit"],
        query=edge.Query.Nearest(vector_of(nearest), using=body["using"]),
        filter=filter_of(body["filter"]),
        with_payload=body["with_payload"],
        params=edge.SearchParams(
            hnsw_ef=params.get("hnsw_ef"),
            exact=params.get("exact", False),
            quantization=edge.QuantizationSearchParams(**params.get("quantization", {})),
            idf=None if corpus is None else edge.IdfParams(filter_of(corpus)),
        ),
    )


def change_of(body: dict[str, Any]) -> edge.UpdateOperation:
    """One change of a batch."""
    match body:
        case {"update_vectors": {"points": list(points)}}:
            pairs = [edge.PointVectors(p["id"], p["vector"]) for p in points]
            return edge.UpdateOperation.update_vectors(pairs)
        case {"set_payload": {"payload": dict(payload), "points": list(ids)}}:
            return edge.UpdateOperation.set_payload(ids, payload)
    raise BadRequest("unknown operation")


def payload_of(body: Any) -> Any:
    """Which payload fields are asked for."""
    if isinstance(body, dict):
        check_keys(body, {"exclude"})
        return edge.PayloadSelector.Exclude(body["exclude"])
    return body


def record_json(record: edge.Record) -> dict[str, Any]:
    named = record.vector if isinstance(record.vector, dict) else {}
    return {"id": str(record.id), "payload": record.payload, "vector": named}


def scored_json(point: edge.ScoredPoint) -> dict[str, Any]:
    return {"id": str(point.id), "version": 0, "score": point.score, "payload": point.payload}
