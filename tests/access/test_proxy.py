"""Headers of a proxy count only when the proxy sent them."""

from typing import Any

import pytest
from pydantic import SecretStr
from starlette.datastructures import Headers

from ragstone.access.proxy import TrustedProxy
from ragstone.core.caller import Caller
from ragstone.core.errors import Unauthorized
from ragstone.settings import AuthSettings

SAID = {
    "x-forwarded-user": "eva",
    "x-forwarded-tenant": "acme",
    "x-forwarded-groups": "a, b,,a",
    "x-forwarded-role": "editor",
}


def asks(
    settings: dict[str, Any], headers: dict[str, str], address: str = "10.1.2.3"
) -> Caller | None:
    return TrustedProxy(AuthSettings(**settings)).caller(Headers(headers), address)


def test_given_a_request_of_the_proxy_then_its_headers_say_who_asks() -> None:
    caller = asks({"proxy_addresses": "10.0.0.0/8"}, SAID)
    assert caller
    assert (caller.principal.tenant, caller.principal.user) == ("acme", "eva")
    assert (caller.principal.groups, caller.role) == (("a", "b"), "editor")
    assert caller.collections is None


@pytest.mark.parametrize(
    ("settings", "headers", "address", "trusted"),
    [
        ({"proxy_addresses": "10.0.0.0/8"}, {}, "::ffff:10.1.2.3", True),
        ({"proxy_addresses": "10.0.0.0/8"}, {}, "11.0.0.1", False),
        ({"proxy_addresses": "10.0.0.0/8"}, {"x-forwarded-for": "10.1.2.3"}, "11.0.0.1", False),
        ({"proxy_addresses": "::1,10.1.2.3"}, {}, "::1", True),
        ({"proxy_addresses": "10.0.0.0/8"}, {}, "", False),
        ({"proxy_secret": SecretStr("s3")}, {"x-proxy-secret": "s3"}, "11.0.0.1", True),
        ({"proxy_secret": SecretStr("s3")}, {"x-proxy-secret": "s4"}, "11.0.0.1", False),
        ({"proxy_secret": SecretStr("s3")}, {"x-proxy-secret": "é"}, "11.0.0.1", False),
        ({"proxy_secret": SecretStr("s3")}, {}, "11.0.0.1", False),
        (
            {"proxy_secret": SecretStr("s3"), "proxy_addresses": "10.0.0.0/8"},
            {"x-proxy-secret": "s3"},
            "11.0.0.1",
            False,
        ),
    ],
)
def test_given_addresses_and_a_secret_then_both_must_fit(
    settings: dict[str, Any], headers: dict[str, str], address: str, trusted: bool
) -> None:
    assert (asks(settings, {**SAID, **headers}, address) is not None) is trusted


def test_given_a_user_alone_then_the_settings_say_the_rest() -> None:
    settings = {"proxy_addresses": "10.0.0.0/8", "tenant": "acme", "roles": {"*": "editor"}}
    assert asks(settings, {"x-forwarded-groups": "a"}) is None
    caller = asks(settings, {"x-forwarded-user": "otto", "x-forwarded-collections": ""})
    assert caller
    assert (caller.principal.tenant, caller.principal.user) == ("acme", "otto")
    assert (caller.role, caller.collections) == ("editor", ())


def test_given_a_header_twice_then_it_is_refused() -> None:
    headers = Headers(raw=[(b"x-forwarded-user", b"eva"), (b"x-forwarded-user", b"root")])
    proxy = TrustedProxy(AuthSettings(proxy_addresses=("10.0.0.0/8",)))
    with pytest.raises(Unauthorized, match="twice"):
        proxy.caller(headers, "10.1.2.3")
