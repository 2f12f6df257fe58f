"""PPTX through python-pptx: a page per slide, its title as heading, then what stands on it.

Shapes are read as they lie, line by line; hidden slides are read too. Notes and comments follow the
slide that they are of. Masters and running feet are left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PythonPptxError

from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.drawing import chart_blocks, diagram_blocks
from ragstone.ingest.formats.embedded import Pictures, read_package_picture, read_package_pictures
from ragstone.ingest.formats.furniture import add_running_heads, comment_block
from ragstone.ingest.formats.inline_text import lower_text, raise_text
from ragstone.ingest.formats.numbering import BULLET, numeral
from ragstone.ingest.formats.package import (
    core_properties,
    find_embedded_files,
    office_package,
    safe_tree,
    translate_library_errors,
)
from ragstone.ingest.formats.struck import strike_out
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.types import ZIP, Format

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FURNITURE = {PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER,
              PP_PLACEHOLDER.HEADER}  # fmt: skip
_TITLES = {PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE}
_LISTS = {PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY,
          PP_PLACEHOLDER.VERTICAL_OBJECT}  # fmt: skip
_OPENING = {"title", "secHead"}
_ROW_SHARE = 20
"""Shapes whose tops differ by less than this part of the slide's height lie side by side."""
_AUTHORS = ("/commentAuthors", "/relationships/authors")
_MAX_DEPTH = 40
_MISSING = (PythonPptxError, AttributeError, LookupError, TypeError, ValueError)
"""What python-pptx raises where a slide lacks a part or an attribute."""
_TITLE_CHARS = 120
_BOX_LINE_CHARS = 80
_AUTO = {"arabic": "decimal", "alphaLc": "lowerLetter", "alphaUc": "upperLetter",
         "romanLc": "lowerRoman", "romanUc": "upperRoman"}  # fmt: skip
_SIGNS = {"Period": ("", "."), "ParenR": ("", ")"), "ParenBoth": ("(", ")"), "Plain": ("", "")}


def parse_pptx(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a file whole, if it unpacks to at most `max_bytes`.

    Raises UnreadableDocument, WrongType, EncryptedDocument or ArchiveBomb.
    """
    package = office_package(path, ending, max_bytes)
    with translate_library_errors(path):
        presentation = pptx.Presentation(package)
        title, metadata = core_properties(path, package)
        pages = len(presentation.slides)
        pictures = read_package_pictures(path, max_bytes)
    return Parsed(
        title,
        _blocks(path, presentation, pictures),
        pages,
        metadata | pictures.metadata,
        recognised=pictures.recognition_count,
        notes=(*pictures.notes, *find_embedded_files(path)),
        last_notes=pictures.last_notes,
    )


def _blocks(path: Path, presentation: Any, pictures: Pictures) -> Iterator[Block]:
    with translate_library_errors(path):
        slides = _slides(path, presentation, pictures)
        yield from add_running_heads(slides, (), _footers(presentation))


def _slides(path: Path, presentation: Any, pictures: Pictures) -> Iterator[Block]:
    height = presentation.slide_height or 1
    for page, slide in enumerate(presentation.slides, 1):
        try:
            yield from _Slide(path, slide, page, height, pictures).blocks()
        except KeyError as error:
            raise UnreadableDocument(
                f"{path.name} is damaged or incomplete: slide {page} misses a part."
            ) from error


def _footers(presentation: Any) -> Iterator[str]:
    """Yield the texts at the foot of slides."""
    for slide in presentation.slides:
        for shape in slide.shapes:
            if _placeholder(shape) == PP_PLACEHOLDER.FOOTER and shape.has_text_frame:
                yield " ".join(shape.text_frame.text.split())


class _Slide:
    """One slide being read."""

    def __init__(self, path: Path, slide: Any, page: int, height: int, pictures: Pictures) -> None:
        self._path, self._slide, self._page, self._pictures = path, slide, page, pictures
        self._row = max(height // _ROW_SHARE, 1)

    def blocks(self) -> Iterator[Block]:
        title, opening = "", self._page == 1 or _layout_type(self._slide) in _OPENING
        body: list[Block] = []
        for shape in self._order_shapes(self._slide.shapes):
            if not title and _placeholder(shape) in _TITLES:
                title = " ".join(shape.text_frame.text.split())
            else:
                body += self._shape(shape, 0)
        if not title and body:
            title, body = _take_title(body, self._page)
        if title:
            yield Block(title, "heading", 1 if opening else 2, self._page)
        yield from body
        yield from self._notes()
        yield from self._comments()

    def _order_shapes(self, shapes: Iterable[Any]) -> list[Any]:
        """Order shapes as they are read: the title, then from the top and from the left."""

        def place(shape: Any) -> tuple[bool, int, int]:
            left, top = _edges(shape)
            # Tops of shapes in one row differ by a few pixels, so they are compared by rows.
            return _placeholder(shape) not in _TITLES, top // self._row, left

        return sorted(shapes, key=place)

    def _shape(self, shape: Any, depth: int) -> Iterator[Block]:
        if depth > _MAX_DEPTH or _placeholder(shape) in _FURNITURE:
            return
        element = shape._element
        if element.tag == f"{_P}grpSp":
            for inner in self._order_shapes(shape.shapes):
                yield from self._shape(inner, depth + 1)
        elif getattr(shape, "has_table", False):
            yield from self._table(shape.table)
        elif element.tag == f"{_P}graphicFrame":
            yield from self._graphic(element)
        elif element.tag == f"{_P}pic":
            yield from self._picture(element)
        elif getattr(shape, "has_text_frame", False):
            yield from self._text(shape)

    def _graphic(self, element: Any) -> Iterator[Block]:
        for chart in element.iter(_CHART):
            yield from chart_blocks(self._read_related(chart.get(f"{_R}id")), self._page)
        for diagram in element.iter(_DIAGRAM):
            yield from diagram_blocks(self._read_related(diagram.get(f"{_R}dm")), self._page)

    def _picture(self, element: Any) -> Iterator[Block]:
        blip = next(element.iter(f"{_A}blip"), None)
        part = self._part(blip.get(f"{_R}embed")) if blip is not None else None
        about = next(element.iter(f"{_P}cNvPr"), None)
        said = "" if about is None else about.get("descr", "") or about.get("title", "")
        if part is not None:
            yield from self._pictures.blocks(str(part.partname).lstrip("/"), said, self._page)

    def _read_related(self, relation: str | None) -> Any | None:
        part = self._part(relation)
        return safe_tree(self._path, part.blob) if part is not None and part.blob else None

    def _part(self, relation: str | None) -> Any | None:
        try:
            return self._slide.part.related_part(relation) if relation else None
        except KeyError:
            return None

    def _table(self, table: Any) -> Iterator[Block]:
        rows: list[list[str]] = []
        spans: dict[int, tuple[int, str]] = {}
        for row in table._tbl.tr_lst:
            line: list[str] = []
            for column, cell in enumerate(row.tc_lst):
                text = _cell_text(cell)
                left, above = spans.get(column, (0, ""))
                if cell.vMerge and left:
                    spans[column] = left - 1, above
                    text = above
                elif cell.hMerge and line:
                    text = line[-1]
                if cell.rowSpan > 1:
                    spans[column] = cell.rowSpan - 1, text
                line.append(text)
            rows.append(line)
        plain = not table.first_row
        yield from table_blocks(rows, 0 if plain and len(rows) < 2 else None, page=self._page)

    def _text(self, shape: Any) -> Iterator[Block]:
        """The paragraphs of a shape; short lines of a box belong together (a name and its role)."""
        bullets = _Bullets(shape, self._slide)
        is_box = _placeholder(shape) is None
        held: list[str] = []
        for paragraph in shape.text_frame._txBody.iterchildren(f"{_A}p"):
            text = _paragraph_text(paragraph)
            label, level = bullets.label(paragraph, bool(text))
            # In a body each paragraph is a point of its own.
            if is_box and text and not label and len(text) <= _BOX_LINE_CHARS:
                held.append(text)
                continue
            yield from self._join_blocks(held)
            held = []
            if text and label:
                yield Block(f"{label} {text}", "item", level, self._page, label)
            elif text:
                yield Block(text, page=self._page)
        yield from self._join_blocks(held)

    def _join_blocks(self, lines: list[str]) -> Iterator[Block]:
        if lines:
            yield Block("\n".join(lines), page=self._page)

    def _notes(self) -> Iterator[Block]:
        if not self._slide.has_notes_slide:
            return
        frame = self._slide.notes_slide.notes_text_frame
        lead = "Notes: "
        for paragraph in frame._txBody.iterchildren(f"{_A}p") if frame is not None else ():
            if text := _paragraph_text(paragraph):
                yield Block(lead + text, page=self._page, label="notes")
                lead = ""

    def _comments(self) -> Iterator[Block]:
        """Yield what readers noted at the slide, and what others answered."""
        part = self._slide.part
        authors = {
            author.get("id", ""): author.get("name", "")
            for root in self._find_related(part.package.presentation_part, _AUTHORS)
            for author in root.iterchildren("{*}cmAuthor", "{*}author")
        }
        for root in self._find_related(part, ("/comments",)):
            for comment in root.iter("{*}cm", "{*}reply"):
                old, new = comment.iterfind("{*}text"), comment.iterfind("{*}txBody//{*}t")
                if text := "".join(item.text or "" for item in chain(old, new)).strip():
                    author = authors.get(comment.get("authorId", ""), "")
                    yield comment_block(text, author, page=self._page)

    def _find_related(self, part: Any, endings: tuple[str, ...]) -> Iterator[Any]:
        for relation in part.rels.values():
            if relation.reltype.endswith(endings) and not relation.is_external:
                yield safe_tree(self._path, relation.target_part.blob)


class _Bullets:
    """The bullets and numbers of one text frame; its lists count on from paragraph to paragraph."""

    def __init__(self, shape: Any, slide: Any) -> None:
        self._styles = list(_list_styles(shape, slide))
        self._counts: dict[int, int] = {}

    def label(self, paragraph: Any, filled: bool) -> tuple[str, int]:
        """Return the paragraph's label, "" for none, and its level from 1."""
        own = paragraph.find(f"{_A}pPr")
        given = "" if own is None else own.get("lvl", "0")
        level = int(given) if given.isdecimal() else 0
        kind = _bullet(own)
        for style in self._styles if kind is None else ():
            kind = _bullet(style.find(f"{_A}lvl{level + 1}pPr"))
            if kind is not None:
                break
        if filled:
            # A list below starts anew under each point.
            self._counts = {key: count for key, count in self._counts.items() if key <= level}
        if kind is None or kind.tag == f"{_A}buNone":
            if filled:
                self._counts.pop(level, None)
            return "", 0
        if kind.tag != f"{_A}buAutoNum" or not filled:
            return BULLET, level + 1
        start = kind.get("startAt", "1")
        first = int(start) if start.isdecimal() else 1
        self._counts[level] = self._counts.get(level, first - 1) + 1
        return _auto_number(kind.get("type", "arabicPeriod"), self._counts[level]), level + 1


def _auto_number(kind: str, number: int) -> str:
    for name, (before, after) in _SIGNS.items():
        if kind.endswith(name):
            style = _AUTO.get(kind.removesuffix(name), "decimal")
            return f"{before}{numeral(number, style)}{after}"
    return f"{number}."


def _list_styles(shape: Any, slide: Any) -> Iterator[Any]:
    """Where a frame's bullets may be said, nearest first: the shape, its layout, its master."""
    body = shape._element.find(f"{_P}txBody")
    if body is not None and (own := body.find(f"{_A}lstStyle")) is not None:
        yield own
    kind = _placeholder(shape)
    if kind is None:
        return
    layout = _layout(slide)
    master = getattr(layout, "slide_master", None)
    index = shape.placeholder_format.idx
    for level in (layout, master):
        for other in getattr(level, "placeholders", ()):
            same = other.placeholder_format.idx == index or (
                level is master and other.placeholder_format.type == PP_PLACEHOLDER.BODY
                and kind in _LISTS
            )  # fmt: skip
            if same and (style := next(other._element.iter(f"{_A}lstStyle"), None)) is not None:
                yield style
    if master is not None and kind in _LISTS:
        yield from master._element.iter(f"{_P}bodyStyle")


def _bullet(properties: Any | None) -> Any | None:
    if properties is None:
        return None
    tags = (f"{_A}buNone", f"{_A}buChar", f"{_A}buAutoNum", f"{_A}buBlip")
    return next((item for item in properties.iterchildren(*tags)), None)


def _take_title(body: list[Block], page: int) -> tuple[str, list[Block]]:
    """A slide without a title takes its first line, if that is short."""
    first = body[0]
    if first.kind == "paragraph" and len(first.text) <= _TITLE_CHARS and "\n" not in first.text:
        return first.text, body[1:]
    return f"Slide {page}", body


def _placeholder(shape: Any) -> Any | None:
    """Return the kind of a placeholder; None for a shape that is none, or of an unknown kind."""
    try:
        return shape.placeholder_format.type if shape.is_placeholder else None
    except _MISSING:
        return None


def _edges(shape: Any) -> tuple[int, int]:
    """Return the left and top edge; placeholders inherit theirs."""
    try:
        return int(shape.left or 0), int(shape.top or 0)
    except _MISSING:
        return 0, 0


def _layout_type(slide: Any) -> str:
    layout = _layout(slide)
    return str(layout._element.get("type", "")) if layout is not None else ""


def _layout(slide: Any) -> Any | None:
    try:
        return slide.slide_layout
    except _MISSING:
        return None


def _cell_text(cell: Any) -> str:
    body = cell.find(f"{_A}txBody")
    paragraphs = body.iterchildren(f"{_A}p") if body is not None else ()
    lines = (_paragraph_text(paragraph) for paragraph in paragraphs)
    return " ".join(line for line in lines if line)


def _paragraph_text(paragraph: Any) -> str:
    parts = []
    for element in paragraph.iter(f"{_A}t", f"{_A}br", f"{_A}tab", _MATH):
        parts.append("\n" if element.tag == f"{_A}br" else _run_text(element))
    lines = (" ".join(line.split()) for line in "".join(parts).replace("\v", "\n").split("\n"))
    return "\n".join(line for line in lines if line)


def _run_text(element: Any) -> str:
    """Return the text of a run as raised or lowered, if it is; nothing if it is struck out."""
    text, properties = element.text or "", element.getparent().find(f"{_A}rPr")
    if properties is None:
        return text
    if properties.get("strike", "noStrike") != "noStrike":
        return strike_out(text)
    shift = properties.get("baseline", "0")
    if shift in ("0", "0%"):
        return text
    return lower_text(text) if shift.startswith("-") else raise_text(text)


PPTX = Format(
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    parse_pptx,
    whole=True,
    magic=ZIP,
    picture=read_package_picture,
)
PPTM = replace(PPTX, media_type="application/vnd.ms-powerpoint.presentation.macroEnabled.12")
PPSX = replace(
    PPTX, media_type="application/vnd.openxmlformats-officedocument.presentationml.slideshow"
)
