"""Gives each hit the width that the plan asks for: paragraph, chunk, neighbours or section."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.chunk import Chunk, merge_chunks
from ragstone.core.document import cut_blocks, encode_blocks, find_page
from ragstone.core.filters import CURRENT_TEXT, And, Filter, Or, Range, eq
from ragstone.core.records import Collection
from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.sentences import Span
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters
from ragstone.retrieve.searching import visible

WIDEST_GAP = 200
"""Characters between two chunks that can only be space; more means that something lies between."""

_BREAK = re.compile(
    r"""\n[^\S\n]*\n\s*            # a blank line
    |(?<=[.!?:;。！？：；।])\s*\n    # the end of a sentence that is the end of a line
    |\n(?=\s*(?:[-*+•|>#]|\d+[.)]\s))  # an item of a list, a row of a table, a heading
    """,
    re.VERBOSE,
)
_HEADING_CHARACTERS = 80


def stitch_neighbours(chunks: Sequence[Chunk], around: Chunk) -> Chunk:
    """`around`, with the text of the chunks that adjoin it on either side in the same document."""
    ordered = sorted({c.chunk_index: c for c in (*chunks, around)}.items())
    place = [index for index, _ in ordered].index(around.chunk_index)
    wide = around
    for _, chunk in ordered[place + 1 :]:
        if chunk.start - wide.end > WIDEST_GAP:
            break
        wide = merge_chunks(wide, chunk)
    for _, chunk in reversed(ordered[:place]):
        if wide.start - chunk.end > WIDEST_GAP:
            break
        wide = merge_chunks(chunk, wide)
    return replace(
        around, text=wide.text, start=wide.start, end=wide.end, page=wide.page, layout=wide.layout
    )


def paragraphs(text: str) -> Iterator[Span]:
    """Yield the paragraphs of `text`, each heading with what it stands over."""
    start = end = 0
    for match in (*_BREAK.finditer(text), None):
        end = match.start() if match else len(text)
        part = text[start:end].strip()
        if part and not (match and _is_heading(part)):
            yield Span(start, end)
            start = match.end() if match else end


def _is_heading(text: str) -> bool:
    """Tell whether `text` is one short line that ends without a full stop."""
    return (
        len(text) <= _HEADING_CHARACTERS
        and "\n" not in text
        and text[-1].isalnum()
        and not text.startswith(("-", "*", "+", "•", "|", ">"))
    )


def narrow_chunk(chunk: Chunk, span: Span) -> Chunk:
    """Return the part of `chunk` that `span` names."""
    return replace(
        chunk,
        text=chunk.text[span.start : span.end],
        start=chunk.start + span.start,
        end=chunk.start + span.end,
        page=find_page(chunk.blocks, span.start) or chunk.page,
        layout=encode_blocks(cut_blocks(chunk.blocks, span.start, span.end)),
    )


CONTINUED = 5
"""The best hits whose lists are followed into the next chunk."""

SECTION_CHUNKS = 8
"""Chunks on either side that a section may bring along."""


class Expand(Stage):
    """Reads the chunks around each hit, or keeps only the paragraph that matched."""

    name: ClassVar[str] = "expand"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "plan"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})
    fails: ClassVar[Literal["open", "closed"]] = "open"
    searches: ClassVar[bool] = True

    continues: bool = Field(
        True, description="Whether what follows a chunk that ends in a list comes along."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        plan = turn.plan
        if plan.unit == "paragraph":
            asked = content_word_set(" ".join(turn.queries))
            hits = tuple(replace(hit, chunk=_paragraph(hit.chunk, asked)) for hit in turn.hits)
            return Step(replace(turn, hits=hits), "paragraphs")
        reach = SECTION_CHUNKS if plan.unit == "section" else plan.neighbours
        if not turn.hits or turn.collection is None or plan.strategy == "sequential":
            return Step(turn, "skipped", "the plan asks for chunks as they are")
        if not reach:
            return await self._continue(turn, turn.collection, adapters)
        around = await _neighbours(turn, turn.collection, adapters, turn.hits, reach)
        hits = tuple(_widen(turn.hits, around, plan.unit == "section", reach))
        return Step(replace(turn, hits=hits), f"{plan.unit}, {reach} chunks on either side")

    async def _continue(self, turn: Turn, collection: Collection, adapters: Adapters) -> Step:
        """Return the hits, each that ends in a list with the chunk behind it."""
        listed = [hit for hit in turn.hits[:CONTINUED] if _ends_in_list(hit.chunk)]
        if not self.continues or not listed:
            return Step(turn, "skipped", "the plan asks for chunks as they are")
        around = await _neighbours(turn, collection, adapters, listed, 1)
        known = {hit.chunk.chunk_id for hit in turn.hits}
        hits: list[Hit] = []
        for hit in turn.hits:
            hits.append(hit)
            for chunk in around.get(hit.chunk.revision, ()) if hit in listed else ():
                if chunk.chunk_index == hit.chunk.chunk_index + 1 and chunk.chunk_id not in known:
                    known.add(chunk.chunk_id)
                    hits.append(Hit(chunk, hit.score))
        added = len(hits) - len(turn.hits)
        return Step(replace(turn, hits=tuple(hits)), f"{added} chunks go on with a list")


def _ends_in_list(chunk: Chunk) -> bool:
    """Tell whether a list, or the sentence that leads in one, stands at the end of a chunk."""
    last = chunk.blocks[-1] if chunk.blocks else None
    return last is not None and (last.kind == "item" or chunk.text.rstrip().endswith((":", "：")))


async def _neighbours(
    turn: Turn, collection: Collection, adapters: Adapters, hits: Sequence[Hit], reach: int
) -> Mapping[str, list[Chunk]]:
    """Return the chunks near the hits, by revision; nothing that the caller may not read."""
    near: list[Filter] = []
    for hit in hits:
        index = hit.chunk.chunk_index
        near.append(
            And(
                (
                    eq("revision", hit.chunk.revision),
                    Range("chunk_index", index - reach, index + reach),
                )
            )
        )
    found: dict[str, list[Chunk]] = {}
    async with adapters.catalog.snapshot(collection) as hidden:
        where = And((visible(turn.ask, hidden), CURRENT_TEXT, Or(tuple(near))))
        async for chunks in adapters.index.scan(collection, where):
            for chunk in chunks:
                found.setdefault(chunk.revision, []).append(chunk)
    return found


def _widen(
    hits: Sequence[Hit], around: Mapping[str, list[Chunk]], section: bool, reach: int
) -> Iterable[Hit]:
    """Yield each hit with its neighbours; one that lies inside a better one is dropped."""
    done: list[Chunk] = []
    for hit in hits:
        chunk = hit.chunk
        if any(
            item.revision == chunk.revision and item.start <= chunk.start and chunk.end <= item.end
            for item in done
        ):
            continue
        near = [
            item
            for item in around.get(chunk.revision, ())
            if abs(item.chunk_index - chunk.chunk_index) <= reach
            and (not section or item.section == chunk.section)
        ]
        wide = stitch_neighbours(near, chunk)
        done.append(wide)
        yield replace(hit, chunk=wide)


def _paragraph(chunk: Chunk, asked: frozenset[str]) -> Chunk:
    """Return the paragraph that shares most words with the question, the first of equals."""
    spans = list(paragraphs(chunk.text))
    if len(spans) < 2:
        return chunk
    shares = [len(asked & content_word_set(chunk.text[s.start : s.end])) for s in spans]
    return narrow_chunk(chunk, spans[shares.index(max(shares))])
