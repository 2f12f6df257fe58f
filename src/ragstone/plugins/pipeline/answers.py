"""An answer as the query pipeline's RAGResponse, whole or as events."""

from dataclasses import asdict
from typing import Any

from ragstone.answer.citation_list import SpeltOut, spell_out_markers
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.errors import RagstoneError
from ragstone.core.events import AgentStep, Done, Event, Note, Sources, Thinking, Token
from ragstone.core.source import Source, describe_pictures, passage_sources, sources
from ragstone.core.turn import Turn
from ragstone.http.streaming import Transcript, token
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
