"""Search requests to Elasticsearch, and what its answers say.

Readers raise KeyError, TypeError or ValueError for a malformed answer.
"""

import base64
from typing import Any

import numpy as np
import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.errors import IndexUnavailable
from ragstone.core.turn import RankedList, Scored
from ragstone.index.late import candidate_count, question_encoding
from ragstone.plugins.elasticsearch.filter import NOTHING, Query
from ragstone.plugins.elasticsearch.http import INDEX_MISSING, ElasticsearchRefusal, refusal
from ragstone.plugins.elasticsearch.mapping import EMBEDDING, LATE, TOKENS, query_terms, read_chunk
from ragstone.plugins.elasticsearch.options import MAX_HITS, ElasticsearchOptions
from ragstone.ports import Search, Vectors

VALUE = "value"
"""What a value is called in a page of values."""

MAX_TERMS = 1_000
"""Words of one query; Elasticsearch takes at least 1,024 clauses however small it is."""

COSINE = "Math.max(0.0, cosineSimilarity(params.query_vector, '{}') + 1.0)"
"""A score must not be negative, which rounding makes it for a vector and its opposite."""

HAS_VECTOR: Query = {"exists": {"field": EMBEDDING}}


def search_request(
    search: Search,
    condition: Query,
    limit: int,
    words: edge.Bm25,
    options: ElasticsearchOptions | None,
) -> Query:
    """Return the body that finds what `search` asks for under `condition`; without `options`
    vectors are compared one by one."""
    limit = min(candidate_count(search, limit), MAX_HITS)
    body = {"size": limit, "_source": False, "track_total_hits": False}
    if search.late is not None:
        field, vector = LATE, question_encoding(search.late).tolist()
    elif search.vector is not None:
        field, vector = EMBEDDING, search.vector.tolist()
    else:
        return {**body, "query": _by_words(query_terms(search.text, words, MAX_TERMS), condition)}
    if options is None:
        return {**body, "query": _by_every_vector(field, vector, condition)}
    nearest = {"field": field, "query_vector": vector, **options.knn(limit)}
    return {**body, "knn": {**nearest, "filter": condition}}


def _by_words(terms: dict[str, str], condition: Query) -> Query:
    if not terms:
        return NOTHING
    any_of = [{"match": {field: some}} for field, some in terms.items()]
    return {"bool": {"should": any_of, "minimum_should_match": 1, "filter": [condition]}}


def _by_every_vector(field: str, vector: list[float], condition: Query) -> Query:
    script = {"source": COSINE.format(field), "params": {"query_vector": vector}}
    held = {"bool": {"filter": [condition, {"exists": {"field": field}}]}}
    return {"script_score": {"query": held, "script": script}}


def read_ranking(search: Search, answer: Any, exact: bool) -> RankedList:
    """The list that one search's part of the answer holds, with scores as the port has them."""
    found = [(str(hit["_id"]), float(hit["_score"])) for hit in hits(answer)]
    if search.source == "bm25":
        return RankedList("bm25", search.text, tuple(Scored(i, score) for i, score in found))
    factor = 1 if exact else 2
    scored = tuple(Scored(i, factor * score - 1) for i, score in found)
    return RankedList(search.source, search.text, scored)


def hits(answer: Any) -> list[Any]:
    """Return the hits of a search that is complete; none if its index is missing."""
    if "error" in answer:
        error = refusal(int(answer["status"]), answer)
        if isinstance(error, ElasticsearchRefusal) and error.kind == INDEX_MISSING:
            return []
        raise error
    if answer["timed_out"] or answer["_shards"]["failed"]:
        raise _incomplete()
    return list(answer["hits"]["hits"])


def chunks(answer: Any) -> list[Chunk]:
    """Return the chunks that a search found."""
    return [read_chunk(hit["_source"]) for hit in hits(answer)]


def vectors(answer: Any) -> dict[str, Vectors]:
    """Return the vectors that a search found, by chunk id."""
    return {str(hit["_id"]): np.array(hit["fields"][EMBEDDING], np.float32) for hit in hits(answer)}


def tokens(answer: Any) -> dict[str, bytes]:
    """Return the token vectors that a search found, by chunk id."""
    found = ((str(hit["_id"]), hit["_source"]) for hit in hits(answer))
    return {item: base64.b64decode(source[TOKENS]) for item, source in found if TOKENS in source}


def read_chunks(answer: Any) -> dict[str, Chunk]:
    """Return the chunks that `_mget` found."""
    found = {}
    for entry in answer["docs"]:
        if "error" in entry:
            error = refusal(404, entry)
            if not (isinstance(error, ElasticsearchRefusal) and error.kind == INDEX_MISSING):
                raise error
        elif entry["found"]:
            found[str(entry["_id"])] = read_chunk(entry["_source"])
    return found


def check_written(answer: Any) -> None:
    """Raise what `_bulk` says went wrong, save updates of documents that are gone."""
    for item in answer["items"] if answer["errors"] else ():
        [(operation, result)] = item.items()
        gone = operation == "update" and result["status"] == 404
        if result["status"] >= 300 and not gone:
            raise refusal(result["status"], result)


def all_deleted(answer: Any) -> bool:
    """Whether `_delete_by_query`, for at most `MAX_HITS`, left nothing that it should delete."""
    if answer["failures"] or answer["timed_out"]:
        raise _incomplete()
    return bool(answer["total"] < MAX_HITS and not answer["version_conflicts"])


def read_count(answer: Any) -> int:
    if answer["_shards"]["failed"]:
        raise _incomplete()
    return int(answer["count"])


def most_frequent(answer: Any) -> tuple[dict[str, int], bool, bool]:
    """Tell how many documents each of the most frequent values has, whether that is exact, and
    whether there are no others. A shard tells its own most frequent ones, so of several shards the
    sums may be too small; the answer says by how much."""
    hits(answer)
    values = answer["aggregations"]["values"]
    found = {str(bucket["key"]): int(bucket["doc_count"]) for bucket in values["buckets"]}
    return found, not values["doc_count_error_upper_bound"], not values["sum_other_doc_count"]


def value_page(answer: Any) -> tuple[dict[str, int], str | None]:
    """How many documents each of some values has, and the last of them if there may be more."""
    hits(answer)
    page = answer["aggregations"]["values"]
    found = {str(bucket["key"][VALUE]): int(bucket["doc_count"]) for bucket in page["buckets"]}
    after = page.get("after_key")
    return found, str(after[VALUE]) if found and after else None


def check_refreshed(answer: Any) -> None:
    """Raise IndexUnavailable unless every shard that answers shows what was written to it."""
    if answer["_shards"]["failed"]:
        raise _incomplete()


def version(answer: Any) -> tuple[int, int]:
    """Return the version of the server."""
    major, minor, *_ = str(answer["version"]["number"]).split(".")
    return int(major), int(minor)


def count_shards(answer: Any) -> int:
    """Into how many shards the index of an answer is cut."""
    [index] = answer.values()
    return int(index["settings"]["index"]["number_of_shards"])


def _incomplete() -> IndexUnavailable:
    return IndexUnavailable(
        "Elasticsearch answered only in part. Look at its cluster health, then try again."
    )
