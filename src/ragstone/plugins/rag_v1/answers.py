"""A finished or growing answer in the shapes of the VoiceHelper document."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragstone.answer.citation_list import SpeltOut, citation_list, spell_out_markers
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import (
    Done,
    Event,
    Rewritten,
    Sources,
    StageEnded,
    StageStarted,
    Thinking,
    Token,
)
from ragstone.core.intent import Analysis
from ragstone.core.source import Source, citation_sources, describe_pictures, sources
from ragstone.core.turn import Ask, StageTrace, Turn
from ragstone.http.streaming import Transcript, token
from ragstone.language.language import NOTHING_FOUND, detect, no_answer
from ragstone.language.markers import find_cited_spans, find_markers, strip_markers
from ragstone.plugins.rag_v1.requests import QueryRequest, RagRequest
from ragstone.service import wire
from ragstone.understand.route import DEMANDING

Object = dict[str, Any]

CONTEXT_CHARS = 2000

QUERY_TYPES: Mapping[str, str] = {
    "comparison": "COMPARISON",
    "multi_hop": "MULTI_HOP",
    "aggregation": "AGGREGATION",
    "analytical": "COMPLEX_REASONING",
    "summary": "OPEN_ENDED",
    "list": "OPEN_ENDED",
    "procedural": "OPEN_ENDED",
}
"""The document's types by our intents; the others are simple facts, or complex by their words."""

RISKS: Mapping[str, str] = {"contradicted": "high", "unsupported": "high", "partly": "medium"}
"""How likely a sentence of each verdict is made up."""

REWRITING = frozenset({"contextualize", "correct", "rewrite"})
RETRIEVING = frozenset({"retrieve", "rerank", "deduplicate", "expand"})
GENERATING = frozenset({"generate"})


def whole(turn: Turn, seconds: float, request: RagRequest) -> Object:
    """Return the body of /generate; `seconds` is how long it took from outside. Where a function is
    to be called there is no answer yet."""
    answer = turn.answer or GeneratedAnswer()
    call = next(iter(answer.calls), None)
    cites = request.include_citations and call is None
    cited = citation_sources(answer.citations, turn.passages) if cites else ()
    body: Object = {
        "answer": "" if call else spell_out_markers(answer_text(turn)),
        "citations": [_citation(item) for item in cited],
        "formatted_citations": citation_list(
            [replace(item, title=item.filename) for item in cited], request.citation_format
        ),
        "metadata": metadata(turn, seconds),
    }
    if call:
        body["function_call"] = {"name": call.name, "arguments": call.arguments or "{}"}
    return body


def answer_text(turn: Turn) -> str:
    """Return the answer's text; the document's own sentence where nothing was found."""
    answer = turn.answer or GeneratedAnswer()
    found_nothing = answer.refused and not turn.passages and not turn.unread
    return nothing_found(turn.ask) if found_nothing else answer.text


def nothing_found(ask: Ask) -> str:
    """Return the document's own sentence, in the language of the question."""
    return no_answer(NOTHING_FOUND, detect(ask.question))


def metadata(turn: Turn, seconds: float) -> Object:
    """Return times in seconds, the hits and the model, followed by a few added fields."""
    answer = turn.answer or GeneratedAnswer()
    times = {
        "rewrite_time": _time(turn, REWRITING),
        "retrieve_time": _time(turn, RETRIEVING),
        "generate_time": _time(turn, GENERATING),
    }
    return {
        "total_time": seconds,
        **times,
        # What understands and checks, which the document has no field for.
        "other_time": max(0.0, round(seconds - sum(times.values()), 6)),
        "chunks_found": _count_found(turn),
        "model": answer.model,
        "usage": wire.usage(turn.usage),
        "finish_reason": answer.finish,
        **_analysis(turn),
        **_quality(turn),
        "cache_hit": _is_recalled(turn),
        "confidence": answer.confidence,
        "is_grounded": answer.is_grounded,
        "hallucinations": _hallucinations(turn),
        **wire.statements(turn),
    }


def _count_found(turn: Turn) -> int:
    """Count the passages that were found, of which the prompt has those that fit; none where
    nothing answers: there the document has its sentence with 0, whatever was looked at."""
    refused = (turn.answer or GeneratedAnswer()).refused
    return 0 if refused or not turn.passages else max(len(turn.hits), len(turn.passages))


def _is_recalled(turn: Turn) -> bool:
    return bool(turn.recalled and turn.recalled.content)


def _analysis(turn: Turn) -> Object:
    """Return what kind of query it is and how it was searched, by the names of the document's
    adaptive service; no complexity and no strategy where the answer was in the cache."""
    analysis = turn.analysis or Analysis()
    intent = turn.intent.name if turn.intent else ""
    reasons = analysis.reasoning or analysis.complexity >= DEMANDING
    kind = "COMPARISON" if analysis.comparison else "COMPLEX_REASONING" if reasons else ""
    query_type = QUERY_TYPES.get(intent) or kind or "SIMPLE_FACT"
    compares = query_type in ("COMPARISON", "AGGREGATION")
    plan = turn.plan
    if plan.strategy == "iterative":
        strategy = "ITERATIVE"
    elif turn.imagined:
        strategy = "HYDE"
    elif turn.subqueries or plan.rewrite == "decompose":
        strategy = "QUERY_DECOMPOSITION"
    elif plan.strategy in ("dense", "bm25") or (plan.rewrite == "none" and not compares):
        strategy = "DIRECT"
    else:
        strategy = "HYBRID"
    return {
        "query_type": query_type,
        "complexity": None if _is_recalled(turn) else analysis.complexity,
        "strategy_used": None if _is_recalled(turn) else strategy,
    }


def _quality(turn: Turn) -> Object:
    """What Self-RAG made of the rounds, 0 to 10 as the document prints it; null without one."""
    scores = [round(10 * score, 1) for score in turn.scores]
    return {
        "quality_score": max(scores, default=None),
        "iterations": len(scores) or 1,
        "iteration_details": [
            {"iteration": number, "quality_score": score}
            for number, score in enumerate(scores, start=1)
        ],
    }


def _hallucinations(turn: Turn) -> list[Object]:
    """Return the sentences of the answer that no source supports, as the document lists them."""
    return [
        {
            "sentence": verdict.sentence,
            "risk": RISKS[verdict.label],
            "reason": verdict.reason or verdict.label,
        }
        for verdict in turn.verdicts
        if verdict.label in RISKS
    ]


def citations(turn: Turn) -> list[Object]:
    """Return the sources that the answer cites, by their number in it."""
    cited = (turn.answer or GeneratedAnswer()).citations
    return [_citation(source) for source in citation_sources(cited, turn.passages)]


def _citation(source: Source) -> Object:
    return {
        "source_id": source.number,
        "chunk_id": source.chunk_id,
        "content": source.content,
        "score": source.score,
        "document_id": source.document_id,
        "filename": source.filename,
        "page": source.page,
        "url": source.url,
        "title": source.title,
        "confidence": source.confidence,
        **describe_pictures(source),
    }


def query_body(turn: Turn, request: QueryRequest, seconds: float) -> Object:
    """Return the body of /query."""
    return {
        "answer": answer_text(turn),
        "sources": query_sources(turn) if request.include_sources else [],
        "query": request.query,
        "rewritten_query": turn.rewritten,
        "retrieved_count": _count_found(turn),
        "generation_time": seconds,
        "citations": query_citations(turn) if request.include_sources else [],
        "metadata": {**metadata(turn, seconds), "mode": request.mode},
        "conversation_id": request.conversation_id,
    }


def query_sources(turn: Turn) -> list[Object]:
    """Return every passage that the answer was made from."""
    return [_source(source) for source in sources(turn)]


def _source(source: Source) -> Object:
    return {
        "id": source.document_id,
        "title": source.title,
        "content": source.content[:CONTEXT_CHARS],
        "score": source.score,
        "source": source.path,
        "citation_id": f"[{source.number}]",
        "chunk_id": source.chunk_id,
        "page": source.page,
        **describe_pictures(source),
    }


def query_citations(turn: Turn) -> list[Object]:
    """Return the markers of the answer: where each stands, for what, and how sure it is."""
    answer = turn.answer or GeneratedAnswer()
    known = {citation.number: citation for citation in answer.citations}
    return [
        {
            "citation_num": citation.number,
            "source_id": citation.document_id,
            "confidence": citation.confidence,
            "position": marker.start(),
            "answer_segment": strip_markers(answer.text[span.start : span.end]),
        }
        for span, _ in find_cited_spans(answer.text)
        for marker in find_markers(answer.text, span.start)
        if marker.end() <= span.end and (citation := known.get(int(marker[1])))
    ]


class _Growing(Transcript):
    """Knows whether nothing was found, so that the document's sentence is said instead of ours."""

    def __init__(self) -> None:
        self._empty = False
        self._spoke = False
        self.started = time.perf_counter()

    def _token_text(self, event: Token) -> str:
        if self._empty:
            return ""
        self._spoke = True
        return event.text

    def _remaining_text(self, turn: Turn) -> str:
        """Return the text that was not streamed yet."""
        return "" if self._spoke else answer_text(turn)

    def seconds(self) -> float:
        return time.perf_counter() - self.started


class GenerateStream(_Growing):
    """context, chunk, citations, done: what /generate/stream says."""

    def __init__(self, cites: bool) -> None:
        super().__init__()
        self._cites = cites
        self._counted = False
        self._markers = SpeltOut()

    def encode(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        match event:
            case Sources(passages, found):
                self._empty = not passages
                return self._context(max(found, len(passages)))
            case Token():
                return [*self._context(0), *_chunk(self._markers.feed(self._token_text(event)))]
            case Done(turn):
                rest = self._markers.feed(self._remaining_text(turn)) + self._markers.end()
                cited = citations(turn) if self._cites else []
                return [
                    *self._context(len(turn.passages)),
                    *_chunk(rest),
                    {"type": "citations", "citations": cited},
                    {"type": "done", "metadata": metadata(turn, self.seconds())},
                ]
        return []

    def _context(self, count: int) -> list[Object]:
        """Return the first event, once."""
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
        self._rewritten = request.query
        self._steps = 0

    def encode(self, event: Event) -> list[Object]:
        """`streaming.Transcript`."""
        match event:
            case Rewritten(text, _):
                # It may be rewritten once more, before it is searched.
                self._rewritten = text
            case StageEnded(StageTrace(stage="rewrite")):
                return self._pending_steps(1)
            case Sources(passages, found):
                self._empty = not passages
                return self._pending_steps(2, max(found, len(passages)))
            case StageStarted("generate") | Thinking():
                return self._pending_steps(3)
            case Token():
                return [*self._pending_steps(3), *token(self._token_text(event))]
            case Done(turn):
                self._rewritten = turn.rewritten
                before = self._pending_steps(3, _count_found(turn))
                return [*before, *token(self._remaining_text(turn)), self._completion_event(turn)]
        return []

    def _pending_steps(self, step: int, count: int = 0) -> list[Object]:
        """Return the steps before the tokens that were not sent yet, in their order."""
        steps: list[Object] = [
            {"type": "query_rewritten", "content": self._rewritten},
            {"type": "documents_retrieved", "count": count},
            {"type": "generation_start"},
        ]
        new = steps[self._steps : step]
        self._steps = max(self._steps, step)
        return new

    def _completion_event(self, turn: Turn) -> Object:
        wanted = self._request.include_sources
        return {
            "type": "generation_complete",
            "sources": query_sources(turn) if wanted else [],
            "citations": query_citations(turn) if wanted else [],
            "metadata": {**metadata(turn, self.seconds()), "mode": self._request.mode},
        }


def _chunk(text: str) -> list[Object]:
    return [{"type": "chunk", "content": text}] if text else []


def _time(turn: Turn, stages: frozenset[str]) -> float:
    return round(sum(traced.seconds for traced in turn.trace if traced.stage in stages), 6)
