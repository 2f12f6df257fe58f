"""`/chat/{chat_id}`: the RAG Pipeline V5, with the documents of each chat in a collection of its
own."""

import json
import uuid
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Form, Path, Request, UploadFile
from pydantic import Field
from starlette.responses import Response

from ragstone.core.answer import GeneratedAnswer
from ragstone.core.caller import Caller
from ragstone.core.chunk import Chunk
from ragstone.core.errors import InputError
from ragstone.core.events import Done, Event, Token
from ragstone.core.intent import Intent
from ragstone.core.metadata import check_input_metadata
from ragstone.core.source import sources
from ragstone.core.turn import Ask, Turn
from ragstone.http import sse
from ragstone.http.bodies import StrictBody, Text
from ragstone.http.dialects import DialectParts
from ragstone.http.identity import Who, at_least, for_guests, narrow_principal
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.responses import Json, json_unless_left
from ragstone.http.streaming import Transcript, or_refusal, stream_answer, token
from ragstone.language.language import detect, no_answer
from ragstone.plugins.chats.documents import ChatDocuments
from ragstone.service import wire

Object = dict[str, Any]

INTENTS = {"follow_up": "followup", "summary": "summarize", "thanks": "gratitude"}
"""V5's names of kinds of messages. Other small talk has our names, the rest is a question."""

MAX_FILES = 100
MAX_METADATA = 100_000

ChatId = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description="Letters, digits, . _ and -."),
]


class ChatsMessage(StrictBody):
    """The body of POST /chat/{chat_id}/stream."""

    message: Text = Field(min_length=1, max_length=20_000)
    session_id: Text | None = Field(
        None, min_length=1, max_length=128, description="Whose memory it is; else the chat's."
    )

    def ask(self, chat_id: str, caller: Caller) -> Ask:
        """Return the question; raises UnknownCollection."""
        collection = chat_collection(chat_id)
        narrow_principal(caller, collection)
        return Ask(
            question=self.message,
            principal=caller.principal,
            collection=collection,
            room=f"session_{self.session_id or chat_id}",
            id=f"chat-{uuid.uuid4().hex}",
            profile="chats",
        )


class ChatStream(Transcript):
    """token, sources, done: what the stream says."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._spoke = False

    def encode(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        match event:
            case Token(text):
                self._spoke = True
                return token(text)
            case Done(turn):
                answer = turn.answer or GeneratedAnswer()
                return [
                    *token("" if self._spoke else answer.text),
                    {"type": "sources", "sources": _sources(turn)},
                    {
                        "type": "done",
                        "is_grounded": is_grounded(turn),
                        "groundedness_score": answer.groundedness_score,
                        "state": state(turn),
                        **wire.statements(turn),
                        "session_id": self._session,
                    },
                ]
        return []


def router(parts: DialectParts) -> APIRouter:
    """The routes below /chat."""
    service, settings = parts.service, parts.settings
    routes = APIRouter(prefix="/chat/{chat_id}", tags=["Chats"])
    documents = ChatDocuments(service, settings.ragstone_data)
    editor = [Depends(at_least("editor"))]

    @routes.post(
        "/stream", response_model=None, responses=document_responses("application/json", STREAM)
    )
    @for_guests
    async def stream(chat_id: ChatId, body: ChatsMessage, caller: Who) -> Response:
        """Answer a message from the chat's documents as events: token, sources, done."""
        ask = body.ask(chat_id, caller)
        refusal = no_answer(settings.rag.no_answer, detect(body.message))
        events = or_refusal(ask, service.ask(ask), refusal)
        return sse.EventStream(stream_answer(events, ChatStream(body.session_id or chat_id)))

    @routes.post("/documents", response_model=None, dependencies=editor)
    async def upload(
        chat_id: ChatId,
        request: Request,
        caller: Who,
        files: Annotated[list[UploadFile], File(min_length=1, max_length=MAX_FILES)],
        metadata: Annotated[
            str, Form(max_length=MAX_METADATA, description="A JSON object: of every file.")
        ] = "",
    ) -> Response:
        """Index files for this chat; one that cannot be read spoils no other. A file of the same
        name takes the place of the one before."""
        collection, said = _chat_collection(chat_id, caller), _metadata(metadata)
        return await json_unless_left(request, documents.add(caller, collection, files, said))

    @routes.get("/documents", response_model=None)
    async def list_documents(chat_id: ChatId, caller: Who) -> Response:
        """The chat's documents."""
        found = await documents.list_all(caller, _chat_collection(chat_id, caller))
        return Json({"documents": found, "total": len(found)})

    @routes.delete("/documents", response_model=None, dependencies=editor)
    async def delete_all(chat_id: ChatId, caller: Who) -> Response:
        """Forget all documents of the chat."""
        return Json({"deleted": await documents.clear(caller, _chat_collection(chat_id, caller))})

    @routes.delete("/documents/{document_id}", response_model=None, dependencies=editor)
    async def delete(
        chat_id: ChatId, document_id: Annotated[str, Path(max_length=255)], caller: Who
    ) -> Response:
        """Forget one document, by its id or its name."""
        deleted = await documents.remove(caller, _chat_collection(chat_id, caller), document_id)
        return Json({"deleted": deleted, "id": document_id})

    return routes


def chat_collection(chat_id: str) -> str:
    """Return the collection of a chat's documents."""
    return f"chat_{chat_id}"


def is_grounded(turn: Turn) -> bool | None:
    """Return the check's verdict; what claims nothing from any source is grounded, and of what was
    not checked nobody knows."""
    answer = turn.answer or GeneratedAnswer()
    if answer.is_grounded is None and (answer.refused or not turn.passages):
        return True
    return answer.is_grounded


def state(turn: Turn) -> Object:
    """The state of V5's document at the end; the text of documents is in `sources`."""
    intent, rewriting = turn.intent, turn.plan.rewrite
    # Of documents also where the chat has none, or where the answer was known.
    asks = turn.analysis is not None or bool(turn.recalled and turn.recalled.content)
    complexity = "complex" if turn.analysis and turn.analysis.is_complex else "simple"
    ended = [item for item in turn.trace if not item.inside]
    found = dict.fromkeys(item.chunk_id for ranked in turn.lists for item in ranked.found)
    return {
        "detected_intent": _intent_name(intent) if intent else None,
        "intent_confidence": intent.confidence if intent else 0.0,
        "query_complexity": complexity if asks or turn.lists else "conversational",
        "skip_rewrite": rewriting in ("auto", "none"),
        "retrieved_documents": [_document(turn.chunks[id]) for id in found if id in turn.chunks],
        "relevant_documents": [_document(passage.hit.chunk) for passage in turn.passages],
        "iteration": turn.iteration,
        "max_iterations": turn.max_iterations,
        "errors": [item.stage for item in ended if item.status in ("failed", "timeout")],
        "processing_steps": [item.stage for item in ended if item.decision != "skipped"],
    }


def _intent_name(intent: Intent) -> str:
    name = intent.talk or intent.name
    return INTENTS.get(name, name if intent.talk else "question")


def _document(chunk: Chunk) -> Object:
    return {"id": chunk.chunk_id, "name": chunk.path.rpartition("/")[2], "page": chunk.page}


def _chat_collection(chat_id: str, caller: Caller) -> str:
    collection = chat_collection(chat_id)
    narrow_principal(caller, collection)
    return collection


def _metadata(field: str) -> Object:
    """Return the metadata in a field of a form; raises InputError."""
    try:
        return check_input_metadata(json.loads(field)) if field else {}
    except (ValueError, RecursionError) as error:
        raise InputError('metadata must be a JSON object, such as {"year": 2023}.') from error


def _sources(turn: Turn) -> list[Object]:
    shown = () if (turn.answer or GeneratedAnswer()).refused else sources(turn)
    return [
        {
            **wire.source(source),
            "id": source.chunk_id,
            "name": source.filename,
            "content": source.content,
            "chunk_index": source.chunk_index,
        }
        for source in shown
    ]
