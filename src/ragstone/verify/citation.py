"""A citation of a span of a passage."""

from ragstone.core.answer import Citation
from ragstone.core.document import page_at
from ragstone.core.source import SNIPPET_CHARS
from ragstone.core.turn import Passage


def citation(
    passage: Passage, start: int, end: int, similarity: float = 0.0, confidence: float = 0.0
) -> Citation:
    """The citation of `passage.text[start:end]`, at its place in the document."""
    chunk = passage.hit.chunk
    text = passage.text[start:end]
    if chunk.text[start:end] != text:  # the passage is shortened to some of the chunk's sentences
        start = max(0, chunk.text.find(text))
    return Citation(
        number=passage.number,
        document_id=chunk.document_id,
        chunk_id=chunk.chunk_id,
        title=chunk.title,
        path=chunk.path,
        page=page_at(chunk.blocks, start) or chunk.page,
        section=chunk.section,
        start=chunk.start + start,
        end=chunk.start + start + len(text),
        snippet=text[:SNIPPET_CHARS],
        score=passage.hit.score,
        similarity=similarity,
        confidence=confidence,
    )
