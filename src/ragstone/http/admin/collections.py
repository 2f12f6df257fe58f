"""Collections over HTTP: what there is, and giving one another name."""

import base64
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi import Path as ApiPath
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragstone.core.comments import ToneName
from ragstone.http.identity import Who, at_least, for_guests, narrow_principal
from ragstone.http.openapi import document_responses
from ragstone.http.responses import Json, well_formed
from ragstone.service import CollectionSummary, Service, wire
from ragstone.service.comments import CommentsWanted, column_values

Name = Annotated[str, AfterValidator(well_formed)]


class CollectionName(BaseModel):
    """The body of PATCH /api/v1/collections/{name}."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name = Field(min_length=1, max_length=255, description="The new name.")


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/collections. A name with a slash in it works as it is."""
    routes = APIRouter(prefix="/api/v1/collections", tags=["Collections"])

    @routes.get("", response_model=None, dependencies=[Depends(at_least("reader"))])
    async def list_collections(caller: Who) -> Response:
        """The collections that the credential reaches, with what the caller may read of them."""
        found = await service.collections(caller.principal)
        shown = [_summary_json(item) for item in found if caller.reaches(item.collection.name)]
        return Json({"collections": shown})

    @routes.get(
        "/{name:path}/facets", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def facets(
        name: Name,
        caller: Who,
        key: Annotated[str, Query(max_length=1_000, description="Only this key.")] = "",
        limit: Annotated[int, Query(ge=1, le=1_000, description="Most values of a key.")] = 10,
    ) -> Response:
        """The metadata of a collection's documents: each key with its most frequent values, and
        how many documents that the caller may read have them."""
        principal = narrow_principal(caller, name)
        found = await service.reading.facets(principal, name, key=well_formed(key), limit=limit)
        return Json({"facets": [wire.dump(item) for item in found]})

    @routes.get(
        "/{name:path}/folders", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def folders(
        name: Name,
        caller: Who,
        below: Annotated[str, Query(max_length=4_096, description="In this folder.")] = "",
        limit: Annotated[int, Query(ge=1, le=10_000, description="Most folders.")] = 1_000,
    ) -> Response:
        """The folders of a collection, or those directly in one of them, with how many documents
        that the caller may read lie in each or deeper."""
        principal = narrow_principal(caller, name)
        found = await service.reading.folders(principal, name, well_formed(below), limit)
        return Json({"folders": [wire.dump(item) for item in found]})

    @routes.get(
        "/{name:path}/documents/{document}/pictures/{picture:path}",
        response_model=None,
        dependencies=[Depends(at_least("reader"))],
        responses=document_responses("image/png", "image/jpeg"),
    )
    @for_guests
    async def picture(
        name: Name,
        document: Annotated[Name, ApiPath(max_length=200)],
        picture: Annotated[Name, ApiPath(max_length=400)],
        caller: Who,
    ) -> Response:
        """A picture of a document that the caller may read, drawn anew as PNG or JPEG: sources and
        blocks name it."""
        principal = narrow_principal(caller, name)
        found = await service.reading.picture(principal, name, document, picture)
        ending = found.media_type.partition("/")[2]
        headers = {"Content-Disposition": f'inline; filename="picture.{ending}"'}
        return Response(base64.b64decode(found.base64), 200, headers, found.media_type)

    @routes.get(
        "/{name:path}/graph", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def graph(
        name: Name,
        caller: Who,
        entity: Annotated[str, Query(max_length=200, description="Only this entity.")] = "",
        limit: Annotated[int, Query(ge=1, le=1_000, description="Most of each kind.")] = 20,
    ) -> Response:
        """What the documents that the caller may read name most, or where one entity is named and
        what is named with it."""
        principal = narrow_principal(caller, name)
        found = await service.graph.show(principal, name, entity=well_formed(entity), limit=limit)
        return Json(wire.dump(found))

    @routes.get(
        "/{name:path}/comments", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def comments(
        name: Name,
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
        return Json(wire.dump(await service.comments.show(principal, name, wanted)))

    @routes.patch("/{name:path}", response_model=None, dependencies=[Depends(at_least("admin"))])
    async def rename(name: Name, body: CollectionName, caller: Who) -> Response:
        """Give a collection another name, at once and without indexing anything anew. Its
        documents, settings, jobs and keys go with it; 409 if another one has the name."""
        principal = narrow_principal(caller, name)
        renamed = await service.rename_collection(principal, name, body.name)
        return Json({"name": renamed.name})

    return routes


def _summary_json(summary: CollectionSummary) -> dict[str, Any]:
    collection = summary.collection
    return {
        "name": collection.name,
        "documents": summary.documents,
        "chunks": summary.chunks,
        "failed": summary.failed,
        "pending": summary.pending,
        "note": summary.note,
        "language": collection.language,
        "model": collection.model,
    }
