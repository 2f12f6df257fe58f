"""Which credential of a request counts, and what is asked of one without."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.datastructures import Headers

from ragstone.access import setup
from ragstone.access.gate import Gate
from ragstone.core.caller import ANONYMOUS, LOCAL, OPERATOR, Caller
from ragstone.core.errors import StateUnavailable, Unauthorized
from ragstone.local.keys import LocalKeys
from ragstone.settings import AuthSettings
from tests.access.issuer import AUDIENCE, ISSUER, Issuer, issuing, token
from tests.credentials import MemoryKeys, a_key, bearer
from tests.fake_service import FakeService
from tests.memory_store import MemoryNames

TOKEN = "the-token"


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


def a_gate(service: FakeService, **settings: Any) -> Gate:
    return setup.make_gate(AuthSettings(**settings), service.keys, TOKEN)


async def asks(gate: Gate, headers: Any = None, address: str = "127.0.0.1") -> Caller:
    return await gate.caller(Headers(headers or {}), address)


async def test_given_no_credentials_at_all_then_everyone_is_the_local_user(
    service: FakeService,
) -> None:
    gate = a_gate(service)
    assert not await gate.is_credential_required()
    for headers in ({}, {"authorization": "Bearer unused"}, {"x-api-key": "sk-1"}):
        assert await asks(gate, headers) is LOCAL
    assert await asks(gate, {"authorization": f"Bearer {TOKEN}"}) is OPERATOR


async def test_given_a_key_exists_then_every_request_needs_a_credential(
    service: FakeService,
) -> None:
    gate = a_gate(service)
    secret = await a_key(service, tenant="acme")
    for headers in (
        {"authorization": f"Bearer {secret}"},
        {"authorization": f"bearer   {secret} "},
        {"x-api-key": secret},
        {"api-key": secret},
        {"authorization": f"Bearer {secret}", "x-api-key": secret},
        {"authorization": "Basic eDp5", "api-key": secret},
    ):
        assert (await asks(gate, headers)).principal.tenant == "acme"
    for headers in (
        {},
        {"authorization": secret},
        {"authorization": f"Basic {secret}"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer unused"},
        {"authorization": f"Bearer {secret}x"},
        {"authorization": f"Bearer {secret}", "x-api-key": "another"},
        {"cookie": f"authorization={secret}"},
        {"x-api-key": "k" * 100_000},
        {"x-api-key": "é" * 100},
    ):
        with pytest.raises(Unauthorized):
            await asks(gate, headers)
    assert await asks(gate, {"x-api-key": TOKEN}) is OPERATOR


async def test_given_the_only_key_is_revoked_then_the_server_is_not_open_again(
    service: FakeService,
) -> None:
    gate = a_gate(service)
    secret = await a_key(service)
    await service.keys.revoke(None, (await service.keys.list_all(None))[0].id)
    for headers in ({}, {"x-api-key": secret}):
        with pytest.raises(Unauthorized):
            await asks(gate, headers)


async def test_given_credentials_are_not_required_then_a_wrong_one_is_still_refused(
    service: FakeService,
) -> None:
    gate = a_gate(service, required=False)
    assert (await asks(gate, {"x-api-key": "unused"})).role == "reader"
    secret = await a_key(service)
    nobody = await asks(gate)
    assert (nobody.principal.user, nobody.role) == ("", "reader")
    assert nobody.key == "anonymous:127.0.0.1"
    assert nobody.principal.names == ("*",)
    assert (await asks(gate, {"x-api-key": secret})).key.startswith("key:")
    with pytest.raises(Unauthorized):
        await asks(gate, {"x-api-key": secret + "x"})


async def test_given_visitors_of_a_plone_site_then_they_need_no_credential_there(
    service: FakeService,
) -> None:
    await a_key(service)
    gate = a_gate(service)
    visitor = await gate.caller(Headers({}), "10.0.0.7", lambda: "acme")
    assert visitor == replace(ANONYMOUS, principal=visitor.principal, key="anonymous:10.0.0.7")
    assert (visitor.principal.tenant, visitor.principal.names) == ("acme", ("*",))
    for headers in (bearer("wrong"), {"x-api-key": "wrong"}):
        with pytest.raises(Unauthorized):
            await gate.caller(Headers(headers), "10.0.0.7", lambda: "acme")
    with pytest.raises(Unauthorized):
        await asks(gate)


async def test_given_credentials_are_required_then_only_the_operator_gets_in(
    service: FakeService,
) -> None:
    gate = a_gate(service, required=True)
    with pytest.raises(Unauthorized):
        await asks(gate)
    assert await asks(gate, {"x-api-key": TOKEN}) is OPERATOR


async def test_given_tokens_keys_and_a_proxy_then_each_tells_who_asks(
    service: FakeService, issuer: Issuer
) -> None:
    gate = a_gate(
        service,
        jwks_url=issuer.url,
        issuer=ISSUER,
        audience=(AUDIENCE,),
        proxy_secret=SecretStr("s3"),
    )
    secret = await a_key(service, user="of-key")
    proxied = {"x-forwarded-user": "of-proxy", "x-proxy-secret": "s3"}
    for headers, user in (
        ({"x-api-key": secret}, "of-key"),
        ({"authorization": f"Bearer {token(sub='of-token')}"}, "of-token"),
        (proxied, "of-proxy"),
        ({**proxied, "x-api-key": secret}, "of-key"),
    ):
        assert (await asks(gate, headers)).principal.user == user
    for headers in (
        {},
        {"x-forwarded-user": "of-proxy"},
        {"x-forwarded-user": "of-proxy", "x-proxy-secret": "wrong"},
        {"authorization": f"Bearer {token(sub='a', algorithm='RS256')[:-5]}"},
        {"authorization": "Bearer " + "a" * 9000},
        {**proxied, "authorization": f"Bearer {token(exp=1)}"},
    ):
        with pytest.raises(Unauthorized) as caught:
            await asks(gate, headers)
        assert len(caught.value.message) < 150
    await gate.aclose()


async def test_given_a_key_made_by_another_server_then_this_one_needs_it_within_two_seconds() -> (
    None
):
    store, now = MemoryKeys(), 0.0
    here, there = (LocalKeys(store, MemoryNames(), lambda: now) for _ in range(2))
    gate = setup.make_gate(AuthSettings(), here, TOKEN)
    assert not await gate.is_credential_required()
    service = FakeService()
    service.keys = there
    await a_key(service)
    now = 2.0
    assert await gate.is_credential_required()


class Away(MemoryKeys):
    """A store that can be away."""

    here = True

    async def any(self) -> bool:
        if not self.here:
            raise StateUnavailable("The database does not answer.")
        return await super().any()


async def test_given_the_store_is_away_then_it_is_known_whether_there_were_keys() -> None:
    now = 0.0
    store = Away()
    keys = LocalKeys(store, MemoryNames(), clock=lambda: now)
    assert not await keys.exist()
    store.here, now = False, 100.0
    assert not await keys.exist()
    unasked = LocalKeys(store, MemoryNames(), clock=lambda: now)
    with pytest.raises(StateUnavailable):
        await unasked.exist()
