"""Who may read documents, and why, over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragstone.core.readers import normalize_folder
from ragstone.http.identity import Who, at_least, narrow_principal
from ragstone.http.responses import Json, well_formed
from ragstone.service import Service, wire

Name = Annotated[str, AfterValidator(well_formed)]
Reader = Annotated[Name, Field(max_length=1_000)]
Place = Annotated[Name, Field(max_length=4_096)]
Readers = Annotated[
    list[Reader],
    Field(
        max_length=1_000,
        description="`*` for everyone, `user:NAME`, `group:NAME`; none for those of above.",
    ),
]


class DocumentReadersBody(BaseModel):
    """The body of PUT /api/v1/collections/{name}/readers: the documents of which all is so that is
    said, which must be something."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    readers: Readers
    paths: list[Place] | None = Field(
        None, max_length=10_000, description="Ids or paths of documents, or folders."
    )
    below: Place = Field("", description="In this folder or deeper.")
    having: dict[str, str | int | float | bool] | None = Field(
        None, max_length=100, description="With these values in their metadata."
    )


class FolderReadersBody(BaseModel):
    """The body of PUT /api/v1/collections/{name}/folder-readers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Place = Field("", description="A folder; empty for the whole collection.")
    readers: Readers


def router(service: Service) -> APIRouter:
    """Routes below /api/v1/collections."""
    routes = APIRouter(prefix="/api/v1/collections", tags=["Collections"])

    @routes.get(
        "/{name:path}/readers", response_model=None, dependencies=[Depends(at_least("reader"))]
    )
    async def explain(
        name: Name,
        caller: Who,
        path: Annotated[str, Query(max_length=4_096, description="A path, or a document's id.")],
    ) -> Response:
        """Who may read a document, and why. An administrator asks of any document, and of a path
        where none is yet."""
        principal = narrow_principal(caller, name)
        found = await service.readers.explain(
            principal, name, well_formed(path), admin=caller.may("admin")
        )
        return Json(wire.dump(found))

    @routes.put(
        "/{name:path}/readers", response_model=None, dependencies=[Depends(at_least("admin"))]
    )
    async def give(name: Name, body: DocumentReadersBody, caller: Who) -> Response:
        """Set the readers of documents at once, without reading their files again; how many
        documents it concerned. Without readers they have those of their folders again."""
        principal = narrow_principal(caller, name)
        count = await service.readers.give(
            principal,
            name,
            body.readers,
            paths=body.paths,
            below=body.below,
            having=body.having,
        )
        return Json({"documents": count})

    @routes.get(
        "/{name:path}/folder-readers",
        response_model=None,
        dependencies=[Depends(at_least("admin"))],
    )
    async def folders(name: Name, caller: Who) -> Response:
        """The folders that have readers of their own; an empty one is the collection."""
        found = await service.readers.folders(narrow_principal(caller, name), name)
        return Json({"folders": [wire.dump(rule) for rule in found]})

    @routes.put(
        "/{name:path}/folder-readers",
        response_model=None,
        dependencies=[Depends(at_least("admin"))],
    )
    async def set_folder(name: Name, body: FolderReadersBody, caller: Who) -> Response:
        """Set the readers of a folder or of the collection, for what is there and what comes."""
        principal = narrow_principal(caller, name)
        await service.readers.set_folder(principal, name, body.folder, body.readers)
        return Json({"folder": normalize_folder(body.folder), "readers": body.readers})

    return routes
