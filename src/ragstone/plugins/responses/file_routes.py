"""`/v1/files`: files that their owner keeps, to be put into vector stores."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, Path, Query, UploadFile
from fastapi.responses import FileResponse
from starlette.responses import Response

from ragstone.http.identity import Who
from ragstone.http.responses import Json
from ragstone.http.uploads import check_name
from ragstone.plugins.responses import shapes
from ragstone.plugins.responses.contract import VECTOR_STORES
from ragstone.plugins.responses.kept_files import Files, KeptFile
from ragstone.plugins.responses.members import find_file
from ragstone.plugins.responses.pages import FilePage, options
from ragstone.service import Service

Id = Annotated[str, Path(max_length=255)]
Purpose = Literal["assistants", "batch", "fine-tune", "vision", "user_data", "evals"]
Anchor = Annotated[Literal["created_at"], Form(alias="expires_after[anchor]")]
Seconds = Annotated[int | None, Form(alias="expires_after[seconds]", ge=3_600, le=2_592_000)]


def add_file_routes(routes: APIRouter, service: Service, files: Files) -> None:
    """Add the addresses of files."""

    @routes.post("/files", **options("editor", shapes.FileObject))
    async def upload_file(
        caller: Who,
        file: Annotated[UploadFile, File()],
        purpose: Annotated[Purpose, Form()] = "assistants",
        anchor: Anchor = "created_at",
        seconds: Seconds = None,
    ) -> Response:
        """Keep a file until it is deleted, or for some seconds. Nobody else can use it until it is
        put into a vector store."""
        name = check_name(file)
        kept = await asyncio.to_thread(
            files.add, caller.principal, file.file, name, purpose, seconds
        )
        return Json(_file_json(kept))

    @routes.get("/files", **options("editor", shapes.FileList))
    async def list_files(
        caller: Who, page: FilePage, purpose: Annotated[str | None, Query(max_length=64)] = None
    ) -> Response:
        """The caller's files."""

        def read_list() -> Response:
            mine = files.list_all(caller.principal)
            found = [_file_json(item) for item in mine if purpose in (None, item.purpose)]
            return Json(page.cut(found))

        return await asyncio.to_thread(read_list)

    @routes.get("/files/{file_id}", **options("editor", shapes.FileObject))
    async def retrieve_file(file_id: Id, caller: Who) -> Response:
        """One of them."""
        return Json(_file_json(await find_file(files, caller, file_id)))

    @routes.get("/files/{file_id}/content", **options("editor"))
    async def file_content(file_id: Id, caller: Who) -> Response:
        """What it holds."""
        found = await find_file(files, caller, file_id)
        return FileResponse(found.content, media_type="application/octet-stream")

    @routes.delete("/files/{file_id}", **options("editor", shapes.Deleted))
    async def delete_file(file_id: Id, caller: Who) -> Response:
        """Delete a file, and what was made of it in every vector store."""
        await VECTOR_STORES.of(service).delete_file(caller.principal, file_id)
        return Json({"id": file_id, "object": "file", "deleted": True})


def _file_json(file: KeptFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": int(file.created_at),
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
        "expires_at": None if file.expires_at is None else int(file.expires_at),
    }
