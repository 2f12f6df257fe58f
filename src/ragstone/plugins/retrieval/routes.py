"""A retrieval service: VoiceHelper's `/api/v1/retrieval` and chat-core's knowledge base (KDB)."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BeforeValidator, Field
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.errors import InputError
from ragstone.core.filters import MAX_CONDITIONS, And, AnyOf, Filter, Range, eq, paths_filter
from ragstone.core.foreign_passages import to_kdb
from ragstone.core.source import Source, describe_pictures, hit_sources
from ragstone.core.turn import Ask, SearchOptions, Strategy
from ragstone.http.bodies import Body, Name, Text
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, for_guests, narrow_principal, open_to_all
from ragstone.http.responses import Json, json_unless_left
from ragstone.service import Service

Query = Annotated[Text, Field(min_length=1, max_length=20_000)]
Value = str | int | float | bool
Values = Annotated[list[Value], Field(max_length=MAX_CONDITIONS)]
MAX_FILTERS, LONGEST_NAME, LONGEST_VALUE = 100, 255, 4096


def _check_size(given: Any) -> Any:
    """Return the filters as given; raises ValueError for more than can be compared soon."""
    if not isinstance(given, dict):
        return given
    if len(given) > MAX_FILTERS:
        raise ValueError(f"at most {MAX_FILTERS} names")
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        if len(values) > MAX_CONDITIONS:
            raise ValueError(
                f"at most {MAX_CONDITIONS:,} values of a name; name folders, or ask in parts"
            )
        texts = [item for item in values if isinstance(item, str)]
        if len(name) > LONGEST_NAME or any(len(text) > LONGEST_VALUE for text in texts):
            raise ValueError(
                f"names have at most {LONGEST_NAME} characters, values {LONGEST_VALUE:,}"
            )
    return given


Filters = Annotated[dict[str, Value | list[Value]], BeforeValidator(_check_size)]

PARAGRAPH_TOP_K = 100

FIELDS = {"document_id": "document_id", "media_type": "media_type", "kind": "kind"}
"""What a filter may name besides `path`, `folder`, `modified_after` and `modified_before`; any
other name is a key of the documents' metadata."""


class RetrieveRequest(Body):
    """The body of POST /api/v1/retrieval/retrieve and /hybrid_search."""

    query: Query
    top_k: int = Field(10, ge=1, le=1000, description="Passages to return.")
    mode: Literal["hybrid", "vector", "dense", "bm25", "graph"] = Field("hybrid")
    tenant_id: Name | None = Field(None, description="Narrows; never widens what may be read.")
    rerank: bool = Field(
        True, strict=True, description="Whether the best candidates are compared again."
    )
    filters: Filters | None = None
    collection: Name = Field("default", description="Which documents to search.")
    cache: bool = Field(True, strict=True, description="Whether an equal query's passages will do.")

    def ask(self) -> Ask:
        """Return the search."""
        modes: dict[str, Strategy] = {
            "vector": "dense",
            "dense": "dense",
            "bm25": "bm25",
            "graph": "graph",
        }
        parts = [_condition(name, value) for name, value in (self.filters or {}).items()]
        if self.tenant_id is not None:
            parts.append(eq("tenant", self.tenant_id))
        return Ask(
            question=self.query,
            collection=self.collection,
            strategy=modes.get(self.mode),
            top_k=self.top_k,
            where=And(tuple(parts)) if parts else None,
            wanted=SearchOptions(rerank=None if self.rerank else False),
            cache=self.cache,
        )


class SearchRerankRequest(Body):
    """The body of POST /api/v1/document/search_rerank."""

    collection_name: Name
    query: Query
    use_paragraph: bool = Field(False, description="Return paragraphs instead of chunks.")
    metadata_filter_key: Name | None = None
    match_values: Values | None = None
    top_k: int = Field(PARAGRAPH_TOP_K, ge=1, le=1000, description="Passages to return.")

    def ask(self) -> Ask:
        """Return the search."""
        where: Filter | None = None
        if self.metadata_filter_key and self.match_values:
            where = AnyOf(f"metadata.{self.metadata_filter_key}", tuple(self.match_values))
        return Ask(
            question=self.query,
            collection=self.collection_name,
            top_k=self.top_k,
            where=where,
            wanted=SearchOptions(unit="paragraph" if self.use_paragraph else None),
        )


def router(parts: DialectParts) -> APIRouter:
    """The routes below /api/v1/retrieval, and the knowledge base's search."""
    service = parts.service
    routes = APIRouter(prefix="/api/v1", tags=["Retrieval"])

    @routes.post("/retrieval/retrieve", response_model=None)
    @routes.post("/retrieval/hybrid_search", response_model=None)
    @for_guests
    async def retrieve(body: RetrieveRequest, request: Request, caller: Who) -> Response:
        """The passages for a query, best first."""
        return await json_unless_left(request, _search_documents(service, _ask(body, caller)))

    @routes.get("/retrieval/health", response_model=None)
    @open_to_all
    async def health() -> Response:
        """Whether a search would work."""
        await service.ready()
        return Json({"status": "healthy", "service": "retrieval"})

    @routes.post("/document/search_rerank", response_model=None)
    @for_guests
    async def search_rerank(body: SearchRerankRequest, request: Request, caller: Who) -> Response:
        """The paragraphs or chunks for a query, as chat-core's retriever reads them."""
        return await json_unless_left(request, _paragraphs(service, _ask(body, caller)))

    return routes


def _ask(body: RetrieveRequest | SearchRerankRequest, caller: Caller) -> Ask:
    """Return the search, for the caller."""
    ask = replace(body.ask(), principal=caller.principal)
    narrow_principal(caller, ask.collection)
    return ask


async def _search_documents(service: Service, ask: Ask) -> dict[str, Any]:
    found = await service.search(ask)
    documents = [_document(source) for source in hit_sources(found.hits)]
    answer = {"documents": documents, "query": ask.question, "total": len(documents)}
    return {**answer, "corrected_query": found.corrected} if found.corrected else answer


async def _paragraphs(service: Service, ask: Ask) -> list[dict[str, Any]]:
    found = await service.search(ask)
    return [to_kdb(source) for source in hit_sources(found.hits)]


def _document(source: Source) -> dict[str, Any]:
    return {
        "chunk_id": source.chunk_id,
        "document_id": source.document_id,
        "content": source.text,
        "score": source.score,
        "metadata": {
            **source.metadata,
            "title": source.title,
            "filename": source.filename,
            "path": source.path,
            "page": source.page,
            "section": list(source.section),
            "similarity": source.similarity,
            "rerank_score": source.rerank,
        },
        **describe_pictures(source),
    }


def _condition(name: str, value: Value | list[Value]) -> Filter:
    values = tuple(value) if isinstance(value, list) else (value,)
    if name in ("path", "folder"):
        return paths_filter(str(item) for item in values)
    if name == "modified_after":
        return Range("modified", min(_seconds(name, item) for item in values), None)
    if name == "modified_before":
        return Range("modified", None, max(_seconds(name, item) for item in values))
    return AnyOf(FIELDS.get(name, f"metadata.{name}"), values)


def _seconds(name: str, value: Value) -> float:
    """A time as seconds since 1970, from that or from ISO 8601 (UTC unless it says otherwise)."""
    if isinstance(value, int | float):
        return float(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise InputError(
            f"filters.{name} is not a time: write it like 2026-01-31 or as seconds since 1970."
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
