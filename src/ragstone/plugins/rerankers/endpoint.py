"""A reranker behind an HTTP endpoint: the shape of Cohere, Jina, vLLM and infinity, or TEI's."""

import math
from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.ports import Judgement, Vectors
from ragstone.retrieve.rerank import RERANKER_WEIGHT
from ragstone.retrieve.rerankers import RerankerParts
from ragstone.settings import RerankSettings

WRONG_SHAPE = frozenset({400, 422})
"""What a server answers that wants `texts` instead of `documents`."""


CALL_SECONDS = 20.0
"""How long one call may take; the question then goes on with the fused order."""


class RemoteReranker:
    """`ports.Reranker` that posts to `RERANK__BASE_URL`, the address up to and with `/rerank`.

    Scores outside 0..1 are taken as logits.
    """

    def __init__(self, settings: RerankSettings) -> None:
        self.name = settings.model or "rerank endpoint"
        self._settings = settings
        key = settings.api_key.get_secret_value()
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=CALL_SECONDS
        )
        self._place = _place(settings.base_url)
        self._wants_texts = False

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        texts = [chunk.searchable for chunk in chunks]
        answer = await self._ask(question, texts)
        scores = _scores(answer, len(texts))
        return Judgement(scores, RERANKER_WEIGHT, "as the endpoint says")

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, question: str, texts: Sequence[str]) -> Any:
        """Ask in the shape that worked last, else in the other."""
        documents: dict[str, Any] = {"query": question, "documents": texts, "top_n": len(texts)}
        if self._settings.model:
            documents["model"] = self._settings.model
        only_texts = {"query": question, "texts": texts, "truncate": True}
        shapes = [only_texts] if self._wants_texts else [documents, only_texts]
        for body in shapes:
            response = await self._post(body)
            if response.status_code not in WRONG_SHAPE:
                self._wants_texts = body is only_texts
                return self._parse_response(response)
        raise ModelUnavailable(
            f"The reranker at {self._place} answered {response.status_code}. "
            "Check RERANK__BASE_URL (up to and with /rerank) and RERANK__MODEL."
        )

    async def _post(self, body: dict[str, Any]) -> httpx2.Response:
        try:
            return await self._client.post(self._settings.base_url, json=body)
        except httpx2.HTTPError as error:
            raise ModelUnavailable(
                f"The reranker at {self._place} cannot be reached ({type(error).__name__}). "
                "Check RERANK__BASE_URL."
            ) from error

    def _parse_response(self, response: httpx2.Response) -> Any:
        if not response.is_success:
            raise ModelUnavailable(
                f"The reranker at {self._place} answered {response.status_code}. "
                "Check RERANK__BASE_URL and RERANK__API_KEY."
            )
        try:
            return response.json()
        except ValueError as error:
            raise ModelUnavailable(f"The reranker at {self._place} sent no JSON.") from error


def open_endpoint(parts: RerankerParts) -> RemoteReranker:
    """Make the reranker of RERANK__BASE_URL; raises ConfigError where that is empty."""
    if not parts.settings.base_url:
        raise ConfigError("RERANK__MODEL is endpoint: set RERANK__BASE_URL to its address.")
    return RemoteReranker(parts.settings)


def _scores(answer: Any, expected: int) -> Vectors:
    """Return scores by the index of their text; raises ModelUnavailable for anything else."""
    rows: Any = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
    scores = [math.nan] * expected
    try:
        for row in rows:
            value = row["relevance_score"] if "relevance_score" in row else row["score"]
            scores[_index(row["index"], expected)] = float(value)
    except (TypeError, KeyError, ValueError) as error:
        raise ModelUnavailable("The reranker's answer is not what it should be.") from error
    found = np.array(scores, np.float32)
    if not np.isfinite(found).all():
        raise ModelUnavailable("The reranker did not score every passage.")
    if found.min(initial=0) < 0 or found.max(initial=0) > 1:
        found = (1 / (1 + np.exp(-found))).astype(np.float32)
    return found


def _index(value: Any, expected: int) -> int:
    index = int(value)
    if not 0 <= index < expected:
        raise ValueError(value)
    return index


def _place(url: str) -> str:
    """Return the address without a user, a password or a query."""
    parts = httpx2.URL(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.host}{port}"
