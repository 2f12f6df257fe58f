"""Requests to an Elasticsearch server: JSON over HTTP, with every failure as one clear error.

Not the official client: its version 9 asks for an answer that no version 8 server gives, its
asynchronous side needs aiohttp or a second HTTP library, and ten of its calls would be used.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx2

from ragstone.core.errors import ConfigError, IndexUnavailable, StorageFull
from ragstone.index.options import Retries, with_retries

T = TypeVar("T")

LONGEST_REASON = 200
BROKEN = (TimeoutError, httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError)
"""What a connection says that was refused, closed by the other end or too slow. Every request may
be repeated: documents have fixed ids."""

PASSING = frozenset({429, 502, 503, 504})
"""Statuses of a server, or of a proxy before it, that may be gone in a moment."""

UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The errors of reading a malformed answer."""


INDEX_MISSING = "index_not_found_exception"
INDEX_EXISTS = "resource_already_exists_exception"
NAME_TAKEN = "invalid_alias_name_exception"
FORBIDDEN = "security_exception"


class ElasticsearchRefusal(Exception):
    """The server said no, and why; `kind` is its type for the error. Leaves `Server` translated."""

    def __init__(self, kind: str, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.passing = passing


class Server:
    """An Elasticsearch server at `url`. A read ends within `timeout` seconds, with its `retries`;
    each try of a write has so long."""

    def __init__(self, url: str, api_key: str, timeout: float, retries: Retries) -> None:
        address = _address(url)
        if not (api_key.isascii() and api_key.isprintable()):
            raise ConfigError("INDEX__API_KEY holds letters that no key has. Copy it again.")
        self._http = httpx2.AsyncClient(
            base_url=address,
            headers={"Authorization": f"ApiKey {api_key}"} if api_key else {},
            timeout=timeout,
        )
        self._name = f"{address.host}:{address.port or address.scheme}"
        self._timeout = timeout
        self._retries = retries

    @property
    def name(self) -> str:
        """Host and port."""
        return self._name

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes,
        read: Callable[[Any], T],
        instead: Mapping[str, T] | None = None,
        *,
        writes: bool = False,
    ) -> T:
        """The answer as `read` parses it, or the value that `instead` gives for a kind of refusal.

        Raises IndexUnavailable and StorageFull.
        """
        try:
            return await with_retries(
                lambda: self._send_once(method, path, body, read),
                self._retries,
                _worth,
                self._timeout,
                each=writes,
            )
        except ElasticsearchRefusal as error:
            if instead and error.kind in instead:
                return instead[error.kind]
            raise IndexUnavailable(str(error)) from error
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise IndexUnavailable(
                f"Elasticsearch at {self._name} did not answer within {self._timeout:g} s. "
                "Check its load, or raise INDEX__TIMEOUT."
            ) from error
        except httpx2.HTTPError as error:
            raise IndexUnavailable(
                f"Elasticsearch at {self._name} cannot be reached ({type(error).__name__}). "
                "Start it, or check INDEX__URL."
            ) from error
        except UNREADABLE as error:
            raise IndexUnavailable(
                f"What Elasticsearch at {self._name} answered is not what it should be. "
                "Check that INDEX__URL leads to Elasticsearch 8 or 9."
            ) from error

    async def exists(self, path: str) -> bool:
        """Tell whether there is an index `path`."""
        return await self.ask("HEAD", path, b"", lambda answer: True, {"404": False})

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _send_once(self, method: str, path: str, body: bytes, read: Callable[[Any], T]) -> T:
        kind = "application/x-ndjson" if body.endswith(b"\n") else "application/json"
        headers = {"Content-Type": kind} if body else {}
        response = await self._http.request(method, f"/{path}", content=body, headers=headers)
        if not response.is_success:
            raise refusal(response.status_code, _content(response))
        if response.headers.get("X-Elastic-Product") != "Elasticsearch":
            raise IndexUnavailable(
                f"The server at {self._name} is not Elasticsearch. Check INDEX__URL."
            )
        return read(response.json() if response.content else {})


def _address(url: str) -> httpx2.URL:
    try:
        address = httpx2.URL(url.rstrip("/"))
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise ConfigError(f"INDEX__URL is not an address ({error}). Correct it.") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigError("INDEX__URL must be like elasticsearch+http://host:9200. Correct it.")
    return address


def refusal(status: int, content: Any) -> ElasticsearchRefusal | StorageFull:
    """Return the error for a status of 300 and more, and what came with it."""
    error = content.get("error") if isinstance(content, dict) else None
    kind, reason = str(status), str(error or "")
    if isinstance(error, dict):
        kind, reason = str(error.get("type")), _reason(error)
    reason = " ".join(reason.split())[:LONGEST_REASON]
    if "disk usage exceeded" in reason:
        return StorageFull("The disk of Elasticsearch is full. Free some space, then try again.")
    if status == 429:
        message = "Elasticsearch is too busy. Try again later, or give it more memory."
        return ElasticsearchRefusal(kind, message, passing=True)
    if status in (401, 403):
        return ElasticsearchRefusal(
            kind, "Elasticsearch refuses access. Check INDEX__API_KEY and its rights."
        )
    said = f": {reason}" if reason else ""
    return ElasticsearchRefusal(
        kind,
        f"Elasticsearch refused a request ({status}{said}). Check its log.",
        passing=status in PASSING,
    )


def _worth(error: Exception) -> float | None:
    """See `retries.Worth`."""
    if isinstance(error, ElasticsearchRefusal):
        return 0.0 if error.passing else None
    return 0.0 if isinstance(error, BROKEN) else None


def _reason(error: dict[str, Any]) -> str:
    """Return the innermost reason, which is the one that says something."""
    cause = error.get("caused_by")
    return _reason(cause) if isinstance(cause, dict) else str(error.get("reason", ""))


def _content(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
