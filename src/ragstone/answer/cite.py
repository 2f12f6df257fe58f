"""Turns the answer's markers into citations with the span that supports each."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import Citation, CitedSpan, GeneratedAnswer
from ragstone.core.turn import Passage, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.markers import cited_sentences
from ragstone.language.sentences import Span, sentences
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters
from ragstone.verify.citation import citation

OFTEN = 3
LEAST = 0.5
"""A further span of a source has at least this share of the words of the sentence it is for."""


class Cite(Stage):
    """Finds for every cited source the sentence of it that the answer leans on most, and those that
    each sentence which cites it leans on."""

    name: ClassVar[str] = "cite"
    needs: ClassVar[frozenset[str]] = frozenset({"answer", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset({"answer"})
    fails: ClassVar[Literal["open", "closed"]] = "open"

    confidence: float = Field(
        0.0, ge=0, le=1, description="Least confidence of a citation; the others are left out."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        answer = turn.answer or GeneratedAnswer()
        passages = {passage.number: passage for passage in turn.passages}
        claims = {} if answer.refused else _claims(answer)
        citations = tuple(
            _citation(passages[number], claimed)
            for number, claimed in sorted(claims.items())
            if number in passages
        )
        citations = tuple(one for one in citations if one.confidence >= self.confidence)
        wrong = sorted(set(claims) - set(passages))
        reason = f"no source has the number {', '.join(map(str, wrong))}" if wrong else ""
        return Step(
            replace(turn, answer=replace(answer, citations=citations)),
            f"{len(citations)} of {len(passages)} sources cited",
            reason,
        )


def _claims(answer: GeneratedAnswer) -> dict[int, list[str]]:
    """What each source is cited for; all that is said, for one that is only said to be used."""
    said = cited_sentences(answer.text)
    claims: dict[int, list[str]] = {}
    for sentence, numbers in said:
        for number in numbers:
            claims.setdefault(number, []).append(sentence)
    for number in answer.used:
        claims.setdefault(number, [sentence for sentence, _ in said])
    return claims


def _citation(passage: Passage, claims: Sequence[str]) -> Citation:
    read = [
        (span, _single_line(text), content_word_set(text))
        for span in _spans(passage.text)
        for text in (passage.text[span.start : span.end],)
    ]
    supports = [_supports(claim, read) for claim in claims]
    best = [max(one, key=lambda span: (one[span], span.end - span.start)) for one in supports]
    held = [one[span] for one, span in zip(supports, best, strict=True)]
    most, span = max(
        zip(held, best, strict=True), key=lambda one: (one[0], one[1].end - one[1].start)
    )
    similarity = min(1.0, most)
    confidence = _confidence(passage.hit.score, similarity, len(claims))
    cited = {span, *(one for share, one in zip(held, best, strict=True) if share >= LEAST)}
    places = (citation(passage, one.start, one.end) for one in cited)
    spans = {CitedSpan(one.start, one.end, one.page, one.snippet) for one in places}
    return replace(
        citation(passage, span.start, span.end, similarity, confidence),
        spans=tuple(sorted(spans, key=lambda one: (one.start, one.end))),
    )


def _supports(claim: str, read: Sequence[tuple[Span, str, frozenset[str]]]) -> dict[Span, float]:
    """How well each sentence of a passage, given with its line and words, supports a claim."""
    line, own = _single_line(claim), content_word_set(claim)
    return {span: _claim_overlap(line, own, said, words) for span, said, words in read}


def _confidence(score: float, similarity: float, times: int) -> float:
    """How sure a citation is, as the VoiceHelper document weighs it: the source's score, the span's
    likeness to the claim, and how often it is cited (three times is often)."""
    return 0.4 * score + 0.4 * similarity + 0.2 * min(times / OFTEN, 1.0)


def _spans(text: str) -> Iterator[Span]:
    yield from sentences(text) or [Span(0, len(text))]


def _single_line(text: str) -> str:
    return " ".join(text.split())


def _claim_overlap(claim: str, own: frozenset[str], sentence: str, words: frozenset[str]) -> float:
    """How much of the claim's words the sentence has; more than 1 if it holds the claim as it
    stands, most where it holds little else."""
    if claim.strip(" .") and claim in sentence:
        return 1.0 + len(claim) / len(sentence)
    return len(own & words) / max(1, len(own))
