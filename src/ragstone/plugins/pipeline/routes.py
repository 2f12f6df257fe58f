"""Chat completions of the query pipeline: documents, conversation, tools or images, by `mode`.

Requests of the query pipeline, translated to questions.

An answer as the query pipeline's RAGResponse, whole or as events.
"""

import uuid
from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from ragstone.answer.citation_list import SpeltOut, spell_out_markers
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.caller import Caller
from ragstone.core.errors import InputError, RagstoneError
from ragstone.core.events import AgentStep, Done, Event, Note, Sources, Thinking, Token
from ragstone.core.filters import path_filter
from ragstone.core.source import Source, describe_pictures, passage_sources, sources
from ragstone.core.turn import Ask, Level, SearchOptions, SearchType, Turn
from ragstone.http import sse
from ragstone.http.bodies import Approval, Name, NullableBody, Text
from ragstone.http.dialects import DialectParts
from ragstone.http.dialects.pictures import pictures
from ragstone.http.dialects.strategies import StrategyName, find_strategy
from ragstone.http.identity import Who, for_guests, narrow_principal
from ragstone.http.openapi import STREAM, document_responses
from ragstone.http.responses import Json, json_unless_left
from ragstone.http.streaming import Transcript, finish_turn, stream_answer, token
from ragstone.retrieve.penalties import score_share
from ragstone.service import wire

PREVIEW_CHARS = 200


def rag_response(turn: Turn) -> dict[str, Any]:
    """The structure as the document prints it, whether the sources support the answer, and the two
    statements. What is not known, as the confidence in an answer without documents, is null."""
    answer = turn.answer or GeneratedAnswer()
    return {
        "content": spell_out_markers(answer.text) if turn.passages else answer.text,
        "sources": [_source(source) for source in sources(turn)],
        "confidence_score": answer.confidence,
        "confidence_level": answer.confidence_level,
        "suggested_questions": list(answer.suggested),
        "context_sufficiency": asdict(answer.sufficiency) if answer.sufficiency else None,
        "is_grounded": answer.is_grounded,
        "groundedness_score": answer.groundedness_score,
        **wire.statements(turn),
    }


def _source(source: Source) -> dict[str, Any]:
    """Return a source; `[Source n]` in the content is the nth of them.

    Its relevance is comparable across questions: the score that ranked it is not, as the first of
    any ranking has nearly 1.
    """
    similarity = source.dense if source.similarity is None else source.similarity
    measured = (source.rerank, similarity, source.score)
    relevance = next(value for value in measured if value is not None)
    return {
        "document_id": source.document_id,
        "document_name": source.filename,
        "chunk_id": source.chunk_id,
        "page_number": source.page,
        "snippet": source.content[:PREVIEW_CHARS],
        "relevance_score": round(score_share(source) * relevance, 6),
        "similarity_score": similarity,
        **describe_pictures(source),
    }


class RagStream(Transcript):
    """The same in pieces: sources, tokens, thoughts, and the whole structure at the end."""

    def __init__(self) -> None:
        self._markers = SpeltOut()
        self._sourced = False

    def encode(self, event: Event) -> list[dict[str, Any]]:
        """Return the data sent to the client for an event."""
        match event:
            case Sources(passages):
                self._sourced = bool(passages)
                shown = [_source(source) for source in passage_sources(passages)]
                return [{"type": "sources", "sources": shown}]
            case Token(text):
                return token(self._markers.feed(text) if self._sourced else text)
            case Thinking(text):
                return [{"type": "thinking", "content": text}]
            case Note(_, text):
                return [{"type": "status", "content": text}]
            case AgentStep() as step:
                told = wire.agent_step(step)
                return [{"type": "status", "content": step.text, "tool": told}]
            case Done(turn):
                end = {"type": "done", **rag_response(turn)}
                return [*token(self._markers.end()), end]
        return []

    def encode_failure(self, error: RagstoneError, used: Usage) -> dict[str, Any]:
        """Return the last event of an answer that cannot go on."""
        return {"type": "error", "content": error.message, "code": error.code}


Mode = Literal["chat", "general", "agent", "vision"]

ANSWERED_FROM: dict[Mode, SearchType] = {
    "chat": "rag",
    "general": "gpt",
    "agent": "pa",
    "vision": "gpt",
}
"""What each mode answers from: documents, the conversation alone, documents and tools."""


class PipelineRequest(NullableBody):
    """The body of a chat completion."""

    message: Text = Field(description="The user's question.")
    session_id: Name | None = Field(None, description="The conversation that it belongs to.")
    mode: Mode = Field("chat", description="Documents, no documents, tools too, or images.")
    collection_filter: Name | Annotated[list[Name], Field(max_length=100)] | None = Field(
        None, description="Which collection to search."
    )
    folder_id: Annotated[Text, Field(max_length=4096)] | None = Field(
        None, description="A folder of the collection, by its path."
    )
    intelligence_level: Level = Field("standard", description="How much work to spend.")
    strategy: StrategyName | None = None
    temperature_override: float | None = Field(None, ge=0, le=2, description="Sampling.")
    enable_cot: bool | None = Field(None, description="Whether it is reasoned out first.")
    enable_verification: bool | None = Field(None, description="Whether the answer is judged.")
    ensemble_voting: bool | None = Field(None, description="Whether several answers vote.")
    images: list[str] = Field(
        [], max_length=100, description="For mode vision: data URLs or base64."
    )
    stream: bool = Field(False, description="Whether the answer comes as events.")
    mcp_org: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")] = Field(
        "", description="For mode agent: whose tools of the gateway may be called."
    )
    approves: bool = Field(
        False,
        description="For mode agent with stream: whether calls of tools that change anything wait "
        "for an approval.",
    )

    def ask(self, caller: Caller, id: str) -> Ask:
        """Return the question of this caller; raises InputError, TooLarge."""
        if self.images and self.mode != "vision":
            raise InputError("Images are looked at in the mode vision.")
        if self.mode == "vision" and not self.images:
            raise InputError("The mode vision needs images: data URLs or base64 in images.")
        wanted = find_strategy(self.strategy)
        return Ask(
            question=self.message,
            principal=caller.principal,
            collection=self._collection(),
            level=self.intelligence_level,
            search_type=ANSWERED_FROM[self.mode],
            strategy=wanted.strategy,
            wanted=SearchOptions(rewrite=wanted.rewrite),
            where=path_filter(self.folder_id) if self.folder_id else None,
            room=self.session_id or None,
            temperature=self.temperature_override,
            reasons=self.enable_cot,
            verifies=wanted.verifies or self.enable_verification,
            votes=self.ensemble_voting,
            pictures=pictures(self.images),
            one_session=True,
            organisation=self.mcp_org,
            # Who gets the answer in one piece sees no call that waits.
            approves=self.approves and self.stream,
            id=id,
            profile="pipeline",
            streams=self.stream,
        )

    def _collection(self) -> str:
        named = self.collection_filter
        names = [named] if isinstance(named, str) else named or []
        if len(names) > 1:
            raise InputError("A question is answered from one collection; name one of them.")
        return (names[0] if names else "") or "default"


Step = Annotated[str, Path(max_length=100)]


def router(parts: DialectParts) -> APIRouter:
    """The routes below /api."""
    service = parts.service
    routes = APIRouter(prefix="/api", tags=["Query pipeline"])

    answers = document_responses("application/json", STREAM)

    @routes.post("/v1/chat/completions", response_model=None, responses=answers)
    @routes.post("/chat/completions", response_model=None, responses=answers)
    @for_guests
    async def create_chat_completion(
        body: PipelineRequest, request: Request, caller: Who
    ) -> Response:
        """Answer a message, streamed or in one piece."""
        ask = body.ask(caller, str(uuid.uuid4()))
        if ask.search_type != "gpt":
            narrow_principal(caller, ask.collection)
        events = service.ask(ask)
        if body.stream:
            return sse.EventStream(stream_answer(events, RagStream()))
        return await json_unless_left(request, _response_json(events))

    @routes.post("/v1/chat/approvals/{id}", response_model=None)
    @routes.post("/chat/approvals/{id}", response_model=None)
    async def approve(id: Step, body: Approval, caller: Who) -> Response:
        """Approve or decline a call of a tool, whose status came in the caller's stream."""
        await service.approve(caller.principal, id, body.approved)
        return Json({"id": id, "approved": body.approved})

    return routes


async def _response_json(events: AsyncGenerator[Event, None]) -> dict[str, Any]:
    return rag_response(await finish_turn(events))
