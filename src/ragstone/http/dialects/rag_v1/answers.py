"""A finished or growing answer in the shapes of the VoiceHelper document."""

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragstone.answer.citation_list import citation_list
from ragstone.answer.source_markers import SpeltOut, spelt_out
from ragstone.core.answer import Answer, Citation
from ragstone.core.errors import RagstoneError
from ragstone.core.events import Done, Event, Rewritten, Sources, StageStarted, Thinking, Token
from ragstone.core.turn import Passage, Turn
from ragstone.http.dialects.openai.answers import usage
from ragstone.http.dialects.rag_v1.requests import QueryRequest

Object = dict[str, Any]

NOTHING_FOUND = "I couldn't find relevant information to answer your question."
SNIPPET_CHARS = 2000

REWRITING = frozenset({"contextualize", "correct", "rewrite"})
RETRIEVING = frozenset({"retrieve", "fuse", "rerank", "deduplicate", "expand"})
GENERATING = frozenset({"generate"})

_WEB = re.compile(r"https?://\S+", re.IGNORECASE)


def whole(turn: Turn, seconds: float, cites: bool) -> Object:
    """The body of /generate; `seconds` is how long it took from outside. Where a function is to be
    called there is no answer yet."""
    answer = turn.answer or Answer()
    call = next(iter(answer.calls), None)
    cites = cites and call is None
    cited = citations(turn) if cites else []
    listed = citation_list(_by_file(turn, answer.citations)) if cited else ""
    body: Object = {
        "answer": "" if call else spelt_out(text_of(turn)),
        "citations": cited,
        "formatted_citations": listed,
        "metadata": metadata(turn, seconds),
    }
    if call:
        body["function_call"] = {"name": call.name, "arguments": call.arguments or "{}"}
    return body


def text_of(turn: Turn) -> str:
    """The answer's text; the document's own sentence where nothing was found."""
    answer = turn.answer or Answer()
    return NOTHING_FOUND if answer.refused and not turn.passages else answer.text


def metadata(turn: Turn, seconds: float) -> Object:
    """Times in seconds, what was found, and who answered; with a few fields of ours behind."""
    answer = turn.answer or Answer()
    return {
        "total_time": seconds,
        "rewrite_time": _time(turn, REWRITING),
        "retrieve_time": _time(turn, RETRIEVING),
        "generate_time": _time(turn, GENERATING),
        "chunks_found": max(len(turn.hits), len(turn.passages)) if turn.passages else 0,
        "model": answer.model,
        "usage": usage(turn.usage),
        "finish_reason": answer.finish,
        "strategy_used": turn.plan.strategy,
        "cache_hit": bool(turn.recalled and turn.recalled.content),
        "confidence": answer.confidence,
        "is_grounded": answer.is_grounded,
    }


def citations(turn: Turn) -> list[Object]:
    """The sources that the answer cites, by their number in it."""
    answer = turn.answer or Answer()
    passages = {passage.number: passage for passage in turn.passages}
    first = {citation.number: citation for citation in reversed(answer.citations)}
    return [_citation(first[number], passages.get(number)) for number in sorted(first)]


def _by_file(turn: Turn, citations: Sequence[Citation]) -> list[Citation]:
    """The citations with the names of files for titles, and addresses of the web where known."""
    passages = {passage.number: passage for passage in turn.passages}
    return [
        replace(
            citation,
            title=_file(citation.path),
            path=_url(citation, passages.get(citation.number)) or "",
        )
        for citation in citations
    ]


def _file(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _url(citation: Citation, passage: Passage | None) -> str | None:
    """Where the document is on the web, if it is there."""
    known = passage.hit.chunk.metadata.get("url") if passage else None
    found = (place for place in (citation.path, known) if isinstance(place, str))
    return next((place for place in found if _WEB.fullmatch(place)), None)


def _citation(citation: Citation, passage: Passage | None) -> Object:
    return {
        "source_id": citation.number,
        "chunk_id": citation.chunk_id,
        "content": passage.text if passage else citation.snippet,
        "score": citation.score,
        "document_id": citation.document_id,
        "filename": _file(citation.path),
        "page": citation.page,
        "url": _url(citation, passage),
        "title": citation.title,
        "confidence": citation.confidence,
    }


def queried(turn: Turn, request: QueryRequest, seconds: float) -> Object:
    """The body of /query."""
    return {
        "answer": text_of(turn),
        "sources": sources(turn) if request.include_sources else [],
        "query": request.query,
        "rewritten_query": turn.rewritten,
        "retrieved_count": len(turn.passages),
        "generation_time": seconds,
        "citations": query_citations(turn) if request.include_sources else [],
        "metadata": {**metadata(turn, seconds), "mode": request.mode},
        "conversation_id": request.conversation_id,
    }


def sources(turn: Turn) -> list[Object]:
    """Every passage that the answer was made from."""
    return [_source(passage) for passage in turn.passages]


def _source(passage: Passage) -> Object:
    chunk = passage.hit.chunk
    return {
        "id": chunk.document_id,
        "title": chunk.title,
        "content": passage.text[:SNIPPET_CHARS],
        "score": passage.hit.score,
        "source": chunk.path,
        "citation_id": f"[{passage.number}]",
        "chunk_id": chunk.chunk_id,
        "page": chunk.page,
    }


def query_citations(turn: Turn) -> list[Object]:
    """The markers of the answer with how sure each is."""
    answer = turn.answer or Answer()
    return [
        {
            "citation_num": citation.number,
            "source_id": citation.document_id,
            "confidence": citation.confidence,
        }
        for citation in answer.citations
    ]


class _Growing:
    """Knows whether nothing was found, so that the document's sentence is said instead of ours."""

    def __init__(self) -> None:
        self._empty = False
        self._spoke = False
        self.started = time.perf_counter()

    def _piece(self, event: Token) -> str:
        if self._empty:
            return ""
        self._spoke = True
        return event.text

    def _rest(self, turn: Turn) -> str:
        """What must still be said at the end."""
        return "" if self._spoke else text_of(turn)

    def seconds(self) -> float:
        return time.perf_counter() - self.started


class GenerateStream(_Growing):
    """context, chunk, citations, done: what /generate/stream says."""

    def __init__(self, cites: bool) -> None:
        super().__init__()
        self._cites = cites
        self._counted = False
        self._markers = SpeltOut()

    def said(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        match event:
            case Sources(passages):
                self._empty = not passages
                return self._context(len(passages))
            case Token():
                return [*self._context(0), *_chunk(self._markers.feed(self._piece(event)))]
            case Done(turn):
                rest = self._markers.feed(self._rest(turn)) + self._markers.end()
                cited = citations(turn) if self._cites else []
                return [
                    *self._context(len(turn.passages)),
                    *_chunk(rest),
                    {"type": "citations", "citations": cited},
                    {"type": "done", "metadata": metadata(turn, self.seconds())},
                ]
        return []

    def failed(self, error: RagstoneError) -> Object:
        """`streaming.Transcript`."""
        return failed(error)

    def _context(self, count: int) -> list[Object]:
        """The first event, once."""
        if self._counted:
            return []
        self._counted = True
        return [{"type": "context", "chunks_count": count}]


class QueryStream(_Growing):
    """query_rewritten, documents_retrieved, generation_start, token, generation_complete: what
    /query-stream says, each of them also for a question that needs no search."""

    def __init__(self, request: QueryRequest) -> None:
        super().__init__()
        self._request = request
        self._steps = 0

    def said(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        match event:
            case Rewritten(text, _):
                return self._up_to(1, text)
            case Sources(passages):
                self._empty = not passages
                return self._up_to(2, count=len(passages))
            case StageStarted("generate") | Thinking():
                return self._up_to(3)
            case Token():
                return [*self._up_to(3), *_token(self._piece(event))]
            case Done(turn):
                before = self._up_to(3, turn.rewritten, len(turn.passages))
                return [*before, *_token(self._rest(turn)), self._complete(turn)]
        return []

    def failed(self, error: RagstoneError) -> Object:
        """`streaming.Transcript`."""
        return failed(error)

    def _up_to(self, step: int, text: str = "", count: int = 0) -> list[Object]:
        """The steps before the tokens that were not yet told, in their order."""
        steps: list[Object] = [
            {"type": "query_rewritten", "content": text or self._request.query},
            {"type": "documents_retrieved", "count": count},
            {"type": "generation_start"},
        ]
        new = steps[self._steps : step]
        self._steps = max(self._steps, step)
        return new

    def _complete(self, turn: Turn) -> Object:
        wanted = self._request.include_sources
        return {
            "type": "generation_complete",
            "sources": sources(turn) if wanted else [],
            "citations": query_citations(turn) if wanted else [],
            "metadata": {**metadata(turn, self.seconds()), "mode": self._request.mode},
        }


def failed(error: RagstoneError) -> Object:
    """The event of a stream that cannot go on."""
    return {"type": "error", "content": error.message, "code": error.code, "retry": error.retry}


def _chunk(text: str) -> list[Object]:
    return [{"type": "chunk", "content": text}] if text else []


def _token(text: str) -> list[Object]:
    return [{"type": "token", "content": text}] if text else []


def _time(turn: Turn, stages: frozenset[str]) -> float:
    return round(sum(traced.seconds for traced in turn.trace if traced.stage in stages), 6)
