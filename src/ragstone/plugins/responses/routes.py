"""The Responses API, with the files and vector stores that it searches."""

import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ragstone.answer.first_cited import number_sources
from ragstone.core.events import Event
from ragstone.http import sse
from ragstone.http.addresses import base_address
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.openai.routes import open_router
from ragstone.http.identity import Who, for_guests, narrow_principal
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.responses import json_unless_left
from ragstone.http.streaming import finish_turn, or_refusal, stream_answer
from ragstone.plugins.responses import shapes
from ragstone.plugins.responses.file_routes import add_file_routes
from ragstone.plugins.responses.kept_files import Files
from ragstone.plugins.responses.kept_responses import KeptResponses, add_response_routes
from ragstone.plugins.responses.members import Members
from ragstone.plugins.responses.requests import ResponsesRequest
from ragstone.plugins.responses.responses import ResponseObject
from ragstone.plugins.responses.store_routes import add_store_routes
from ragstone.plugins.responses.stores import Stores
from ragstone.service import Service
from ragstone.settings import ServerSettings

NOTHING_YET = "There are no documents in this vector store yet."


def router(parts: DialectParts) -> APIRouter:
    """Responses, files and vector stores."""
    service, server = parts.service, parts.settings.server
    routes = open_router()
    # Whoever switches OpenAI's API off means all of /v1.
    if "openai" in parts.settings.dialects.off:
        return routes
    files = Files(parts.settings.ragstone_data)
    members = Members(service, files)
    stores = Stores(service, members)
    kept = KeptResponses(service)
    _add_responses(routes, service, server, stores, kept)
    add_response_routes(routes, kept, server)
    add_file_routes(routes, service, files)
    add_store_routes(routes, stores, members)
    return routes


def _add_responses(
    routes: APIRouter, service: Service, server: ServerSettings, stores: Stores, kept: KeptResponses
) -> None:
    @routes.post(
        "/responses",
        response_model=None,
        responses=document_responses("application/json", STREAM, shape=shapes.ResponseAnswer),
    )
    @for_guests
    async def responses(body: ResponsesRequest, request: Request, caller: Who) -> Response:
        """Answer the last message of the input from the documents, streamed or in one piece."""
        asked = body.ask(uuid.uuid4().hex)
        if body.previous_response_id:
            await kept.find(caller, body.previous_response_id)
        lists = server.list_sources if body.list_sources is None else body.list_sources
        made = ResponseObject(body, asked.id, base_address(request, server), lists)
        ask = replace(asked, principal=caller.principal, streams=bool(body.stream))
        events = service.ask(ask)
        if not ask.pictures:
            narrow_principal(caller, ask.collection)
            if body.search_tool and await stores.is_empty(caller, ask.collection):
                events = or_refusal(ask, events, NOTHING_YET)
        events = number_sources(events)
        if body.stream:
            return sse.EventStream(stream_answer(events, made, named=True))
        return await json_unless_left(request, _whole(made, events))


async def _whole(made: ResponseObject, events: AsyncGenerator[Event, None]) -> dict[str, Any]:
    return made.whole(await finish_turn(events))
