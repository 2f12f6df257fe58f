"""The entity graph over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from ragstone.http.bodies import Text
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, at_least, narrow_principal
from ragstone.http.responses import Json, well_formed
from ragstone.plugins.graph.contract import GRAPH
from ragstone.service import wire


def router(parts: DialectParts) -> APIRouter:
    """The route of the entity graph of a collection."""
    service = parts.service
    routes = APIRouter(prefix="/api/v1/collections", tags=["Collections"])

    @routes.get(
        "/{name:path}/graph", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def graph(
        name: Text,
        caller: Who,
        entity: Annotated[str, Query(max_length=200, description="Only this entity.")] = "",
        limit: Annotated[int, Query(ge=1, le=1_000, description="Most of each kind.")] = 20,
    ) -> Response:
        """What the documents that the caller may read name most, or where one entity is named and
        what is named with it."""
        principal = narrow_principal(caller, name)
        found = await GRAPH.of(service).show(
            principal, name, entity=well_formed(entity), limit=limit
        )
        return Json(wire.dump(found))

    return routes
