"""One Elasticsearch index for one collection: its name, its mapping, and chunks as documents.

The field names are those of the Plone index where it has the field. Words are tokens made in this
process (`bm25.counter`) in a field that only splits at spaces, so that every collection, of
whatever scripts, is searched by the same words as in the other indexes.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import qdrant_edge as edge

from ragstone.core.chunk import Chunk
from ragstone.core.filters import KEYWORDS, tokens
from ragstone.core.records import Collection
from ragstone.index.bm25 import numbers
from ragstone.index.late import DIMENSIONS
from ragstone.plugins.elasticsearch.filter import PAIRS, RENAMED, keyword
from ragstone.plugins.elasticsearch.options import ElasticsearchOptions

EMBEDDING = "embedding"
PORTAL_TYPE = "portal_type"
"""The type of an object of a Plone site, which is metadata elsewhere."""

TERMS = "chunk_terms"
NUMBERS = "chunk_numbers"
"""Apart from the words, whose field's length they would add to (see `bm25`)."""

TOKENS = "token_vectors"
LATE = "late_vector"
"""The vector by which late interaction finds candidates (`index.late`)."""

LONG = "long_values"
"""JSON of what the mapping has no field for, such as keywords that are too long for Lucene."""

ALL_INDICES = "ragstone-*-rag-chunks"
DEFAULT_TENANT = "default"
NAME_CHARACTERS = 40

_HELD = {new: old for old, new in RENAMED.items()}
COUNTED = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
_UNSEARCHED = {"type": "text", "index": False}


def index_name(collection: Collection) -> str:
    """The name of the collection's index: its id for a person, and a hash that makes it unique.

    The prefix keeps clear of `logs-*-*` and other patterns that Elasticsearch has templates for.
    """
    identity = json.dumps([collection.tenant, collection.id, collection.build])
    digest = sha256(identity.encode()).hexdigest()[:32]
    parts = ("ragstone", _readable(collection.id), digest, "rag-chunks")
    return "-".join(part for part in parts if part)


def alias_name(collection: Collection) -> str:
    """Return the name by which other programs find the index: the collection's, as it was called
    when the index was made, with its tenant before it unless that is the default. Empty where these
    are no names of an index as they stand: two tenants never share one."""
    owner = [] if collection.tenant == DEFAULT_TENANT else [collection.tenant]
    names = [*owner, collection.name]
    legal = all(name == _readable(name) != "" for name in names)
    return f"{'--'.join(names)}-rag-chunks" if legal else ""


def _readable(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:NAME_CHARACTERS].strip("-")


def mapping(collection: Collection, options: ElasticsearchOptions) -> dict[str, Any]:
    """Return the index's mapping. Ragstone does not search the texts: other programs may, by their
    own words."""
    keywords = [*KEYWORDS, PAIRS, PORTAL_TYPE, "chunk_id"]
    properties: dict[str, Any] = {RENAMED.get(f, f): {"type": "keyword"} for f in keywords}
    for field in ("chunk_index", "page", "version"):
        properties[field] = {"type": "integer"}
    for field in ("parent_title", "chunk_text"):
        properties[field] = {"type": "text"}
    for field in ("section", "metadata", LONG):
        properties[field] = _UNSEARCHED
    for field in ("start", "end"):
        properties[field] = {"type": "long", "index": False, "doc_values": False}
    properties["modified"] = {"type": "double"}
    properties[TERMS] = properties[NUMBERS] = COUNTED
    properties[TOKENS] = {"type": "binary"}
    properties[EMBEDDING] = options.vector(collection.dimensions)
    if collection.late:
        properties[LATE] = options.vector(DIMENSIONS)
    return {"dynamic": "strict", "properties": properties}


def document(
    chunk: Chunk,
    row: list[float] | None,
    packed: bytes | None,
    late: list[float] | None,
    words: edge.Bm25,
) -> dict[str, Any]:
    """`chunk` as Elasticsearch stores it, with its vectors and token vectors where it has them."""
    payload = chunk.payload()
    long = {f: payload[f] for f in KEYWORDS if _shorten_keywords(payload[f]) != payload[f]}
    payload |= {field: _shorten_keywords(payload[field]) for field in long}
    for field in ("layout", "subject"):
        if value := payload.pop(field):
            long[field] = value
    payload["metadata"] = json.dumps(payload["metadata"])
    payload[PAIRS] = [keyword(pair) for pair in tokens(chunk.metadata)]
    if PORTAL_TYPE in chunk.metadata:
        payload[PORTAL_TYPE] = keyword(str(chunk.metadata[PORTAL_TYPE]))
    payload["modified"] += 0.0
    payload[TERMS] = _terms(_occurrences(chunk.searchable, words))
    payload[NUMBERS] = _terms(numbers(chunk.searchable))
    if long:
        payload[LONG] = json.dumps(long)
    if row is not None:
        payload[EMBEDDING] = row
    if packed is not None:
        payload[TOKENS] = base64.b64encode(packed).decode()
    if late is not None:
        payload[LATE] = late
    return {RENAMED.get(f, f): value for f, value in payload.items() if value is not None}


def read_chunk(source: Mapping[str, Any]) -> Chunk:
    """Return the inverse of `document`."""
    payload = {_HELD.get(field, field): value for field, value in source.items()}
    payload |= json.loads(payload.get(LONG, "{}"))
    payload["metadata"] = json.loads(payload["metadata"])
    return Chunk.from_payload(payload)


def query_terms(text: str, words: edge.Bm25, limit: int) -> dict[str, str]:
    """Return the different words and numbers of `text`, by the field that holds them; of a longer
    text those it begins with are taken, at most `limit`."""
    while True:
        found = {TERMS: words.embed_query(text).indices, NUMBERS: list(numbers(text))}
        count = sum(len(terms) for terms in found.values())
        if count <= limit:
            return {f: _terms(dict.fromkeys(some, 1)) for f, some in found.items() if some}
        text = text[: len(text) * limit // count]


def bulk(operations: Iterable[tuple[Any, Any]], most: int, most_bytes: int) -> list[bytes]:
    """Bodies of bulk requests: the line of each operation and its document's, of at most so many
    in one, and so many bytes unless it is one alone."""
    bodies, held = [bytearray()], 0
    for operation in operations:
        lines = ndjson(operation)
        if held == most or (held and len(bodies[-1]) + len(lines) > most_bytes):
            bodies.append(bytearray())
            held = 0
        bodies[-1] += lines
        held += 1
    return [bytes(body) for body in bodies]


def ndjson(lines: Sequence[Any]) -> bytes:
    """Return each of `lines` as one line of JSON."""
    return b"".join(encode_json(line) + b"\n" for line in lines)


def encode_json(value: Any) -> bytes:
    """`value` as JSON; half a surrogate pair, which is not a character, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _shorten_keywords(value: str | list[str]) -> str | list[str]:
    return keyword(value) if isinstance(value, str) else [keyword(item) for item in value]


def _occurrences(text: str, words: edge.Bm25) -> dict[int, int]:
    found = words.embed_document(text)
    return {i: round(count) for i, count in zip(found.indices, found.values, strict=True)}


def _terms(counts: Mapping[int, int]) -> str:
    return " ".join(term for i, count in counts.items() for term in [format(i, "x")] * count)
