"""Question answering on somebody's own site: the page of the widget, and its questions.

A script of ours frames the page of the widget in the site's. So the site cannot read what the
widget asks with, nor the widget what the site has. Its page gets a session of the widget's key from
here, which is for no other page, and asks with it; nothing else can be done with that.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from ragstone.access.rates import Rates
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.caller import Caller
from ragstone.core.errors import Forbidden, TooManyRequests, UnknownKey
from ragstone.core.events import Done, Event, StageStarted, Token
from ragstone.core.records import ApiKey
from ragstone.core.source import Source, citation_sources
from ragstone.core.turn import Ask, Message, Turn
from ragstone.http import sse, web
from ragstone.http.bodies import ClosedBody, Text
from ragstone.http.identity import Who
from ragstone.http.responses import Json
from ragstone.http.streaming import hold_opening, stream_answer
from ragstone.service import Service

SHARED = frozenset({"/web/widget.js"})
"""What pages of other sites load: the script that frames the page."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {sites}"
)
SESSIONS = 300
"""Sessions that one address gets in a minute, where requests are not limited otherwise: visitors
behind one proxy share it."""

Id = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The id of the widget's key.")]


class WidgetMessage(ClosedBody):
    """An earlier message of the conversation."""

    role: Literal["user", "assistant"]
    text: Text = Field(max_length=20_000)


class WidgetQuestion(ClosedBody):
    """The body of POST /widget/{id}/ask."""

    question: Text = Field(min_length=1, max_length=4_000, description="What is asked.")
    history: list[WidgetMessage] = Field(
        [], max_length=20, description="What was said before, the oldest first."
    )


class WidgetTranscript:
    """The events of an answer as the widget reads them: steps, pieces of text, and the end with
    the sources that are cited."""

    def encode(self, event: Event) -> list[dict[str, Any]]:
        match event:
            case StageStarted(stage):
                return [{"type": "step", "stage": stage}]
            case Token(text) if text:
                return [{"type": "token", "text": text}]
            case Done(turn):
                return [_end(turn)]
        return []

    def encode_failure(self, error: Any, used: Any) -> dict[str, Any]:
        return {"type": "error", "code": error.code, "message": error.message}


def router(service: Service, rates: Rates, limit: int) -> APIRouter:
    """The routes of widgets; `limit` are the requests that a credential may send in a minute."""
    routes = APIRouter(prefix="/widget", tags=["Widget"])

    @routes.get("/{id}", response_model=None, include_in_schema=False)
    async def page(id: Id) -> Response:
        """The page that is framed; only the widget's sites may."""
        key = await service.keys.widget(id)
        return await _page(key)

    @routes.post("/{id}/session", response_model=None, include_in_schema=False)
    async def session(id: Id, request: Request) -> Response:
        """What the page asks with; for the page itself, not for what frames it."""
        if request.headers.get("sec-fetch-site") != "same-origin":
            raise Forbidden("Only the page of the widget gets its session.")
        peer = request.client.host if request.client else ""
        allowance = await rates.take(f"requests:widget:{peer}", limit or SESSIONS)
        if allowance.wait:
            raise TooManyRequests(
                "Too many sessions for one address. Try again in a minute.", allowance.wait
            )
        made = await service.keys.session(id)
        return Json({"session": made.secret, "ends_at": made.ends_at})

    @routes.post("/{id}/ask", response_model=None)
    async def ask(id: Id, body: WidgetQuestion, caller: Who) -> Response:
        """Answer a question of a visitor, as a stream of events."""
        _check(caller, id)
        key = await service.keys.widget(id)
        history = tuple(Message(message.role, message.text) for message in body.history)
        question = Ask(
            body.question, principal=caller.principal, collection=_collection(key), history=history
        )
        return sse.EventStream(
            stream_answer(hold_opening(service.ask(question)), WidgetTranscript())
        )

    return routes


async def _page(key: ApiKey) -> Response:
    found = await web.read("widget.html")
    headers = {
        "content-type": found.media_type,
        "content-security-policy": POLICY.format(sites=" ".join(key.sites or ("'none'",))),
        "cross-origin-resource-policy": "cross-origin",
        "cache-control": "no-cache",
    }
    return Response(found.content, headers=headers)


def _check(caller: Caller, id: str) -> None:
    """Raise Forbidden for what is not a session of this widget."""
    if not caller.only_asks or caller.key != f"key:{id}":
        raise Forbidden("This address is for the sessions of this widget alone.")


def _collection(key: ApiKey) -> str:
    """Return the collection that a widget asks: the one that its key reaches, or the usual one.
    Raises UnknownKey for a key whose collections are gone."""
    if key.collections is None:
        return "default"
    if not key.collections:
        raise UnknownKey(key.id)
    return key.collections[0]


def _end(turn: Turn) -> dict[str, Any]:
    answer = turn.answer or GeneratedAnswer(finish="error")
    return {
        "type": "answer",
        "text": answer.text,
        "finish": answer.finish,
        "confidence": answer.confidence,
        "supported": answer.supported.holds if answer.supported else None,
        "sources": [
            _source(source) for source in citation_sources(answer.citations, turn.passages)
        ],
    }


def _source(source: Source) -> dict[str, Any]:
    """What a visitor sees of a source: no path, no id, and its address only if it is on the web."""
    return {
        "number": source.number,
        "title": source.title or source.filename,
        "page": source.page,
        "section": source.section[-1] if source.section else "",
        "snippet": source.snippet,
        "url": source.url,
    }
