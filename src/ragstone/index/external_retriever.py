"""Somebody else's retrieval service, asked instead of the local index.

`retrieval+http://HOST/api/v1/retrieval` speaks VoiceHelper's API, `kdb+http://HOST` chat-core's
knowledge base. Both are what `http/dialects/retrieval.py` serves. The service decides what the
caller may read: it is told the tenant, and nothing else of the caller.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import httpx2

from ragstone.core.errors import IndexUnavailable
from ragstone.core.filters import METADATA, AnyOf, Scalar
from ragstone.core.foreign_passages import foreign_hit, from_kdb
from ragstone.core.turn import Ask, Hit, Plan
from ragstone.settings import IndexSettings

NOT_THERE = 404


class _Dialect(Protocol):
    path: str

    def request(self, ask: Ask, plan: Plan) -> dict[str, Any]: ...

    def hits(self, answer: Any, ask: Ask) -> list[Hit]: ...


class ExternalRetriever:
    """`ports.Retriever` over HTTP."""

    def __init__(self, settings: IndexSettings, dialect: _Dialect) -> None:
        url = settings.url.split("+", 1)[1].rstrip("/")
        key = settings.api_key.get_secret_value()
        self._url = url + dialect.path
        self._host = httpx2.URL(url).host
        self._dialect = dialect
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=settings.timeout
        )

    async def search(self, ask: Ask, plan: Plan) -> list[Hit]:
        """The service's passages; none where it knows no such collection.

        Raises IndexUnavailable when it cannot be reached or answers nonsense.
        """
        body = self._dialect.request(ask, plan)
        try:
            response = await self._client.post(self._url, json=body)
            if response.status_code == NOT_THERE:
                return []
            response.raise_for_status()
            return self._dialect.hits(response.json(), ask)[: plan.top_k]
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise IndexUnavailable(
                f"The retrieval service at {self._host} answered {status}. Check INDEX__URL."
            ) from error
        except httpx2.HTTPError as error:
            raise IndexUnavailable(
                f"The retrieval service at {self._host} cannot be reached "
                f"({type(error).__name__}). Check INDEX__URL."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise IndexUnavailable(
                f"The answer of the retrieval service at {self._host} is not what it should be."
            ) from error

    async def aclose(self) -> None:
        await self._client.aclose()


class RetrievalService:
    """VoiceHelper's retrieval API."""

    path = "/retrieve"

    def request(self, ask: Ask, plan: Plan) -> dict[str, Any]:
        mode = {"dense": "vector", "bm25": "bm25"}.get(plan.strategy, "hybrid")
        return {
            "query": ask.question,
            "top_k": plan.top_k,
            "mode": mode,
            "tenant_id": ask.principal.tenant,
            "rerank": plan.rerank,
            "collection": ask.collection,
        }

    def hits(self, answer: Any, ask: Ask) -> list[Hit]:
        rows = (
            answer.get("documents", answer.get("results")) if isinstance(answer, dict) else answer
        )
        return [
            foreign_hit(ask, i, str(row["chunk_id"]), row["content"], row["score"], row["metadata"])
            for i, row in enumerate(_rows(rows))
        ]


class KnowledgeBase:
    """chat-core's knowledge base."""

    path = "/api/v1/document/search_rerank"

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
