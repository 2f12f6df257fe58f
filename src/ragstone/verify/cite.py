"""Turns the answer's markers into citations with the span that supports each."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import Citation, GeneratedAnswer, Marker, Verdict
from ragstone.core.document import find_page
from ragstone.core.source import cite_passage
from ragstone.core.turn import Passage, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.markers import find_cited_spans, find_markers, strip_markers
from ragstone.language.sentences import Span, sentences
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters
from ragstone.verify.json_fields import read_values

FREQUENT = 3
"""Times that a source which is cited often is cited."""

MIN_SIMILARITY = 0.5
"""The least likeness to what it is cited for of a further span of a source."""


def build_citation(passage: Passage, start: int, end: int, similarity: float = 0.0) -> Citation:
    """The citation of `passage.text[start:end]`, at its place in the document; `similarity` (0..1)
    also stands for the confidence in it until the citations of its source are brought together."""
    chunk = passage.hit.chunk
    text = passage.text[start:end]
    if chunk.text[start:end] != text:
        # The passage was cut down to some sentences of its chunk, so its places are others.
        start = max(0, chunk.text.find(text))
    page = find_page(chunk.blocks, start) or chunk.page
    place = chunk.start + start
    return cite_passage(passage, text, page, place, place + len(text), similarity)


def group_by_source(citations: Iterable[Citation]) -> tuple[Citation, ...]:
    """Bring the citations of each source together: the most similar one, with the spans of all."""
    by_number: dict[int, list[Citation]] = {}
    for single in citations:
        by_number.setdefault(single.number, []).append(single)
    grouped = []
    for _, same in sorted(by_number.items()):
        main = max(same, key=lambda single: single.similarity)
        kept = {main, *(single for single in same if single.similarity >= MIN_SIMILARITY)}
        spans = {item.span for item in kept}
        # The VoiceHelper document weighs a citation so: 0.4 for the score of the source, 0.4 for
        # the likeness to what it is cited for, 0.2 for how often it is cited.
        frequency = min(len(same) / FREQUENT, 1.0)
        grouped.append(
            replace(
                main,
                confidence=0.4 * main.score + 0.4 * main.similarity + 0.2 * frequency,
                spans=tuple(sorted(spans, key=lambda span: (span.start, span.end))),
            )
        )
    return tuple(grouped)


def add_field_citations(answer: GeneratedAnswer, verdicts: Sequence[Verdict]) -> GeneratedAnswer:
    """Return the answer that also cites the sources that support its fields."""
    supported = (
        verdict.citation
        for verdict in verdicts
        if verdict.label == "supported" and verdict.citation
    )
    return replace(answer, citations=group_by_source([*supported, *answer.citations]))


def cite_cells(answer: GeneratedAnswer, passages: Sequence[Passage]) -> Iterator[Citation]:
    """Yield the citations of the single cells that the answer was computed from."""
    computed = answer.computed
    for start, end in computed.places if computed else ():
        for passage in passages:
            chunk = passage.hit.chunk
            own = computed is not None and chunk.document_id == computed.document_id
            if own and chunk.start <= start and end <= chunk.end:
                yield build_citation(passage, start - chunk.start, end - chunk.start, 1.0)
                break


class Cite(Stage):
    """Finds for every marker the sentence of its source that the sentence around it leans on."""

    name: ClassVar[str] = "cite"
    needs: ClassVar[frozenset[str]] = frozenset({"answer", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    confidence: float = Field(
        0.0, ge=0, le=1, description="Least confidence of a citation; the others are left out."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        answer = turn.answer or GeneratedAnswer()
        sources = {passage.number: _SourceSentences(passage) for passage in turn.passages}
        if answer.refused and not (turn.ask.streams and not answer.held):
            answer = replace(answer, text=strip_markers(answer.text))
        said = [] if answer.refused or answer.is_json else find_cited_spans(answer.text)
        found, unknown = list[Marker](), set[int]()
        for marker in find_markers(answer.text) if said else ():
            number = int(marker[1])
            if number not in sources:
                unknown.add(number)
                continue
            spans = (span for span, _ in said if span.start <= marker.start() < span.end)
            around = next(spans, Span(0, len(answer.text)))
            cited = sources[number].cite(strip_markers(answer.text[around.start : around.end]))
            found.append(Marker(marker.start(), marker.end(), number, cited))
        # A source that is only said to be used is cited for all that is said.
        only_used = {n for n in answer.used if n in sources} - {item.number for item in found}
        claims = [strip_markers(answer.text[span.start : span.end]) for span, _ in said]
        if answer.is_json:
            claims = [await asyncio.to_thread(read_values, answer)]
        used = [
            max((sources[n].cite(claim) for claim in claims), key=lambda item: item.similarity)
            for n in only_used
            if claims
        ]
        cells = cite_cells(answer, turn.passages)
        citations = group_by_source([*(item.citation for item in found), *used, *cells])
        citations = tuple(item for item in citations if item.confidence >= self.confidence)
        reason = f"no source has the number {', '.join(map(str, sorted(unknown)))}"
        return Step(
            replace(turn, answer=replace(answer, citations=citations, markers=tuple(found))),
            f"{len(citations)} of {len(turn.passages)} sources cited",
            reason if unknown else "",
        )


@dataclass(frozen=True, slots=True)
class _ReadSentence:
    """A sentence of a passage: its place, its text in one line, and its words."""

    span: Span
    line: str
    words: frozenset[str]


class _SourceSentences:
    """The sentences of a passage, which is read when it is first cited."""

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._read: Sequence[_ReadSentence] = ()

    def cite(self, claim: str) -> Citation:
        """The citation of the sentence that holds most of the claim; of equals, the longest."""
        text = self._passage.text
        self._read = self._read or [
            _ReadSentence(span, _single_line(said), content_word_set(said))
            for span in sentences(text) or [Span(0, len(text))]
            for said in (text[span.start : span.end],)
        ]
        line, words = _single_line(claim), content_word_set(claim)
        overlaps = [_overlap(line, words, sentence) for sentence in self._read]
        best = max(range(len(overlaps)), key=lambda i: (overlaps[i], len(self._read[i].line)))
        span = self._read[best].span
        return build_citation(self._passage, span.start, span.end, min(1.0, overlaps[best]))


def _single_line(text: str) -> str:
    return " ".join(text.split())


def _overlap(claim: str, words: frozenset[str], sentence: _ReadSentence) -> float:
    """Tell how much of the claim's words the sentence has; more than 1 if it holds the claim as it
    stands, most where it holds little else."""
    if claim.strip(" .") and claim in sentence.line:
        return 1.0 + len(claim) / len(sentence.line)
    return len(words & sentence.words) / max(1, len(words))
