"""The addresses by which a browser signs in: a token once, a password, an issuer of tokens."""

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from ragstone.access.gate import COOKIE, OWN_PAGES, Gate
from ragstone.access.rates import Rates
from ragstone.core.errors import Forbidden, TooManyRequests, Unauthorized
from ragstone.http.addresses import base_address
from ragstone.http.bodies import ClosedBody, Text
from ragstone.http.responses import Json
from ragstone.service.people import OpenedSession, PeopleService, SignInTry
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


ENDED = "login-ended"
"""The fragment of the page's address that says that a sign-in address does not count any more."""


def login_router(gate: Gate) -> APIRouter:
    """Return the routes; the first one leads to the page at `/`."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login", response_model=None)
    async def login(
        request: Request, token: Annotated[str, Query(max_length=255)] = ""
    ) -> Response:
        """Where no credentials are set: begin a session for as long as the browser is open."""
        if not await gate.is_local_token(token):
            if "text/html" in request.headers.get("accept", ""):
                return RedirectResponse(f"./#{ENDED}", 303)  # The page says so, in its language.
            raise Unauthorized(
                "This is not the address that 'ragstone token --login' prints now. Run it again."
            )
        # Relative, and the cookie without a path: so both are right below a path of a site too.
        page = RedirectResponse("./", 303)
        page.set_cookie(COOKIE, gate.new_session(), path=None, httponly=True, samesite="strict")
        return page

    @routes.post("/sign-out", response_model=None)
    async def sign_out(request: Request) -> Response:
        """End the sessions of the request, and take the cookie away."""
        if request.headers.get("sec-fetch-site", OWN_PAGES[0]) not in OWN_PAGES:
            raise Forbidden("Only this server's own page signs out here.")
        await gate.end_sessions(request.headers)
        gone = Response(status_code=204)
        gone.set_cookie(COOKIE, "", max_age=0, path=None, httponly=True, samesite="strict")
        return gone

    return routes


DEVICE, DEVICE_SECONDS = "ragstone_device", 365 * 86_400
"""The cookie that tells a browser in which somebody has signed in before."""


class SignInPassword(ClosedBody):
    """The body of POST /sign-in-password. `code` is of the second factor."""

    name: Text = Field(min_length=1, max_length=600)
    password: Text = Field(min_length=1, max_length=1000)
    code: Text = Field("", max_length=100)


class SignInInvitation(ClosedBody):
    """The body of POST /sign-in-invitation; without a password it only asks whose it is."""

    secret: Text = Field(min_length=1, max_length=100)
    password: Text = Field("", max_length=1000)


def password_router(
    people: PeopleService, gate: Gate, rates: Rates, settings: Settings
) -> APIRouter:
    """Return the routes. Who asks has no credential yet."""
    routes = APIRouter(include_in_schema=False)

    @routes.post("/sign-in-password", response_model=None)
    async def by_password(body: SignInPassword, request: Request) -> Response:
        """Begin a session by name and password; or ask for the code of the second factor."""
        _check_own_page(request)
        peer = await limit_sign_ins(request, rates, settings)
        device = request.cookies.get(DEVICE, "")
        given = SignInTry(body.name, body.password, body.code, peer, device, _agent(request))
        return await show(request, await people.sign_in(given))

    @routes.post("/sign-in-invitation", response_model=None)
    async def by_invitation(body: SignInInvitation, request: Request) -> Response:
        """Whose an invitation is; with a password, accept it and begin a session."""
        _check_own_page(request)
        await limit_sign_ins(request, rates, settings)
        if not body.password:
            person = await people.read_invitation(body.secret)
            return Json({"name": person.name, "display": person.display})
        opened = await people.accept(body.secret, body.password, _agent(request))
        return await show(request, opened)

    async def show(request: Request, opened: OpenedSession) -> Response:
        """Give a browser its session, in place of what it had before."""
        answer = Json({"code_needed": not opened.secret})
        if opened.secret:
            await gate.end_sessions(request.headers)
            _set_cookie(request, answer, COOKIE, opened.secret, None)
            _set_cookie(request, answer, DEVICE, opened.device, DEVICE_SECONDS)
        return answer

    return routes


def _check_own_page(request: Request) -> None:
    """Raise Forbidden unless a page of this server sends the request, and its cookie will count."""
    if request.headers.getlist("sec-fetch-site") != ["same-origin"]:
        raise Forbidden(
            "Only this server's own page signs in here, and only where its address has https or is "
            "localhost."
        )


def _agent(request: Request) -> str:
    return request.headers.get("user-agent", "")


def _set_cookie(
    request: Request, answer: Response, name: str, secret: str, seconds: int | None
) -> None:
    # Without a path, so that it is right below a path of a site too.
    answer.set_cookie(
        name,
        secret,
        max_age=seconds,
        path=None,
        secure=request.headers.get("origin", "").startswith("https:"),
        httponly=True,
        samesite="strict",
    )
