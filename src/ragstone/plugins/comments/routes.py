"""Customers' comments over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from ragstone.http.bodies import Text
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, at_least, narrow_principal
from ragstone.http.responses import Json, well_formed
from ragstone.plugins.comments.comments import ToneName
from ragstone.plugins.comments.contract import COMMENTS, CommentsWanted, column_values
from ragstone.service import wire


def router(parts: DialectParts) -> APIRouter:
    """The route of the comments of a collection."""
    service = parts.service
    routes = APIRouter(prefix="/api/v1/collections", tags=["Collections"])

    @routes.get(
        "/{name:path}/comments", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def comments(
        name: Text,
        caller: Who,
        about: Annotated[str, Query(max_length=1_000, description="What they speak of.")] = "",
        tone: Annotated[ToneName, Query(description="Their sentiment.")] = "",
        since: Annotated[str, Query(max_length=10, description="The first day, YYYY-MM-DD.")] = "",
        until: Annotated[str, Query(max_length=10, description="The last day.")] = "",
        where: Annotated[
            list[str], Query(max_length=20, description="COLUMN=VALUE, may be repeated.")
        ] = [],  # noqa: B006
        limit: Annotated[int, Query(ge=1, le=1_000, description="Most comments shown.")] = 20,
    ) -> Response:
        """Customers' comments of tables that the caller may read: how many, by theme, sentiment,
        month and column, and the most telling ones."""
        principal = narrow_principal(caller, name)
        labels = column_values([well_formed(item) for item in where])
        days = well_formed(since), well_formed(until)
        wanted = CommentsWanted(well_formed(about), tone, *days, labels, limit)
        return Json(wire.dump(await COMMENTS.of(service).show(principal, name, wanted)))

    return routes
