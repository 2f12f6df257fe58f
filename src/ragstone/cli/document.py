"""`ragstone document`: what was read of a document, as a tree for a person."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import out_json, print_text
from ragstone.cli.running import Context, context_settings, run
from ragstone.core.code_spans import by_code, without_spans
from ragstone.core.document import BlockSpan, find_page
from ragstone.core.turn import Principal
from ragstone.core.wording import format_count

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.service.reading import ChunkPlace, DocumentText

app = typer.Typer(
    add_completion=False, help="Show what was read of a document.", no_args_is_help=True
)

PART = 500_000
"""Characters of a document that are asked for at a time."""

_TAGS = {"caption": "figcaption", "quote": "blockquote", "header": "address"}
_STYLE = (
    "body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td{border:1px solid #999;padding:.1rem .4rem}"
    "pre{background:#8882;padding:.5rem;overflow:auto}aside{border-left:3px solid #c80;"
    "padding-left:.5rem}hr{border:0;border-top:1px dashed #06c}small{color:#06c}"
)


@app.command()
def show(
    context: Context,
    path: Annotated[str, typer.Argument(help="A path as 'ragstone documents' shows it, or an id.")],
    collection: opt.Collection = "default",
    as_html: Annotated[bool, typer.Option("--html", help="Print a page for a browser.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Print a document as it was read: its blocks, tables and chunks, with pages."""

    async def action(service: "Service") -> int:
        found = await _read(service, collection, path)
        if as_json:
            out_json(found)
        else:
            print_text("\n".join(page(found) if as_html else tree(found)))
        return 0

    run(context_settings(context), action)


async def _read(service: "Service", collection: str, path: str) -> "DocumentText":
    """The whole document; of one that is longer than a part, the first part."""
    return await service.reading.read(Principal(), collection, path, 0, PART, operator=True)


def tree(found: "DocumentText") -> Iterator[str]:
    """The document in lines: blocks below their headings, a line where a page or chunk begins."""
    document = found.document
    pages = f"{format_count(document.pages, 'page')}, " if document.pages else ""
    yield f"{document.path}  {document.title}"
    counts = f"{format_count(len(found.chunks), 'chunk')}, {format_count(found.total, 'character')}"
    yield f"{pages}{counts}, {document.media_type}"
    for name, value in sorted((document.metadata or {}).items()):
        yield f"{name}: {value}"
    for copy in found.copies:
        yield f"the same content: {copy}"
    yield from document.left_out
    depth, number = -1, None
    for block, chunks in _with_chunks(found):
        for place, chunk in chunks:
            at = f", page {chunk.page}" if chunk.page else ""
            yield f"── chunk {place}{at}, {chunk.kind}, {chunk.language or 'language unknown'}"
        if (here := find_page(found.blocks, block.start)) and here != number:
            number = here
            yield f"══ page {number}"
        if block.kind == "heading":
            depth = block.level - 1
        indent = "  " * (depth if block.kind == "heading" else depth + max(1, block.level))
        name = f"{block.kind} ({block.label})" if block.label else block.kind
        name += f", {_count_pictures(block.pictures)}" if block.pictures else ""
        first, *more = found.text[block.start : block.end].split("\n")
        yield f"{indent}[{name}] {first}"
        yield from (f"{indent}    {line}" for line in more)
    if not found.blocks:
        yield "Its blocks are not known: it was indexed by an earlier version. Ingest it again."
        yield found.text
    if found.total > len(found.text):
        yield f"… {found.total - len(found.text):,} more characters"


def _count_pictures(pictures: Sequence[str]) -> str:
    return "picture" if len(pictures) == 1 else f"{len(pictures)} pictures"


def page(found: "DocumentText") -> Iterator[str]:
    """The document as one page of HTML that loads nothing."""
    title = escape(found.document.title)
    yield f'<!doctype html><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    yield f"<h1>{title}</h1><p><small>{escape(found.document.path)}</small></p>"
    yield from (f"<p><small>{escape(note)}</small></p>" for note in found.document.left_out)
    number = None
    for block, chunks in _with_chunks(found):
        for place, chunk in chunks:
            yield f"<hr><small>chunk {place}, {escape(chunk.kind)}</small>"
        if (here := find_page(found.blocks, block.start)) and here != number:
            number = here
            yield f"<p><small>page {number}</small></p>"
        yield _element(block, found.text[block.start : block.end])


def _element(block: BlockSpan, text: str) -> str:
    safe = "".join(
        f"<code>{escape(without_spans(item))}</code>" if is_code else escape(item)
        for item, is_code in by_code(text)
    )
    if block.kind == "heading":
        level = min(6, block.level + 1)
        return f"<h{level}>{safe}</h{level}>"
    if block.kind == "code":
        return f"<pre><code>{escape(text)}</code></pre>"
    if block.kind == "table":
        rows = "".join(f"<tr>{_cells(line)}</tr>" for line in text.split("\n"))
        caption = f"<caption>{escape(block.label)}</caption>" if block.label else ""
        return f"<table>{caption}{rows}</table>"
    if block.kind == "item":
        return f'<p style="margin:0 0 0 {block.level * 1.5}rem">{safe}</p>'
    if block.kind == "admonition":
        return f"<aside><b>{escape(block.label)}</b> {safe}</aside>"
    tag = _TAGS.get(block.kind, "p")
    return f"<{tag}>{safe}</{tag}>"


def _cells(line: str) -> str:
    parts = line.split(" | ") if " | " in line else line.split("; ")
    return "".join(f"<td>{escape(part)}</td>" for part in parts)


def _with_chunks(
    found: "DocumentText",
) -> Iterator[tuple[BlockSpan, Sequence[tuple[int, "ChunkPlace"]]]]:
    """Each block, with the chunks that begin in it or before it."""
    waiting = list(enumerate(found.chunks))
    for block in found.blocks:
        begun = []
        while waiting and waiting[0][1].start < block.end:
            begun.append(waiting.pop(0))
        yield block, begun
