"""Backups and examinations, for the command line on the same machine: they name its files."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ragstone.http import sse
from ragstone.http.local import stream
from ragstone.http.middleware import operator_only
from ragstone.service import Service, wire


class File(BaseModel):
    """The body of POST /local/backup and /local/restore."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    file: str = Field(min_length=1, max_length=4096, description="A path on the server's machine.")


def router(service: Service) -> APIRouter:
    """The routes below /local that look after the whole."""
    routes = APIRouter(
        prefix="/local", include_in_schema=False, dependencies=[Depends(operator_only)]
    )

    @routes.post("/backup", response_model=None)
    async def backup(body: File) -> Response:
        """Write a backup, as a stream of progress."""
        return sse.EventStream(stream(service.maintenance.back_up(body.file), wire.dump))

    @routes.post("/restore", response_model=None)
    async def restore(body: File) -> Response:
        """Put a backup in the place of everything, as a stream of progress."""
        return sse.EventStream(stream(service.maintenance.restore(body.file), wire.dump))

    @routes.post("/doctor", response_model=None)
    async def doctor(mend: Annotated[bool, Body(embed=True)] = True) -> Response:
        """Find what disagrees, and mend it, as a stream of progress."""
        return sse.EventStream(stream(service.maintenance.examine(mend), wire.dump))

    return routes
