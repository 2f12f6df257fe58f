"""Signed tokens: good ones say who asks, every other one is refused with one sentence."""

import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jwt
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from ragstone.access.tokens import KeySet, Tokens
from ragstone.core.errors import Unauthorized, Unavailable
from ragstone.settings import AuthSettings
from tests.access.issuer import (
    AUDIENCE,
    EC,
    ISSUER,
    RSA,
    STRANGER,
    Issuer,
    claims,
    issuing,
    jwk,
    pem,
    token,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def served() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


@pytest.fixture
def issuer(served: Issuer) -> Issuer:
    url = served.url
    served.__dict__.update(Issuer().__dict__, url=url)
    return served


@pytest.fixture
def clock() -> Clock:
    return Clock()


def auth(**changes: Any) -> AuthSettings:
    given = {"jwks_url": "http://127.0.0.1:9/", "issuer": ISSUER, "audience": (AUDIENCE,)}
    return AuthSettings(**{**given, **changes})


@pytest.fixture
async def tokens(issuer: Issuer, clock: Clock) -> AsyncIterator[Tokens]:
    tokens = Tokens(auth(), KeySet(issuer.url, 300, clock=clock))
    yield tokens
    await tokens.aclose()


@pytest.mark.parametrize(("name", "algorithm"), [("r", "RS256"), ("e", "ES256"), ("d", "EdDSA")])
async def test_given_a_good_token_then_its_user_asks(
    tokens: Tokens, name: str, algorithm: str
) -> None:
    caller = await tokens.caller(token(name, algorithm, groups=["a", "b"], role="editor"))
    assert (caller.principal.tenant, caller.principal.user) == ("default", "eva")
    assert caller.principal.groups == ("a", "b")
    assert (caller.role, caller.collections) == ("editor", None)
    assert caller.key == "token:default:eva"


async def test_given_a_mapping_then_claims_are_read_by_it(issuer: Issuer) -> None:
    settings = auth(
        claims={
            "user": "email",
            "tenant": "https://example.com/tenant",
            "role": "realm_access.roles",
            "collections": "kb",
        },
        roles={"kb-admins": "admin", "admin": "reader"},
    )
    tokens = Tokens(settings, KeySet(issuer.url, 300))
    said = {
        "email": "eva@example.com",
        "https://example.com/tenant": "acme",
        "realm_access": {"roles": ["other", "kb-admins"]},
        "kb": "docs",
    }
    caller = await tokens.caller(token(**said))
    assert (caller.principal.tenant, caller.principal.user) == ("acme", "eva@example.com")
    assert (caller.role, caller.collections) == ("admin", ("docs",))
    said["realm_access"] = {"roles": ["admin"]}
    assert (await tokens.caller(token(**said))).role == "reader"
    for missing in ("email", "https://example.com/tenant"):
        with pytest.raises(Unauthorized):
            await tokens.caller(token(**{**said, missing: None}))
    del said["kb"]
    assert (await tokens.caller(token(**said))).collections == ()
    await tokens.aclose()


def unsigned(head: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    parts = [json.dumps(head).encode(), json.dumps(body).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def confused(key: Any) -> str:
    """HS256 with the public key as the shared secret."""
    import hashlib
    import hmac

    head = unsigned({"alg": "HS256", "kid": "r"}, claims()).rsplit(".", 1)[0]
    signature = hmac.digest(pem(key), head.encode(), hashlib.sha256)
    return f"{head}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


NOW = time.time()
GOOD = token()
HEAD, BODY, SIGNATURE = GOOD.split(".")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (unsigned({"alg": "none"}, claims()), "signed with"),
        (unsigned({"alg": "None"}, claims()), "signed with"),
        (unsigned({"alg": "nOnE", "kid": "r"}, claims(), b"x"), "signed with"),
        (unsigned({"kid": "r"}, claims()), "signed with"),
        (unsigned({"alg": ["RS256"], "kid": "r"}, claims()), ""),
        (confused(RSA), "signed with"),
        (token(algorithm="PS256"), "signed with"),
        (token(iss="https://evil.example.com"), "another issuer"),
        (token(iss=None), "lacks the claim iss"),
        (token(aud="another"), "another service"),
        (token(aud=None), "lacks the claim aud"),
        (token(aud=["x", "y"]), "another service"),
        (token(exp=NOW - 3600), "expired"),
        (token(exp=None), "lacks the claim exp"),
        (token(exp="soon"), ""),
        (token(exp=float("inf")), ""),
        (token(nbf=NOW + 3600), "not valid yet"),
        (token(iat=NOW + 3600), "not valid yet"),
        (token(key=STRANGER), "signature"),
        (token("e", "RS256"), "not its issuer's"),
        (token("unknown"), "not its issuer's"),
        (token("../../etc/passwd"), "not its issuer's"),
        (token("r' OR 1=1 --"), "not its issuer's"),
        (token("http://evil.example.com/jwks"), "not its issuer's"),
        (token("x" * 300), "short text"),
        (unsigned({"alg": "RS256", "kid": 1}, claims()), ""),
        (unsigned({"alg": "RS256", "kid": ["r"]}, claims()), ""),
        (unsigned({"alg": "RS256", "kid": None, "x": 1}, claims()), ""),
        (jwt.encode(claims(), RSA, "RS256", headers={"kid": "r", "crit": ["x"]}), ""),
        (
            jwt.encode(
                claims(),
                STRANGER,
                "RS256",
                headers={"jwk": jwk("r", STRANGER), "jku": "http://127.0.0.1:1/", "kid": "r"},
            ),
            "signature",
        ),
        (token(sub=None), "user"),
        (token(sub=7), ""),
        (token(sub=""), "user"),
        (token(sub="x" * 300), "user"),
        (token(groups={"a": 1}), "groups"),
        (token(groups=[1]), "groups"),
        (token(groups=["g"] * 1001), "groups"),
        (f"{HEAD}.{BODY}.", "signature"),
        (f"{HEAD}.{BODY}", "neither"),
        (f"{HEAD}.{BODY}.{SIGNATURE}.x", "neither"),
        (f"{HEAD}.{BODY[:-4]}.{SIGNATURE}", ""),
        ("..", "neither"),
        ("a.b.c", "neither"),
        ("é.é.é", "neither"),
        (unsigned({"alg": "RS256", "kid": "r"}, claims(), b"\x00" * 256), "signature"),
        ("." * 5000, "neither"),
        (base64.urlsafe_b64encode(b"[" * 5000).decode() + ".e30.x", "neither"),
    ],
    ids=range(47),
)
async def test_given_a_bad_token_then_it_is_refused_with_one_sentence(
    tokens: Tokens, bad: str, words: str
) -> None:
    with pytest.raises(Unauthorized) as caught:
        await tokens.caller(bad)
    message = caught.value.message
    assert words in message
    assert "\n" not in message
    assert len(message) < 150


async def test_given_clocks_apart_by_less_than_the_leeway_then_it_holds(tokens: Tokens) -> None:
    assert await tokens.caller(token(exp=time.time() - 20, nbf=time.time() - 30))
    assert await tokens.caller(token(nbf=time.time() + 20))


async def test_given_a_secret_key_in_the_set_then_it_signs_nothing(issuer: Issuer) -> None:
    issuer.more = [{"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "s"}]
    tokens = Tokens(auth(), KeySet(issuer.url, 300))
    forged = jwt.encode(claims(), b"s" * 32, "HS256", headers={"kid": "s"})
    with pytest.raises(Unauthorized):
        await tokens.caller(forged)
    await tokens.aclose()


async def test_given_a_key_for_encryption_or_another_algorithm_then_it_verifies_nothing(
    issuer: Issuer, clock: Clock
) -> None:
    issuer.keys = {}
    issuer.more = [{**jwk("r", RSA), "use": "enc"}, {**jwk("x", RSA), "alg": "RS512"}, {"a": 1}, 7]
    tokens = Tokens(auth(), KeySet(issuer.url, 300, clock=clock))
    for name in ("r", "x"):
        with pytest.raises(Unauthorized):
            await tokens.caller(token(name))
        clock.now += 11
    await tokens.aclose()


async def test_given_a_token_without_a_key_name_then_only_a_single_key_will_do(
    issuer: Issuer,
) -> None:
    tokens = Tokens(auth(), KeySet(issuer.url, 300))
    assert await tokens.caller(token(None))
    issuer.keys["r2"] = STRANGER
    other = Tokens(auth(), KeySet(issuer.url, 300))
    with pytest.raises(Unauthorized, match="which key"):
        await other.caller(token(None))
    await tokens.aclose()
    await other.aclose()


async def test_given_a_rotated_key_then_it_is_fetched_once_and_the_old_one_ends(
    issuer: Issuer, tokens: Tokens, clock: Clock
) -> None:
    await tokens.caller(token())
    assert issuer.asked == 1
    issuer.keys = {"new": STRANGER}
    clock.now += 60
    assert await tokens.caller(token("new", key=STRANGER))
    assert issuer.asked == 2
    with pytest.raises(Unauthorized):
        await tokens.caller(token())


async def test_given_a_flood_of_unknown_keys_then_the_issuer_is_asked_rarely(
    issuer: Issuer, tokens: Tokens, clock: Clock
) -> None:
    for number in range(200):
        with pytest.raises(Unauthorized):
            await tokens.caller(token(f"k{number}"))
        clock.now += 0.1
    assert issuer.asked <= 3


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, None),
        (302, None),
        (200, b"<html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"keys": 7}'),
        (200, b"x" * 1_000_000),
        (200, b"[" * 100_000),
    ],
)
async def test_given_the_issuer_is_down_then_known_keys_go_on_and_others_wait(
    issuer: Issuer, tokens: Tokens, clock: Clock, status: int, body: bytes | None
) -> None:
    await tokens.caller(token())
    issuer.status, issuer.body = status, body
    clock.now += 1000
    assert await tokens.caller(token())
    with pytest.raises(Unavailable) as caught:
        await tokens.caller(token("e2", "ES256", EC))
    assert caught.value.retry_after
    issuer.status, issuer.body = 200, None
    issuer.keys["e2"] = EC
    clock.now += 11
    assert await tokens.caller(token("e2", "ES256", EC))


async def test_given_no_issuer_at_all_then_unavailable() -> None:
    tokens = Tokens(auth(), KeySet("http://127.0.0.1:9/", 300))
    with pytest.raises(Unavailable):
        await tokens.caller(token())
    await tokens.aclose()


@pytest.mark.parametrize(
    "wrong",
    [
        {"claims": {"admin": "sub"}},
        {"issuer": ""},
        {"audience": ()},
        {"jwks_url": "file:///etc/passwd"},
        {"proxy_addresses": ("everywhere",)},
        {"roles": {"a": "king"}},
    ],
)
def test_given_settings_that_would_trust_anyone_then_they_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        auth(**wrong)


@with_settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300) | st.lists(st.binary(), min_size=3, max_size=3))
async def test_given_any_text_then_it_is_refused(tokens: Tokens, said: Any) -> None:
    if isinstance(said, list):
        said = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in said)
    with pytest.raises(Unauthorized):
        await tokens.caller(said)
