"""Conversations over HTTP: a caller's own, and for an admin those of any user of the tenant."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from ragstone.core.caller import Caller
from ragstone.core.conversation import LONGEST_NAME, ConversationKey, conversation_key, user_name
from ragstone.core.errors import Forbidden, InvalidBlock
from ragstone.core.turn import Principal, SearchType
from ragstone.http.bodies import Body
from ragstone.http.identity import Who
from ragstone.http.responses import Json
from ragstone.service import Service, wire
from ragstone.service.conversations import Format

User = Annotated[
    str | None,
    Query(max_length=LONGEST_NAME, description="Whose; your own, unless you are an admin."),
]
Account = Annotated[
    str | None, Query(max_length=LONGEST_NAME, description="The client's own account of the user.")
]
Limit = Annotated[int, Query(ge=1, le=500)]
Offset = Annotated[int, Query(ge=0, le=2**53)]


class Rename(Body):
    """The body of PATCH /api/v1/conversations/{room}."""

    title: str = Field(min_length=1, max_length=1000, description="What it is called from now on.")


class Forget(Body):
    """The body of POST /api/v1/conversations/forget."""

    user: str | None = Field(
        None, max_length=LONGEST_NAME, description="Whose; your own if absent."
    )
    user_id: str | None = Field(
        None, max_length=LONGEST_NAME, description="Only this account of the client."
    )


def router(service: Service) -> APIRouter:
    """The routes below /api/v1/conversations. A room id with a slash in it works as it is."""
    routes = APIRouter(prefix="/api/v1/conversations", tags=["Conversations"])

    @routes.get("", response_model=None)
    async def rooms(
        caller: Who,
        user: User = None,
        user_id: Account = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> Response:
        """Rooms, the newest first."""
        whose = conversation_principal(caller, user)
        found = await service.conversations.rooms(whose, user_id, limit, offset)
        return Json(
            {"conversations": [wire.room(room) for room in found.rooms], "total": found.total}
        )

    @routes.post("/forget", response_model=None)
    async def forget(body: Forget, caller: Who) -> Response:
        """Erase a user: conversations, statistics, documents of their own, jobs and keys."""
        whose = conversation_principal(caller, body.user)
        return Json(wire.dump(await service.conversations.forget(whose, body.user_id)))

    @routes.post("/import", response_model=None)
    async def take_in(request: Request, caller: Who, user: User = None) -> Response:
        """Add the turns of a list of blocks, or of an export, which is the body; all or none."""
        whose = conversation_principal(caller, user)
        try:
            text = (await request.body()).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidBlock("The file is not in UTF-8.") from error
        return Json({"added": await service.conversations.take_in(whose, text)})

    _add_room(routes, service)
    return routes


def _add_room(routes: APIRouter, service: Service) -> None:
    @routes.get("/{room:path}", response_model=None)
    async def turns(
        room: str,
        caller: Who,
        user: User = None,
        user_id: str = "",
        limit: Limit = 50,
        offset: Offset = 0,
        export: Annotated[
            Format | None, Query(description="The whole conversation as a file instead.")
        ] = None,
        tokens: Annotated[
            SearchType | None, Query(description="Only how many tokens turns of this type took.")
        ] = None,
    ) -> Response:
        """Turns, the newest first, with their blocks, sources and verdicts."""
        here = request_conversation_key(caller, user, room, user_id)
        if tokens is not None:
            return Json({"tokens": await service.conversations.tokens(here, tokens)})
        if export is not None:
            return _file(await service.conversations.export(here, export), export)
        found = await service.conversations.entries(here, limit, offset)
        return Json(
            {"room": room, "user_id": user_id, "turns": [wire.entry(item) for item in found]}
        )

    @routes.patch("/{room:path}", response_model=None)
    async def rename(
        room: str, body: Rename, caller: Who, user: User = None, user_id: str = ""
    ) -> Response:
        """Give a conversation another title."""
        here = request_conversation_key(caller, user, room, user_id)
        return Json({"title": await service.conversations.rename(here, body.title)})

    @routes.delete("/{room:path}", response_model=None)
    async def delete(room: str, caller: Who, user: User = None, user_id: str = "") -> Response:
        """Delete a conversation with all its turns."""
        await service.conversations.delete(request_conversation_key(caller, user, room, user_id))
        return Json({"deleted": room})


def conversation_principal(caller: Caller, user: str | None) -> Principal:
    """Whose conversations are meant; raises Forbidden for somebody else's."""
    own = caller.principal
    user = user if user is None else user_name(user)
    if user is None or user == own.user:
        return own
    if not caller.may("admin"):
        raise Forbidden("Only an admin may name another user. Leave user out.")
    return replace(own, user=user, groups=())


def request_conversation_key(
    caller: Caller, user: str | None, room: str, user_id: str
) -> ConversationKey:
    """The room that is meant; raises Forbidden, InvalidRoom."""
    return conversation_key(conversation_principal(caller, user), room, user_id)


FILES: Mapping[Format, tuple[str, str]] = {
    "json": ("application/json", "json"),
    "markdown": ("text/markdown", "md"),
    "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
}
"""Media type and ending of each form."""


def _file(text: str, form: Format) -> Response:
    kind, ending = FILES[form]
    saved = {"content-disposition": f'attachment; filename="conversation.{ending}"'}
    content = base64.b64decode(text) if form == "docx" else text.encode("utf-8", "replace")
    return Response(content, media_type=kind, headers=saved)
