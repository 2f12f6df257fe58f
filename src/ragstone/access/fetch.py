"""What an issuer of tokens says over HTTP, bounded in time and size."""

import asyncio
from typing import Any

import httpx2

SECONDS = 5.0
MOST_BYTES = 512_000


def client() -> httpx2.AsyncClient:
    """What asks issuers. A redirect is an answer like another: it could lead anywhere."""
    return httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False)


async def fetch(
    http: httpx2.AsyncClient, method: str, url: str, **request: Any
) -> tuple[int, bytes]:
    """The status and content of the answer; raises ValueError where there is none, or one that
    takes too long or is too large."""
    content = b""
    try:
        async with (
            asyncio.timeout(SECONDS),
            http.stream(method, url, **request) as response,
        ):
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise ValueError(f"more than {MOST_BYTES:,} bytes")
            return response.status_code, content
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise ValueError(str(error) or "too slow") from error
