"""/login and /sign-out: a browser shows the token of the local user once, and has a session from
then on, until its user signs out.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from ragstone.access.gate import COOKIE, OWN_PAGES, Gate
from ragstone.core.errors import Forbidden, Unauthorized

ENDED = "login-ended"
"""The fragment of the page's address that says that a sign-in address does not count any more."""


def router(gate: Gate) -> APIRouter:
    """The routes; the first one leads to the page at `/`."""
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
