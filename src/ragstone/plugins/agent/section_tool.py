"""The tool that reads on in a document: a section of it, or some of its pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragstone.core.chunk import Chunk, join_chunks
from ragstone.core.document import cut_blocks, encode_blocks
from ragstone.core.errors import InputError
from ragstone.core.filters import CURRENT_TEXT, And, AnyOf, Filter, Or, Range, eq
from ragstone.core.tool import Tool
from ragstone.core.turn import Hit
from ragstone.ports import find_collection
from ragstone.retrieve.built_in_tools import ToolContext, ToolFinding, text_argument
from ragstone.retrieve.searching import visible

MAX_CHUNKS = 3_000
"""Chunks of a document that are read; of a larger one, pages can be."""

NAMED = 40
"""Sections that are named where the one that is asked for is not there."""


def _arguments(**properties: tuple[str, str]) -> dict[str, Any]:
    return {name: {"type": kind, "description": said} for name, (kind, said) in properties.items()}


@dataclass(frozen=True)
class ReadSection:
    """Reads a section or pages of a document that the asker may read."""

    tool: Tool = Tool(
        "read_section",
        "Reads a document that a search found: a section, some pages, or its beginning.",
        {
            "type": "object",
            "properties": _arguments(
                document=("string", "The document's path, as the search shows it."),
                section=("string", "A heading of it, as the search shows it."),
                first_page=("integer", "The first page to read."),
                last_page=("integer", "The last page to read."),
            ),
            "required": ["document"],
        },
        changes=False,
    )
    of_documents: bool = True

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolFinding:
        name, section = (
            text_argument(arguments, "document"),
            text_argument(arguments, "section", ""),
        )
        pages = _pages(arguments)
        chunks = await _chunks(_resolve_path(name, context.seen), pages, context)
        if not chunks:
            # What the asker may not read is as if it were not there.
            raise InputError("There is no such document or page. Name one that a search showed.")
        wanted = _of_section(chunks, section) if section else chunks
        if not wanted:
            said = "; ".join(_names(chunks)[:NAMED]) or "none"
            raise InputError(f"The document has no such section. Its sections: {said}.")
        read = _fit_chunks(wanted, context.most_chars)
        text, _ = join_chunks(read)
        shown = text[: context.most_chars]
        left = wanted[-1].end - read[0].start - len(shown)
        more = f"\n(It goes on for {left:,} characters: ask for a section.)" if left > 0 else ""
        return ToolFinding(
            f"{read[0].heading or read[0].path}\n{shown}{more}",
            f"{read[0].path}: {len(shown):,} characters",
            hits=tuple(Hit(chunk, 1.0) for chunk in read),
        )


def _pages(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the pages asked for, None for all; raises InputError."""
    first, last = arguments.get("first_page"), arguments.get("last_page")
    if first is None and last is None:
        return None
    first = 1 if first is None else first
    last = first if last is None else last
    if not (type(first) is int and type(last) is int and 1 <= first <= last <= 10**6):
        raise InputError("first_page and last_page must be numbers of pages, in order.")
    return first, last


def _resolve_path(name: str, seen: Sequence[Chunk]) -> str:
    """The path of a document that was found, by its path, file name, title or id; else the name."""
    for chunk in seen:
        file = chunk.path.rpartition("/")[2]
        if name in (chunk.path, chunk.path.lstrip("/"), file, chunk.title, chunk.document_id):
            return chunk.path
    return name


async def _chunks(path: str, pages: tuple[int, int] | None, context: ToolContext) -> list[Chunk]:
    """Return the chunks of the document at a path, in order, as far as the asker may read them and
    the filter of the question holds them."""
    ask, adapters = context.turn.ask, context.adapters
    collection = await find_collection(adapters.catalog, ask)
    if collection is None:
        return []
    named: Filter = Or((AnyOf("path", (path, f"/{path}")), eq("document_id", path)))
    found: list[Chunk] = []
    async with adapters.catalog.snapshot(collection) as hidden:
        parts: list[Filter] = [visible(ask, hidden), CURRENT_TEXT, named]
        if pages:
            parts.append(Range("page", *pages))
        where = And(tuple(parts))
        if await adapters.index.count(collection, where) > MAX_CHUNKS:
            raise InputError("The document is very long. Ask for some of its pages.")
        async for batch in adapters.index.scan(collection, where):
            found += batch
    found.sort(key=lambda item: (item.document_id, item.chunk_index))
    first = [chunk for chunk in found if chunk.document_id == found[0].document_id]
    return [item.with_collection(collection.name) for item in first]


def _of_section(chunks: Sequence[Chunk], section: str) -> list[Chunk]:
    """Return the text below a heading that is called so, or else has these words in it: chunks, of
    which the first and the last may be cut."""
    wanted = section.rpartition(">")[2].strip(" #").casefold()
    headings = _headings(chunks)
    found = [n for n, heading in enumerate(headings) if heading.name.casefold() == wanted]
    found = found or [n for n, heading in enumerate(headings) if wanted in heading.name.casefold()]
    if found:
        first, *after = headings[found[0] :]
        behind = (item.start for item in after if item.level <= first.level)
        return _slice_chunks(chunks, first.start, next(behind, chunks[-1].end))
    # Of a document whose blocks are not known, and of some pages, chunks may know more headings.
    exact = [chunk for chunk in chunks if any(wanted == name.casefold() for name in chunk.section)]
    return exact or [
        chunk for chunk in chunks if any(wanted in n.casefold() for n in chunk.section)
    ]


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading, its level (1 is the uppermost) and where it begins in the document."""

    name: str
    level: int
    start: int


def _headings(chunks: Sequence[Chunk]) -> list[_Heading]:
    text, blocks = join_chunks(chunks)
    first = chunks[0].start
    return [
        _Heading(
            text[block.start : block.end].strip(" #\n"), max(1, block.level), first + block.start
        )
        for block in blocks
        if block.kind == "heading"
    ]


def _names(chunks: Sequence[Chunk]) -> list[str]:
    """Return the headings of a document, those above its chunks too, each once."""
    above = (item for chunk in chunks for item in chunk.section)
    return list(dict.fromkeys([*(heading.name for heading in _headings(chunks)), *above]))


def _slice_chunks(chunks: Sequence[Chunk], start: int, end: int) -> list[Chunk]:
    """Return what of the chunks lies between two places of the document."""
    found = []
    for chunk in chunks:
        begin, stop = max(start, chunk.start), min(end, chunk.end)
        if begin < stop:
            here, there = begin - chunk.start, stop - chunk.start
            layout = encode_blocks(cut_blocks(chunk.blocks, here, there))
            text = chunk.text[here:there]
            found.append(replace(chunk, text=text, start=begin, end=stop, layout=layout))
    return found


def _fit_chunks(chunks: Sequence[Chunk], most: int) -> list[Chunk]:
    """Return the first chunks that have at most so many characters together, one at least."""
    kept, length = [chunks[0]], len(chunks[0].text)
    for chunk in chunks[1:]:
        length += len(chunk.text)
        if length > most:
            break
        kept.append(chunk)
    return kept
