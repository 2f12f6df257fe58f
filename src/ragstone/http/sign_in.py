"""/sign-in: what the web page needs to let people sign in at the issuer of their tokens."""

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ragstone.access.rates import Rates
from ragstone.core.errors import Forbidden, TooManyRequests
from ragstone.http.addresses import base_address
from ragstone.http.bodies import ClosedBody, Text
from ragstone.http.responses import Json
from ragstone.service.people import PeopleService
from ragstone.settings import ServerSettings, Settings

if TYPE_CHECKING:
    from ragstone.access.sign_in import SignIn

SIGN_INS = 300
"""Requests of one address in a minute, where requests are not limited otherwise: people behind one
proxy share it."""

_Random = Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]{43,128}$")]


class SignInCode(ClosedBody):
    """The body of POST /sign-in: the code that came back to the page at `redirect`, and what the
    page began with."""

    code: Text = Field(min_length=1, max_length=8192)
    verifier: _Random
    nonce: _Random
    redirect: Text = Field(max_length=2048)


def router(
    sign_in: "SignIn | None", people: PeopleService, rates: Rates, settings: Settings
) -> APIRouter:
    """The routes; `sign_in` is None where it is not set up. Who asks has no credential yet."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/sign-in", response_model=None)
    async def begin(request: Request) -> Response:
        """Where people sign in: the issuer's host, empty for nowhere, and its address; and whether
        they have passwords here."""
        found = {"provider": "", "passwords": await people.exist()}
        if sign_in is None:
            return Json(found)
        await limit_sign_ins(request, rates, settings)
        return Json({**found, "provider": sign_in.host, "authorize": await sign_in.address()})

    @routes.post("/sign-in", response_model=None)
    async def end(body: SignInCode, request: Request) -> Response:
        """The credential for a code."""
        if sign_in is None:
            raise HTTPException(404)
        await limit_sign_ins(request, rates, settings)
        check_own(request, body.redirect, settings.server)
        token = await sign_in.token(body.code, body.verifier, body.nonce, body.redirect)
        return Json({"token": token})

    return routes


async def limit_sign_ins(request: Request, rates: Rates, settings: Settings) -> str:
    """Count a request of who has no credential yet; its address. Raises TooManyRequests."""
    peer = request.client.host if request.client else ""
    most = settings.limits.requests_per_minute or SIGN_INS
    allowance = await rates.take(f"requests:sign-in:{peer}", most)
    if allowance.wait:
        raise TooManyRequests(
            "Too many sign-ins from one address. Try again in a minute.", allowance.wait
        )
    return peer


def check_own(request: Request, redirect: str, settings: ServerSettings) -> None:
    """Raise Forbidden unless this server's own page sends the request, and the code came back to
    it: codes of other pages are not exchanged. A proxy may name another host than browsers do; then
    the public address says what they call this server."""
    origin, host = request.headers.get("origin", ""), request.headers.get("host")
    public = urlsplit(settings.public_url)
    known = (f"http://{host}", f"https://{host}", f"{public.scheme}://{public.netloc}")
    if not origin or origin not in known:
        raise Forbidden("Only this server's own page signs in here. Is SERVER__PUBLIC_URL right?")
    if redirect != f"{origin}{urlsplit(base_address(request, settings)).path}/":
        raise Forbidden(
            "The code must come back to this server's own page. Is SERVER__PUBLIC_URL right?"
        )
