"""A source of an answer or a search: the one type that every client's format is mapped from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ragstone.core.answer import Citation, CitedSpan, GeneratedAnswer
from ragstone.core.turn import Hit, Passage, Turn

SNIPPET_CHARS = 300

_WEB = re.compile(r"https?://\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A numbered source, with what the answer cites of it.

    `page`, `start`, `end` and `snippet` are of the span that supports the answer, or of the whole
    chunk where it is not `cited`; `spans` are those of all the sentences that cite it.
    `confidence` is how sure the citation is. `text` is the chunk's, `content` what the answerer saw
    of it. `score`, `similarity`, `dense`, `bm25` and `rerank` are
    those of `turn.Hit`.
    """

    number: int
    document_id: str
    chunk_id: str
    title: str
    path: str
    page: int | None
    section: tuple[str, ...]
    start: int
    end: int
    snippet: str
    score: float
    similarity: float | None = None
    confidence: float | None = None
    cited: bool = False
    chunk_index: int = 0
    kind: str = "normal"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    content: str = ""
    dense: float | None = None
    bm25: float | None = None
    rerank: float | None = None
    spans: tuple[CitedSpan, ...] = ()

    @property
    def filename(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def url(self) -> str | None:
        """The document's address on the web, if it has one."""
        places = (self.metadata.get("url"), self.path)
        return next((one for one in places if isinstance(one, str) and _WEB.fullmatch(one)), None)


def described(source: Source) -> dict[str, Any]:
    """Which part of which document a source is, and how near, by the names that clients read."""
    return {
        "number": source.number,
        "document_id": source.document_id,
        "chunk_id": source.chunk_id,
        "title": source.title,
        "path": source.path,
        "page": source.page,
        "section": list(source.section),
        "start": source.start,
        "end": source.end,
        "snippet": source.snippet,
        "score": source.score,
        "similarity": source.similarity,
        "confidence": source.confidence,
        "spans": [asdict(one) for one in source.spans],
    }


def sources(turn: Turn) -> tuple[Source, ...]:
    """Every passage that the answer was made from, with what the answer cites of it."""
    return passage_sources(turn.passages, (turn.answer or GeneratedAnswer()).citations)


def passage_sources(
    passages: Sequence[Passage], citations: Sequence[Citation] = ()
) -> tuple[Source, ...]:
    """The passages, each with the first citation of its number."""
    cited = _first_citations(citations)
    return tuple(_source(one.number, one.hit, one.text, cited.get(one.number)) for one in passages)


def cited_sources(
    citations: Sequence[Citation], passages: Sequence[Passage] = ()
) -> tuple[Source, ...]:
    """Each source that is cited, by number; one whose passage is unknown has its snippet for text
    and content."""
    known = {one.number: one for one in passage_sources(passages, citations)}
    return tuple(
        known.get(number) or _citation_source(citation)
        for number, citation in sorted(_first_citations(citations).items())
    )


def hit_sources(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """The hits of a search, numbered by rank."""
    return tuple(_source(rank, hit, hit.chunk.text) for rank, hit in enumerate(hits, 1))


def _first_citations(citations: Sequence[Citation]) -> dict[int, Citation]:
    return {citation.number: citation for citation in reversed(citations)}


def _source(number: int, hit: Hit, content: str, citation: Citation | None = None) -> Source:
    chunk = hit.chunk
    span = citation or chunk
    return Source(
        number=number,
        document_id=chunk.document_id,
        chunk_id=chunk.chunk_id,
        title=chunk.title,
        path=chunk.path,
        page=span.page,
        section=chunk.section,
        start=span.start,
        end=span.end,
        snippet=citation.snippet if citation else content[:SNIPPET_CHARS],
        score=hit.score,
        similarity=hit.similarity,
        confidence=citation.confidence if citation else None,
        cited=citation is not None,
        chunk_index=chunk.chunk_index,
        kind=chunk.kind,
        metadata=chunk.metadata,
        text=chunk.text,
        content=content,
        dense=hit.dense,
        bm25=hit.bm25,
        rerank=hit.rerank,
        spans=citation.spans if citation else (),
    )


def _citation_source(citation: Citation) -> Source:
    return Source(
        number=citation.number,
        document_id=citation.document_id,
        chunk_id=citation.chunk_id,
        title=citation.title,
        path=citation.path,
        page=citation.page,
        section=citation.section,
        start=citation.start,
        end=citation.end,
        snippet=citation.snippet,
        score=citation.score,
        confidence=citation.confidence,
        cited=True,
        text=citation.snippet,
        content=citation.snippet,
        spans=citation.spans,
    )
