"""Responses that are retrieved again: what their conversation keeps of them."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ragstone.answer.first_cited import by_first_citation
from ragstone.core.caller import Caller
from ragstone.core.conversation import ConversationKey, StoredTurn, conversation_key, seconds
from ragstone.core.errors import InputError, UnknownResponse, UnknownRoom
from ragstone.core.turn import Ask, Turn
from ragstone.http.addresses import base_address
from ragstone.http.dialects.openai.requests import CHAT_MODELS
from ragstone.http.identity import Who
from ragstone.http.responses import Json
from ragstone.plugins.responses import shapes
from ragstone.plugins.responses.pages import Page, options
from ragstone.plugins.responses.requests import ResponsesRequest, response_room
from ragstone.plugins.responses.responses import ResponseObject
from ragstone.service import Service
from ragstone.settings import ServerSettings

Object = dict[str, Any]

IN_ONE_READ = 100


class KeptResponses:
    """The responses of a caller: to anybody else they are not there."""

    def __init__(self, service: Service) -> None:
        self._conversations = service.conversations

    async def find(self, caller: Caller, id: str) -> tuple[StoredTurn, str | None]:
        """Return a response as its conversation has it, and the id of the one before it.

        Raises UnknownResponse for one that was not kept, is another user's, or was made from what
        the caller may not read any more.
        """
        turns = self._turns(_room_key(caller, id))
        try:
            async for turn in turns:
                if turn.block.chat_id == id:
                    before = await anext(turns, None)
                    return turn, before.block.chat_id if before else None
        except UnknownRoom:
            pass
        raise UnknownResponse(id)

    async def delete(self, caller: Caller, id: str) -> Object:
        """Delete a response, and nothing else of its conversation; raises UnknownResponse."""
        await self.find(caller, id)
        await self._conversations.remove(_room_key(caller, id), id)
        return {"id": id, "object": "response", "deleted": True}

    async def _turns(self, here: ConversationKey) -> AsyncIterator[StoredTurn]:
        """Yield the turns of a room, the newest first."""
        read = 0
        while page := await self._conversations.entries(here, IN_ONE_READ, read):
            read += len(page)
            for turn in page:
                yield turn


def _room_key(caller: Caller, id: str) -> ConversationKey:
    room = response_room(id)
    if room is None or not caller.principal.user:
        raise UnknownResponse(id)
    return conversation_key(caller.principal, room)


def add_response_routes(routes: APIRouter, kept: KeptResponses, server: ServerSettings) -> None:
    """Add the addresses of responses that were kept."""
    place = "/responses/{id}"

    @routes.get(place, **options("reader", shapes.ResponseAnswer))
    async def retrieve_response(
        id: str, request: Request, caller: Who, stream: bool = False
    ) -> Response:
        """A response of the caller's: its text, citations and usage."""
        if stream:
            raise InputError("A response that is complete is not streamed again: leave stream out.")
        turn, before = await kept.find(caller, id)
        return Json(_response_json(turn, before, base_address(request, server)))

    @routes.delete(place, **options("reader", shapes.Deleted))
    async def delete_response(id: str, caller: Who) -> Response:
        """Delete a response; those before and after it stay."""
        return Json(await kept.delete(caller, id))

    @routes.post(f"{place}/cancel", **options("reader", shapes.ResponseAnswer))
    async def cancel_response(id: str, caller: Who) -> Response:
        """Refuse: only what is made in the background could be cancelled."""
        await kept.find(caller, id)
        raise InputError("Only a response in the background can be cancelled, and there are none.")

    @routes.get(f"{place}/input_items", **options("reader", shapes.ItemList))
    async def list_input_items(id: str, caller: Who, page: Page) -> Response:
        """What a response answers: the question that is kept of its input."""
        turn, _ = await kept.find(caller, id)
        item: Object = {
            "id": f"msg_in_{id.rpartition('_')[2]}",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_text", "text": turn.question}],
        }
        return Json(page.cut([item]))


def _response_json(stored: StoredTurn, previous: str | None, base: str) -> Object:
    """Return the response as it was given, as far as its conversation has kept it."""
    notes, block = stored.notes, stored.block
    model = next(name for name, level in CHAT_MODELS.items() if level == notes.level)
    request = ResponsesRequest(model=model, input=stored.question, previous_response_id=previous)
    made = ResponseObject(request, block.chat_id, base, False, _question_time(stored))
    if block.is_error:
        return made.format_failure("The answer failed; ask again.")
    turn = Turn(
        Ask(stored.question, collection=notes.collection, level=CHAT_MODELS[model]),
        stored.question,
        answer=notes.answer,
        verdicts=notes.verdicts,
        usage=notes.usage,
        trace=notes.trace,
    )
    response = made.whole(by_first_citation(turn))
    return {**response, "status": "cancelled"} if block.status == "idle" else response


def _question_time(stored: StoredTurn) -> float:
    times = [
        conversation.created_at
        for conversation in stored.block.conversations
        if conversation.created_at
    ]
    return seconds(times[0]) if times else stored.at
