"""An embedder behind any OpenAI-compatible `/embeddings` endpoint."""

import asyncio
from collections.abc import Sequence

import httpx2
import numpy as np

from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.ports import Vectors
from ragstone.settings import EmbeddingSettings

CALL_SECONDS = 60.0
"""How long one call may take: a batch on a server without a GPU."""

CONCURRENT_CALLS = 4

BATCH = 32
"""Texts in one call."""


class RemoteEmbedder:
    """`ports.Embedder` over HTTP. `connect` asks the server once for its vectors' length."""

    cosines = (0.2, 0.9)
    multilingual = True

    def __init__(self, settings: EmbeddingSettings) -> None:
        if settings.model == "auto":
            raise ConfigError(
                "EMBEDDING__BASE_URL is set, so EMBEDDING__MODEL must name the model there."
            )
        self.name = settings.model
        self.dimensions = settings.dimensions
        self._settings = settings
        key = settings.api_key.get_secret_value()
        self._client = httpx2.AsyncClient(
            base_url=settings.base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=CALL_SECONDS,
        )
        self._calls = asyncio.Semaphore(CONCURRENT_CALLS)

    @property
    def fingerprint(self) -> str:
        return f"{self._settings.base_url.rstrip('/')}#{self.name}/{self.dimensions}"

    async def connect(self) -> None:
        """Learn the vectors' length if the settings do not say; raises ModelUnavailable."""
        if not self.dimensions:
            # The API has no call that tells the length of vectors, so any text is embedded once.
            self.dimensions = (await self._request(["dimensions"])).shape[1]

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        batches = [list(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
        parts = await asyncio.gather(*(self._request(batch) for batch in batches))
        return np.concatenate([np.zeros((0, self.dimensions), np.float32), *parts])

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_passages(texts)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _request(self, texts: list[str]) -> Vectors:
        body: dict[str, object] = {"model": self.name, "input": texts, "encoding_format": "float"}
        # Models that cannot shorten their vectors refuse the field.
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        try:
            async with self._calls:
                response = await self._client.post("embeddings", json=body)
            response.raise_for_status()
            # The API does not promise the order of the request.
            rows = sorted(response.json()["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except httpx2.HTTPStatusError as error:
            raise ModelUnavailable(
                f"The embedding server answered {error.response.status_code}. "
                "Check EMBEDDING__MODEL and EMBEDDING__API_KEY."
            ) from error
        except httpx2.HTTPError as error:
            raise ModelUnavailable(
                f"The embedding server at {self._settings.base_url} cannot be reached "
                f"({type(error).__name__}). Check EMBEDDING__BASE_URL."
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ModelUnavailable(
                "The embedding server's answer is not what it should be."
            ) from error
        return self._unit(vectors, len(texts))

    def _unit(self, vectors: Vectors, expected: int) -> Vectors:
        width = self.dimensions or (vectors.shape[1] if vectors.ndim == 2 else 0)
        if vectors.shape != (expected, width) or not np.isfinite(vectors).all():
            raise ModelUnavailable(
                f"The embedding server returned vectors of shape {vectors.shape}, "
                f"not {(expected, width)}. Check EMBEDDING__DIMENSIONS."
            )
        # Not every server gives unit length, and the index compares directions.
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.maximum(norms, 1e-12)
        return unit
