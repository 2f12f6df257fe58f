"""Collections over HTTP: what there is, and giving one another name."""

import base64
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi import Path as ApiPath
from pydantic import AfterValidator
from starlette.responses import Response

from ragstone.http.identity import Who, at_least, for_guests, narrow_principal
from ragstone.http.openapi import document_responses
from ragstone.http.responses import Json, well_formed
from ragstone.service import CollectionSummary, Service

Name = Annotated[str, AfterValidator(well_formed)]


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
