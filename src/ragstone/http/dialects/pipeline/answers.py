"""An answer as the query pipeline's RAGResponse, whole or as events."""

from dataclasses import asdict
from typing import Any

from ragstone.answer.source_markers import SpeltOut, spelt_out
from ragstone.core.answer import Answer
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Note, Sources, Thinking, Token
from ragstone.core.turn import Passage, Turn

SNIPPET_CHARS = 200


def rag_response(turn: Turn) -> dict[str, Any]:
    """The structure as the document prints it. What is not known, as the confidence in an answer
    without documents, is null."""
    answer = turn.answer or Answer()
    return {
        "content": spelt_out(answer.text) if turn.passages else answer.text,
        "sources": [source(passage) for passage in turn.passages],
        "confidence_score": answer.confidence,
        "confidence_level": answer.confidence_level,
        "suggested_questions": list(answer.suggested),
        "context_sufficiency": asdict(answer.sufficiency) if answer.sufficiency else None,
    }


def source(passage: Passage) -> dict[str, Any]:
    """A source; `[Source n]` in the content is the nth of them."""
    hit, chunk = passage.hit, passage.hit.chunk
    return {
        "document_id": chunk.document_id,
        "document_name": chunk.path.rsplit("/", 1)[-1],
        "chunk_id": chunk.chunk_id,
        "page_number": chunk.page,
        "snippet": passage.text[:SNIPPET_CHARS],
        "relevance_score": hit.score,
        "similarity_score": hit.dense if hit.similarity is None else hit.similarity,
    }


class RagStream:
    """The same in pieces: sources, tokens, thoughts, and the whole structure at the end."""

    def __init__(self) -> None:
        self._markers = SpeltOut()
        self._sourced = False

    def said(self, event: Event) -> list[dict[str, Any]]:
        """What the client is sent for an event of ours."""
        match event:
            case Sources(passages):
                self._sourced = bool(passages)
                return [{"type": "sources", "sources": [source(one) for one in passages]}]
            case Token(text):
                return _token(self._markers.feed(text) if self._sourced else text)
            case Thinking(text):
                return [{"type": "thinking", "content": text}]
            case Note(_, text):
                return [{"type": "status", "content": text}]
            case Done(turn):
                end = {"type": "done", **rag_response(turn)}
                return [*_token(self._markers.end()), end]
        return []

    def failed(self, error: RagstoneError) -> dict[str, Any]:
        """The last event of an answer that cannot go on."""
        return {"type": "error", "content": error.message, "code": error.code}


def _token(text: str) -> list[dict[str, Any]]:
    return [{"type": "token", "content": text}] if text else []
