"""Somebody else's retrieval service, asked instead of the local index.

`retrieval+http://HOST/api/v1/retrieval` speaks VoiceHelper's API, `kdb+http://HOST` chat-core's
knowledge base. Both are what `plugins/retrieval` serves. The service decides what the
caller may read: it is told the tenant, and nothing else of the caller. Where a knowledge base fails
the local index answers, as chat-core's document has it; where a retrieval service fails, nothing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import httpx2

from ragstone.core.errors import IndexUnavailable, InvalidFilter, RetrievalUnavailable, Unavailable
from ragstone.core.filters import METADATA, And, AnyOf, Filter, Or, Range, Scalar
from ragstone.core.foreign_passages import foreign_hit, from_kdb, keep_best
from ragstone.core.turn import Ask, Hit, Plan
from ragstone.settings import IndexSettings

NOT_THERE = 404


class _Dialect(Protocol):
    """`paths` are where it may be asked, in order; `health` says whether it is well, empty where it
    has no such address; `failure` is what is raised when it fails."""

    paths: Sequence[str]
    health: str
    failure: type[Unavailable]

    def request(self, ask: Ask, plan: Plan) -> dict[str, Any]: ...

    def hits(self, answer: Any, ask: Ask) -> list[Hit]: ...


class ExternalRetriever:
    """`ports.Retriever` over HTTP."""

    def __init__(self, settings: IndexSettings, dialect: _Dialect) -> None:
        url = settings.url.split("+", 1)[1].rstrip("/")
        key = settings.api_key.get_secret_value()
        self._url = url
        self._path = dialect.paths[0]
        self._host = httpx2.URL(url).host
        self._dialect = dialect
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=settings.timeout
        )

    async def search(self, ask: Ask, plan: Plan) -> list[Hit]:
        """Return the service's passages; none where it knows no such collection.

        Raises the dialect's failure when it cannot be reached or answers nonsense, InvalidFilter.
        """
        body = self._dialect.request(ask, plan)
        with self._handle_failure():
            response = await self._post(body)
            if response.status_code == NOT_THERE:
                return []
            response.raise_for_status()
            return keep_best(self._dialect.hits(response.json(), ask))[: plan.top_k]

    async def ready(self) -> None:
        """Raise the dialect's failure unless the service says that it is well."""
        if self._dialect.health:
            with self._handle_failure():
                (await self._client.get(self._url + self._dialect.health)).raise_for_status()

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _post(self, body: dict[str, Any]) -> httpx2.Response:
        """Return the response of the first of the dialect's addresses that is there; it is asked
        first from then on."""
        first = self._path
        response = await self._client.post(self._url + first, json=body)
        for path in self._dialect.paths:
            if response.status_code != NOT_THERE:
                break
            if path != first:
                response = await self._client.post(self._url + path, json=body)
                # A collection that is not there is a 404 at the right address, too.
                self._path = path if response.status_code != NOT_THERE else self._path
        return response

    @contextmanager
    def _handle_failure(self) -> Iterator[None]:
        """Raise what fails inside as the dialect's failure."""
        failure, who = self._dialect.failure, f"The retrieval service at {self._host}"
        try:
            yield
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise failure(f"{who} answered {status}. Check INDEX__URL.") from error
        except httpx2.HTTPError as error:
            kind = type(error).__name__
            raise failure(f"{who} cannot be reached ({kind}). Check INDEX__URL.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise failure(
                f"What {who[0].lower()}{who[1:]} answers is not a list of passages."
            ) from error


class RetrievalService:
    """VoiceHelper's retrieval API."""

    paths: Sequence[str] = ("/retrieve", "/api/v1/retrieval/retrieve")
    health = "/health"
    failure: type[Unavailable] = RetrievalUnavailable

    def request(self, ask: Ask, plan: Plan) -> dict[str, Any]:
        mode = {"dense": "vector", "bm25": "bm25"}.get(plan.strategy, "hybrid")
        return {
            "query": ask.question,
            "top_k": plan.top_k,
            "mode": mode,
            "tenant_id": ask.principal.tenant,
            "rerank": plan.rerank,
            "collection": ask.collection,
            "filters": _filter_values(ask.where) if ask.where else None,
        }

    def hits(self, answer: Any, ask: Ask) -> list[Hit]:
        rows = (
            answer.get("documents", answer.get("results")) if isinstance(answer, dict) else answer
        )
        return [
            foreign_hit(ask, i, str(row["chunk_id"]), row["content"], row["score"], row["metadata"])
            for i, row in enumerate(_rows(rows))
        ]


TIMES = ("modified_after", "modified_before")


def _filter_values(where: Filter) -> dict[str, Any]:
    """Return a filter as names with values, all of which must hold; raises InvalidFilter."""
    match where:
        case And(parts):
            named: dict[str, Any] = {}
            for part in parts:
                for name, value in _filter_values(part).items():
                    if name in named:
                        raise InvalidFilter(
                            f"The retrieval service takes one condition on {name!r} only."
                        )
                    named[name] = value
            return named
        case AnyOf(field, values):
            return {field.removeprefix(METADATA): list(values)}
        case Or((AnyOf("path", paths), AnyOf("folders", _))):
            return {"folder": list(paths)}
        case Range("modified", low, high):
            bounds = zip(TIMES, (low, high), strict=True)
            return {name: bound for name, bound in bounds if bound is not None}
    raise InvalidFilter("The retrieval service takes only conditions that all hold: write others.")


class KnowledgeBase:
    """chat-core's knowledge base."""

    paths: Sequence[str] = ("/api/v1/document/search_rerank",)
    health = ""
    failure: type[Unavailable] = IndexUnavailable

    def request(self, ask: Ask, plan: Plan) -> dict[str, Any]:
        key, values = "", list[Scalar]()
        if isinstance(ask.where, AnyOf) and ask.where.field.startswith(METADATA):
            key, values = ask.where.field.removeprefix(METADATA), list(ask.where.values)
        return {
            "collection_name": ask.collection,
            "query": ask.question,
            "use_paragraph": plan.unit == "paragraph",
            "metadata_filter_key": key,
            "match_values": values,
            "top_k": plan.top_k,
        }

    def hits(self, answer: Any, ask: Ask) -> list[Hit]:
        return [from_kdb(row, ask, i) for i, row in enumerate(_rows(answer))]


def retrieval_service(settings: IndexSettings) -> ExternalRetriever:
    """The service of `retrieval+http://`."""
    return ExternalRetriever(settings, RetrievalService())


def knowledge_base(settings: IndexSettings) -> ExternalRetriever:
    """The service of `kdb+http://`."""
    return ExternalRetriever(settings, KnowledgeBase())


def _rows(rows: Any) -> Sequence[Any]:
    if not isinstance(rows, list):
        raise TypeError(type(rows))
    return rows
