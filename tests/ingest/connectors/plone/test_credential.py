"""How a site is shown who asks."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import aclosing

import pytest
from pydantic import SecretStr

from ragstone.core.errors import ConfigError
from ragstone.plugins.plone.client import PloneClient, ends_soon, token_expiry
from ragstone.plugins.plone.settings import PloneSettings
from tests.plone_server import PASSWORD, TOKEN, USER, PloneServer, plone_server


@pytest.fixture
def site() -> Iterator[PloneServer]:
    with plone_server() as server:
        server.add("open", "/open")
        server.add("closed", "/closed", review_state="private")
        yield server


def a_token(seconds: float) -> str:
    """A token as plone.restapi makes them, that ends in so many seconds."""
    said = json.dumps({"sub": "sync", "exp": int(time.time() + seconds)}).encode()
    return f"header.{base64.urlsafe_b64encode(said).decode().rstrip('=')}.signature"


def a_client(site: PloneServer, **changes: object) -> PloneClient:
    given = {"url": site.site, "token": SecretStr(f"{USER}:{PASSWORD}")}
    return PloneClient(PloneSettings(**{**given, **changes}))  # type: ignore[arg-type]


async def seen(client: PloneClient) -> list[str]:
    return [item.uid async for item in client.list_objects()]


@pytest.mark.parametrize("basic", [False, True])
async def test_given_name_and_password_then_a_token_or_both_with_each_request(
    site: PloneServer, basic: bool
) -> None:
    way = "basic:" if basic else ""
    async with aclosing(a_client(site, token=SecretStr(f"{way}{USER}:{PASSWORD}"))) as client:
        assert await client.check()
        assert await seen(client) == ["closed", "open"]
        assert [item.uid async for item in client.list_objects(visitor=True)] == ["open"]
    assert site.logins == (0 if basic else 1)
    for wrong in (f"{USER}:x", f"x:{PASSWORD}"):
        async with aclosing(a_client(site, token=SecretStr(f"{way}{wrong}"))) as client:
            with pytest.raises(ConfigError, match="PLONE__TOKEN"):
                await client.check()


async def test_given_a_token_that_ends_then_it_is_renewed_or_asked_for_anew(
    site: PloneServer,
) -> None:
    site.tokens = {a_token(60), a_token(3600), TOKEN}
    [soon] = [token for token in site.tokens if token != TOKEN and ends_soon(token)]
    async with aclosing(a_client(site, token=SecretStr(soon))) as client:
        assert await seen(client) == ["closed", "open"]
    assert site.renewed == 1
    async with aclosing(a_client(site)) as client:
        assert await client.check()
        site.tokens = set()  # The site has other keys: what it gave before means nothing.
        site.new_token = "another"
        assert await seen(client) == ["open"]
        assert not await client.check()
        assert await seen(client) == ["closed", "open"]
        assert await client.check()


def test_given_any_text_then_when_it_ends_as_a_token() -> None:
    assert ends_soon(a_token(10))
    assert not ends_soon(a_token(4000))
    for text in ("", "a", "a.b.c", "a.!!!.c", "a.W10.c", "a.eyJleHAiOiJ4In0.c"):
        assert token_expiry(text) is None
        assert not ends_soon(text)
