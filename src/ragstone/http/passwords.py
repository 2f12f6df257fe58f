"""/sign-in-password and /sign-in-invitation: the web page signs people in who have an account, and
lets them give it a password.
"""

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from ragstone.access.gate import COOKIE, Gate
from ragstone.access.rates import Rates
from ragstone.core.errors import Forbidden
from ragstone.http.bodies import ClosedBody, Text
from ragstone.http.responses import Json
from ragstone.http.sign_in import limit_sign_ins
from ragstone.service.people import OpenedSession, PeopleService, SignInTry
from ragstone.settings import Settings

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


def router(people: PeopleService, gate: Gate, rates: Rates, settings: Settings) -> APIRouter:
    """The routes. Who asks has no credential yet."""
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
