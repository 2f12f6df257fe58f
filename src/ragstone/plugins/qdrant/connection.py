"""Requests to a Qdrant server: the one place for its time-outs, retries and errors.

Writes to one Qdrant collection, each over only when the server has applied it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from ragstone.core.errors import ConfigError, IndexUnavailable, RagstoneError, StorageFull
from ragstone.index.options import Retries, with_retries
from ragstone.plugins.qdrant.schema import FIELDS, PART

T = TypeVar("T")

CONNECTIONS = 16
KEEP_SECONDS = 15.0
"""An idle connection is given up before servers and proxies usually do."""

BROKEN = (TimeoutError, httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
"""What a connection says that was refused, closed by the other end or too slow. Every request may
be repeated: points have fixed ids."""

PASSING = frozenset({429, 502, 503, 504})
"""Statuses of a server, or of a proxy before it, that may be gone in a moment."""

REASON_CHARS = 200


class Missing(IndexUnavailable):
    """The Qdrant collection, or a point in it, is not there."""


class Exists(IndexUnavailable):
    """The Qdrant collection is already there."""


def connect(url: str, api_key: str, timeout: float) -> AsyncQdrantClient:
    """A client that has not connected yet; raises ConfigError for a URL that is none."""
    try:
        return AsyncQdrantClient(
            url=url,
            headers={"api-key": api_key} if api_key else None,
            timeout=int(timeout) + 1,
            check_compatibility=False,
            limits=httpx.Limits(
                max_connections=CONNECTIONS,
                max_keepalive_connections=CONNECTIONS,
                keepalive_expiry=KEEP_SECONDS,
            ),
        )
    except ValueError as error:
        raise ConfigError(
            f"INDEX__URL {url!r} is not an address of a Qdrant server. "
            "Write it like http://127.0.0.1:6333."
        ) from error


class QdrantConnection:
    """Calls `client` and says in one sentence what went wrong.

    A read ends within `timeout` seconds, with its `retries`; each try of a write has so long.
    """

    def __init__(
        self, client: AsyncQdrantClient, url: str, timeout: float, retries: Retries
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._retries = retries
        self._server = f"Qdrant at {urlsplit(url).netloc.rpartition('@')[2]}" if url else "Qdrant"

    async def call(self, request: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """Return what `request`, which reads, returns.

        Raises Missing, Exists, StorageFull, IndexUnavailable.
        """
        return await self._send(request, each=False)

    async def write(self, request: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """Return what `request`, which writes, returns; raises what `call` does."""
        return await self._send(request, each=True)

    async def _send(self, request: Callable[[AsyncQdrantClient], Awaitable[T]], each: bool) -> T:
        try:
            return await with_retries(
                lambda: request(self._client), self._retries, _worth, self._timeout, each=each
            )
        except RagstoneError:
            raise
        except Exception as error:
            raise self._explain_error(error) from error

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()

    def nonsense(self) -> IndexUnavailable:
        """Return the error for an answer that no Qdrant server would give."""
        return IndexUnavailable(
            f"{self._server} gave an answer that makes no sense. "
            "Check that INDEX__URL is the address of a Qdrant server."
        )

    def _explain_error(self, error: Exception) -> RagstoneError:
        source = error.source if isinstance(error, ResponseHandlingException) else error
        if isinstance(source, TimeoutError | httpx.TimeoutException):
            return IndexUnavailable(
                f"{self._server} did not answer within {self._timeout:g} s. "
                "Try again, or raise INDEX__TIMEOUT."
            )
        if isinstance(source, httpx.TransportError):
            return IndexUnavailable(
                f"{self._server} does not answer. Start it, or correct INDEX__URL."
            )
        if isinstance(error, QdrantException):
            return self._busy()
        if isinstance(error, UnexpectedResponse):
            return self._refusal(error.status_code or 0, _reason(error))
        if isinstance(error, ValueError):  # the client's local mode has no statuses
            for sign, status in (("not found", 404), ("already exists", 409)):
                if str(error).startswith("Collection") and str(error).endswith(sign):
                    return self._refusal(status, str(error))
        return self.nonsense()

    def _refusal(self, status: int, reason: str) -> RagstoneError:
        if status in (401, 403):
            return IndexUnavailable(
                f"{self._server} refuses the key. Set INDEX__API_KEY to one that may write."
            )
        if status == 429:
            return self._busy()
        if status == 507 or "no space left" in reason.lower():
            return StorageFull(f"The disk of {self._server} is full. Free some space there.")
        if not reason:
            return self.nonsense() if status < 500 else self._server_failure(f"status {status}")
        if status == 404:
            return Missing(f"{self._server} lacks it: {reason}.")
        if status == 409 or "already exists" in reason:
            return Exists(f"{self._server} has it: {reason}.")
        return self._server_failure(reason)

    def _busy(self) -> IndexUnavailable:
        return IndexUnavailable(
            f"{self._server} is too busy. Try again later, or raise retries in INDEX__OPTIONS."
        )

    def _server_failure(self, reason: str) -> IndexUnavailable:
        return IndexUnavailable(f"{self._server} failed: {reason.rstrip('.')}. Look into its log.")


def _worth(error: Exception) -> float | None:
    """See `retries.Worth`. The client says so where a status 429 names a time, in whichever way."""
    if isinstance(error, ResourceExhaustedResponse):
        return float(error.retry_after_s)
    if isinstance(error, QdrantException):
        return 0.0
    if isinstance(error, UnexpectedResponse):
        return 0.0 if error.status_code in PASSING else None
    source = error.source if isinstance(error, ResponseHandlingException) else error
    return 0.0 if isinstance(source, BROKEN) else None


def _reason(error: UnexpectedResponse) -> str:
    """Return the first line of what Qdrant says is wrong; empty if it is not Qdrant that speaks."""
    try:
        reason = error.structured()["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(reason).partition("\n")[0][:REASON_CHARS]


TENANT = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
"""What is of one part lies together."""

Request = Callable[[AsyncQdrantClient], Awaitable[T]]


def index_field(name: str, field: str) -> Request[None]:
    """Make a payload field quick to filter by."""
    schema = TENANT if field == PART else FIELDS[field]

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied(await client.create_payload_index(name, field, schema, wait=True))

    return write


def upsert(name: str, points: Sequence[models.PointStruct]) -> Request[None]:
    """Write points over those of the same ids."""

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied(await client.upsert(name, points, wait=True))

    return write


def update(name: str, changes: Sequence[models.UpdateOperation]) -> Request[None]:
    """Return several changes at once."""

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied((await client.batch_update_points(name, changes, wait=True))[-1])

    return write


def delete(name: str, condition: models.Filter) -> Request[None]:
    """Delete the points that meet a condition."""

    async def write(client: AsyncQdrantClient) -> None:
        _check_applied(
            await client.delete(name, models.FilterSelector(filter=condition), wait=True)
        )

    return write


def _check_applied(result: models.UpdateResult) -> None:
    if result.status != models.UpdateStatus.COMPLETED:
        raise IndexUnavailable("Qdrant took the write but did not finish it. Try again.")
