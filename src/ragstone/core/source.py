"""A source of an answer or a search: the one type that every client's format is mapped from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from ragstone.core.answer import Citation, CitedSpan, Confidence, GeneratedAnswer
from ragstone.core.chunk import MADE, Chunk
from ragstone.core.document import BlockSpan, find_page
from ragstone.core.turn import Hit, Passage, Turn

SNIPPET_CHARS = 300

_WEB = re.compile(r"https?://\S+", re.IGNORECASE)

MAX_PICTURES = 8
"""Pictures of one source."""

_FIGURE = re.compile(
    r"(?:figures?|figs?\.?|illustrations?|abbildung(?:en)?|abb\.?|bild|figuras?|рис\.?|图|圖|図)"
    r"\s?(\d+(?:[.-]\d+)*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourcePicture:
    """A picture of a source: its id in the document, what is said of it (empty where nothing is),
    its page, and the path at which a server shows it to whoever may read the document."""

    id: str
    caption: str
    page: int | None
    address: str


@dataclass(frozen=True, slots=True)
class Source:
    """A numbered source, with what the answer cites of it.

    `page`, `start`, `end` and `snippet` are of the span that supports the answer, or of the whole
    chunk where it is not `cited`; `spans` are those of all the sentences that cite it.
    `confidence` is how sure the citation is. `text` is the chunk's, `content` what the answerer saw
    of it. `score`, `similarity`, `dense`, `bm25` and `rerank` are
    those of `turn.Hit`, `relevance` is its confidence. `pictures` are those that the cited spans
    tell of, or all of the chunk where it is not cited.
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
    pictures: tuple[SourcePicture, ...] = ()
    relevance: Confidence | None = None

    @property
    def filename(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def url(self) -> str | None:
        """The document's address on the web, if it has one."""
        places = (self.metadata.get("url"), self.path)
        return next(
            (place for place in places if isinstance(place, str) and _WEB.fullmatch(place)), None
        )


def describe_source(source: Source) -> dict[str, Any]:
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
        "spans": [asdict(span) for span in source.spans],
        **describe_pictures(source),
    }


def describe_pictures(source: Source) -> dict[str, Any]:
    """The pictures of a source by the name that clients read; nothing where there are none."""
    return {"pictures": [asdict(picture) for picture in source.pictures]} if source.pictures else {}


def sources(turn: Turn) -> tuple[Source, ...]:
    """Return every passage that the answer was made from, with what the answer cites of it."""
    return passage_sources(turn.passages, (turn.answer or GeneratedAnswer()).citations)


def cite_passage(
    passage: Passage, text: str, page: int | None, start: int, end: int, similarity: float = 0.0
) -> Citation:
    """The citation of a text of a passage, which stands at `start` to `end` of the document."""
    chunk = passage.hit.chunk
    return Citation(
        number=passage.number,
        document_id=chunk.document_id,
        chunk_id=chunk.chunk_id,
        title=chunk.title,
        path=chunk.path,
        page=page,
        section=chunk.section,
        start=start,
        end=end,
        snippet=text[:SNIPPET_CHARS],
        score=passage.hit.score,
        similarity=similarity,
        confidence=similarity,
    )


def passage_sources(
    passages: Sequence[Passage], citations: Sequence[Citation] = ()
) -> tuple[Source, ...]:
    """Return the passages, each with the first citation of its number."""
    cited = _first_citations(citations)
    return tuple(
        _source(passage.number, passage.hit, passage.text, cited.get(passage.number))
        for passage in passages
    )


def citation_sources(
    citations: Sequence[Citation], passages: Sequence[Passage] = ()
) -> tuple[Source, ...]:
    """Return each source that is cited, by number; one whose passage is unknown has its snippet for
    text and content."""
    known = {source.number: source for source in passage_sources(passages, citations)}
    return tuple(
        known.get(number) or _citation_source(citation)
        for number, citation in sorted(_first_citations(citations).items())
    )


def hit_sources(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """Return the hits of a search, numbered by rank."""
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
        pictures=tuple(_pictures(chunk, citation)) if '"' in chunk.layout else (),
        relevance=hit.confidence,
    )


def _pictures(chunk: Chunk, citation: Citation | None) -> Iterator[SourcePicture]:
    """Yield the pictures that a citation tells of: those of the blocks that it touches, and figures
    that it names. All of the chunk where it is not cited."""
    captions: dict[str, BlockSpan] = {}
    for block in chunk.blocks if chunk.kind not in MADE else ():
        for id in block.pictures:
            if id not in captions or (block.kind == "caption" != captions[id].kind):
                captions[id] = block
    wanted = captions.keys() if citation is None else _find_pictures(chunk, citation, captions)
    for id in [caption for caption in captions if caption in wanted][:MAX_PICTURES]:
        block = captions[id]
        said = chunk.text[block.start : block.end].strip() if block.kind == "caption" else ""
        place = f"{quote(chunk.collection, safe='')}/documents/{quote(chunk.document_id, safe='')}"
        address = f"/api/v1/collections/{place}/pictures/{quote(id, safe='')}"
        yield SourcePicture(id, said, find_page(chunk.blocks, block.start), address)


def _find_pictures(
    chunk: Chunk, citation: Citation, captions: Mapping[str, BlockSpan]
) -> frozenset[str]:
    places = ((citation.start, citation.end), *((span.start, span.end) for span in citation.spans))
    spans = [(start - chunk.start, end - chunk.start) for start, end in places]
    named = {name for start, end in spans for name in _FIGURE.findall(chunk.text[start:end])}
    found: set[str] = set()
    for block in chunk.blocks:
        if any(block.start < end and start < block.end for start, end in spans):
            found.update(block.pictures)
    for id, block in captions.items():
        own = _FIGURE.match(chunk.text, block.start, block.end)
        if own and own[1] in named:
            found.add(id)
    return frozenset(found)


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
