"""Citations: of a span of a passage, and of each source from the markers that cite it."""

from collections.abc import Iterable
from dataclasses import replace

from ragstone.core.answer import Citation, CitedSpan
from ragstone.core.document import find_page
from ragstone.core.source import SNIPPET_CHARS
from ragstone.core.turn import Passage

FREQUENT = 3
"""Times that a source which is cited often is cited."""

MIN_SIMILARITY = 0.5
"""The least likeness to what it is cited for of a further span of a source."""


def citation(passage: Passage, start: int, end: int, similarity: float = 0.0) -> Citation:
    """The citation of `passage.text[start:end]`, at its place in the document; `similarity` (0..1)
    also stands for the confidence in it until the citations of its source are brought together."""
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
        page=find_page(chunk.blocks, start) or chunk.page,
        section=chunk.section,
        start=chunk.start + start,
        end=chunk.start + start + len(text),
        snippet=text[:SNIPPET_CHARS],
        score=passage.hit.score,
        similarity=similarity,
        confidence=similarity,
    )


def group_by_source(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Bring the citations of each source together: the most similar one, with the spans of all.

    The confidence is as the VoiceHelper document weighs it: the source's score, the span's likeness
    to what it is cited for, and how often it is cited.
    """
    by_number: dict[int, list[Citation]] = {}
    for single in citations:
        by_number.setdefault(single.number, []).append(single)
    grouped = []
    for _, same in sorted(by_number.items()):
        main = max(same, key=lambda single: single.similarity)
        kept = {main, *(single for single in same if single.similarity >= MIN_SIMILARITY)}
        spans = {CitedSpan(item.start, item.end, item.page, item.snippet) for item in kept}
        frequency = min(len(same) / FREQUENT, 1.0)
        grouped.append(
            replace(
                main,
                confidence=0.4 * main.score + 0.4 * main.similarity + 0.2 * frequency,
                spans=tuple(sorted(spans, key=lambda span: (span.start, span.end))),
            )
        )
    return tuple(grouped)
