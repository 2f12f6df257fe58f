"""Sums a document up by its own structure: how it begins, and how each of its sections does."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragstone.core.document import BlockSpan
from ragstone.core.turn import Passage
from ragstone.language.outline import outline
from ragstone.language.sentences import ends_as_sentence, says_something, sentences

LEAD_SENTENCES, LEAD_CHARS = 3, 600
"""How much is said of the beginning."""

SECTIONS = 8
"""Sections that are named, of all documents together."""

EXCERPTS = 12
"""Sentences of a summary by a tree, the best of those that it chose."""

SENTENCE_CHARS = 320
"""A longer sentence of a section is left out."""

_INTRODUCES = re.compile(
    r"^[\d.\s]*(?:abstract|(?:executive )?summary|introduction|intro|overview|about\b.{0,40}|"
    r"at a glance|zusammenfassung|einleitung|einführung|überblick|résumé|présentation|aperçu|"
    r"resumen|introducción|riassunto|introduzione|panoramica|resumo|introdução|samenvatting|"
    r"inleiding|введение|обзор|摘要|概述|简介|简述|介绍|引言|前言|要約|概要|はじめに|紹介|요약|개요|소개)"
    r"[\s:：.]*$",
    re.IGNORECASE,
)
"""Headings of sections that say what a document is about."""

_PROSE = frozenset({"paragraph", "item", "quote", "admonition"})


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of a summary from one source: a section's heading, if any, and what it says; or the
    title of one of several documents."""

    text: str
    number: int
    heading: str = ""
    is_title: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands below a heading, up to the next one: sentences with their sources."""

    heading: str
    level: int
    number: int
    said: tuple[SummaryLine, ...]


def summary(passages: Sequence[Passage]) -> list[SummaryLine]:
    """Return the lines of a summary of passages in order: of one document, or how each of several
    begins, and as many of its sections as there is room for. Empty where none has prose."""
    documents: dict[str, list[Passage]] = {}
    for passage in passages:
        documents.setdefault(passage.hit.chunk.document_id, []).append(passage)
    sections = SECTIONS // max(1, len(documents))
    several = len(documents) > 1
    return [line for own in documents.values() for line in _summary(own, several, sections)]


def excerpt_sentences(passages: Sequence[Passage]) -> list[SummaryLine]:
    """Return the lines of a summary of passages that are the sentences that tell most, in order:
    the best of them, each section's first with its heading, each document's with its name where
    there are several."""
    best = sorted(passages, key=lambda item: (-item.hit.score, item.number))[:EXCERPTS]
    several = len({item.hit.chunk.document_id for item in best}) > 1
    lines: list[SummaryLine] = []
    before = ""
    for passage in sorted(best, key=lambda item: item.number):
        chunk = passage.hit.chunk
        section = chunk.section[-1] if chunk.section else ""
        heading = chunk.title or chunk.path if several else section
        label = next((block.label for block in passage.blocks if block.kind == "item"), "")
        text = passage.text.strip()
        text = text if any(map(str.isalnum, label)) else text.removeprefix(label)
        shown = "" if heading == before else heading
        lines.append(SummaryLine(_line(text), passage.number, shown))
        before = heading
    return lines


def _summary(passages: Sequence[Passage], several: bool, room: int) -> list[SummaryLine]:
    """Of one document, which has a title of its own where it is one of several."""
    parts = list(_parts(passages))
    lead = _lead(parts)
    if lead is None:
        return []
    lines = _fit_lines(parts[lead].said)
    title = _title(parts)
    if several:
        chunk, number = passages[0].hit.chunk, passages[0].number
        named = title[0].heading if title else chunk.heading or chunk.path
        title = [SummaryLine("", number, named, is_title=True)]
    sections = list(_sections(parts, lead))
    told = [line for line in sections if line.text]
    return [*title, *lines, *(told or sections)[:room]]


def _title(parts: Sequence[_Part]) -> list[SummaryLine]:
    """Return the heading with which the document begins, as a line of its own."""
    first = parts[0]
    return [SummaryLine("", first.number, first.heading)] if first.heading else []


def _parts(passages: Sequence[Passage]) -> Iterator[_Part]:
    heading, level, number, said = "", 0, 0, list[SummaryLine]()
    for passage in passages:
        for block in passage.blocks or outline(passage.text):
            text = passage.text[block.start : block.end]
            if block.kind == "heading":
                if heading or said:
                    yield _Part(heading, level, number, tuple(said))
                heading, level, number, said = (
                    _line(text.lstrip("#")),
                    block.level,
                    passage.number,
                    [],
                )
            elif block.kind in _PROSE and len(said) <= LEAD_SENTENCES:
                said += _sentences(text, block, passage.number)
    if heading or said:
        yield _Part(heading, level, number, tuple(said))


def _sentences(text: str, block: BlockSpan, number: int) -> Iterator[SummaryLine]:
    if block.kind == "item" and not any(map(str.isalnum, block.label)):
        text = text.strip().removeprefix(block.label).lstrip()
    for span in sentences(text):
        line = _line(text[span.start : span.end])
        if says_something(line) and (ends_as_sentence(line) or block.kind == "item"):
            yield SummaryLine(line, number)


def _lead(parts: Sequence[_Part]) -> int | None:
    """The part that says what the document is about: an introduction, else the first with prose."""
    telling = [place for place, part in enumerate(parts) if part.said]
    introducing = [place for place in telling if _INTRODUCES.match(parts[place].heading)]
    first = next(iter(telling), None)
    if first is not None and introducing and not (first == 0 and parts[0].heading):
        return introducing[0]
    return first


def _fit_lines(said: Sequence[SummaryLine]) -> list[SummaryLine]:
    """Return the first sentences, as many as there is room for."""
    lines: list[SummaryLine] = []
    room = LEAD_CHARS
    for line in said[:LEAD_SENTENCES]:
        if lines and len(line.text) > room:
            break
        lines.append(line)
        room -= len(line.text)
    return lines


def _sections(parts: Sequence[_Part], lead: int) -> Iterator[SummaryLine]:
    """Tell how the sections begin that are highest, but of which there are several."""
    others = [part for part in parts[lead + 1 :] if part.heading]
    levels = sorted({part.level for part in others})
    at = next((level for level in levels if sum(part.level == level for part in others) > 1), None)
    chosen = [part for part in others if part.level == at] if at is not None else others
    for part in chosen[:SECTIONS]:
        first = part.said[0] if part.said else None
        if first is None or len(first.text) > SENTENCE_CHARS:
            yield SummaryLine("", part.number, part.heading)
        else:
            yield SummaryLine(first.text, first.number, part.heading)


def _line(text: str) -> str:
    return " ".join(text.split())
