"""A dialect of one route: POST /quick with a question, and the answer as plain JSON."""

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from ragstone.core.turn import Ask
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, narrow_principal
from ragstone.http.responses import Json, unless_left
from ragstone.http.streaming import finish_turn


class QuickRequest(BaseModel):
    """The body of POST /quick."""

    question: str = Field(min_length=1, max_length=10_000)
    collection: str = Field("default", max_length=255)


def router(parts: DialectParts) -> APIRouter:
    """POST /quick."""
    routes = APIRouter(tags=["Quick"])

    @routes.post("/quick", response_model=None)
    async def quick(body: QuickRequest, request: Request, caller: Who) -> Response:
        """Answer one question, whole."""
        # What the credential does not reach is as if it did not exist.
        principal = narrow_principal(caller, body.collection)
        ask = Ask(body.question, principal=principal, collection=body.collection)
        return await unless_left(request, _answered(parts, ask))

    return routes


async def _answered(parts: DialectParts, ask: Ask) -> Response:
    turn = await finish_turn(parts.service.ask(ask))
    answer = turn.answer
    text = answer.text if answer else ""
    sources = [citation.path for citation in answer.citations] if answer else []
    return Json({"answer": text, "sources": sources})
