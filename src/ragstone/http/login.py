"""/login: a browser shows the token of the local user once, and has it as a cookie from then on."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from ragstone.access.gate import COOKIE, Gate
from ragstone.core.errors import Unauthorized


def router(gate: Gate) -> APIRouter:
    """The route, which leads to the page at `/`."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login", response_model=None)
    async def login(token: Annotated[str, Query(max_length=255)] = "") -> Response:
        """Where no credentials are set: keep the token for as long as the browser is open."""
        if not await gate.is_local_token(token):
            raise Unauthorized("This is not the address that 'ragstone token --login' prints now.")
        page = RedirectResponse("/", 303)
        page.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return page

    return routes
