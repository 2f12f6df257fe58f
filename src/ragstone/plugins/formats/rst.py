"""reStructuredText, read by docutils: what a reader of the page sees."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes

from ragstone.core.code_spans import code_span
from ragstone.core.document import BlockKind
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.formulas import formula_text
from ragstone.ingest.formats.html import MAX_TERM_CHARS, define_term, label_blocks, page_blocks
from ragstone.ingest.formats.includes import expand_includes
from ragstone.ingest.formats.inline_text import mark_code, restore_spans, strip_marks
from ragstone.ingest.formats.metadata import flatten_values
from ragstone.ingest.formats.numbering import format_number
from ragstone.ingest.formats.tables import table_blocks
from ragstone.ingest.formats.text import outline_text
from ragstone.ingest.formats.types import Format, Surroundings
from ragstone.plugins.formats.rst_tree import REFERENCE, document_tree

log = logging.getLogger(__name__)

_STYLES = {"loweralpha": "a", "upperalpha": "A", "lowerroman": "i", "upperroman": "I"}
_PAGE_FIELDS = {
    "orphan",
    "tocdepth",
    "nocomments",
    "nosearch",
    "hide-toc",
    "html_theme.sidebar_secondary.remove",
}
_SPACE = re.compile(r"\s+")
_DIRECTIVE_LINE = re.compile(r"\s*\.\.\s+(?:\|[^|]*\|\s+)?[\w:.+-]+::\s*")
_OPTION_LINE = re.compile(r"\s*:[\w-]+:")
_UNDERLINE = re.compile(r"([^\w\s])\1+")


def parse_rst(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the blocks of a file by itself."""
    return parse_rst_file(path, ending, max_bytes, None)


def parse_rst_file(path: Path, ending: str, max_bytes: int, around: Surroundings | None) -> Parsed:
    """Return the blocks of a file. Its title is that of its first section."""
    included = expand_includes(decode_file(path).replace("\x00", ""), path, around)
    source = included.text
    try:
        tree = document_tree(source)
        reader = _Reader(tree)
        blocks = list(reader.blocks())
    except Exception as error:
        log.warning("%s is read as plain text: %s", path.name, error)
        return Parsed("", iter(list(outline_text(source))))
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    metadata = flatten_values(reader.fields)
    return Parsed(title, iter(blocks), metadata=metadata, notes=included.notes)


def rst_blocks(source: str) -> list[Block]:
    """Return the blocks of a piece of reStructuredText in another document."""
    try:
        return list(_Reader(document_tree(source)).blocks())
    except Exception:
        return list(outline_text(source))


@dataclass(frozen=True, slots=True)
class _Within:
    """What a paragraph is here, in how many lists, and in how many sections."""

    kind: BlockKind = "paragraph"
    label: str = ""
    depth: int = 0
    section: int = 0


class _Reader:
    """Turns a document's tree into blocks."""

    def __init__(self, document: nodes.document) -> None:
        self._document = document
        self._titles = _section_titles(document)
        self.fields: dict[str, Any] = {}
        """The fields at the top: author, date and the like."""
        self._readers: Mapping[str, Callable[[Any, _Within], Iterator[Block]]] = {
            "section": self._section,
            "title": partial(self._text_block, kind="admonition"),
            "subtitle": self._text_block,
            "rubric": self._text_block,
            "paragraph": self._paragraph,
            "attribution": partial(self._text_block, kind="quote"),
            "caption": partial(self._text_block, kind="caption"),
            "bullet_list": self._bullets,
            "enumerated_list": self._enumeration,
            "definition_list_item": self._definition,
            "field": self._field,
            "option_list_item": self._option,
            "literal_block": self._code,
            "doctest_block": self._code,
            "math_block": self._formula,
            "line_block": self._lines,
            "block_quote": self._quote,
            "table": self._table,
            "admonition": self._admonition,
            "image": self._picture,
            "raw": self._raw,
            "field_list": self._field_list,
            "system_message": self._read_leftover,
            "citation": self._citation,
            "topic": self._all,
            "sidebar": self._all,
            **dict.fromkeys(("comment", "target", "substitution_definition", "pending", "meta",
                             "decoration", "label"), self._nothing),
        }  # fmt: skip

    def blocks(self) -> Iterator[Block]:
        yield from self._all(self._document, _Within())

    def _all(self, node: Any, within: _Within) -> Iterator[Block]:
        terms = _terms(node.children) if within.kind == "paragraph" else {}
        for place, child in enumerate(node.children):
            if place + 1 in terms:
                continue
            if place in terms:
                yield from define_term(self._inline(terms[place]), self._all(child, within))
                continue
            if isinstance(child, nodes.Text):
                if text := _fold(child.astext()).strip():
                    yield Block(text, within.kind, label=within.label)
                continue
            read = self._readers.get(type(child).__name__, self._other)
            yield from read(child, within)

    def _other(self, node: Any, within: _Within) -> Iterator[Block]:
        if isinstance(node, nodes.Inline):
            yield from self._paragraph(node, within)
        else:
            yield from self._all(node, within)

    def _nothing(self, node: Any, within: _Within) -> Iterator[Block]:
        yield from ()

    def _section(self, node: Any, within: _Within) -> Iterator[Block]:
        level = within.section + 1
        rest = list(node.children)
        if rest and isinstance(rest[0], nodes.title):
            text = strip_marks(self._join_text(rest.pop(0)))
            label = next(iter(node["ids"]), "")
            if text:
                yield Block(_fold(text), "heading", level, label=label)
        holder = nodes.Element()
        holder.children = rest
        yield from self._all(holder, replace(within, section=level))

    def _text_block(
        self, node: Any, within: _Within, kind: BlockKind | None = None
    ) -> Iterator[Block]:
        if text := self._inline(node):
            label = within.label if kind in (None, "admonition") else ""
            yield Block(text, kind or within.kind, label=label)

    def _paragraph(self, node: Any, within: _Within) -> Iterator[Block]:
        if text := self._inline(node):
            pictures = all(
                isinstance(child, nodes.image | nodes.substitution_reference)
                or not child.astext().strip()
                for child in node.children
            ) and any(isinstance(child, nodes.image) for child in node.findall())
            kind = "caption" if pictures else within.kind
            yield Block(text, kind, label=within.label)

    def _bullets(self, node: Any, within: _Within) -> Iterator[Block]:
        inside = replace(within, depth=within.depth + 1)
        for item in node.children:
            if isinstance(item, nodes.list_item):
                yield from label_blocks(self._all(item, inside), "-", inside.depth)

    def _enumeration(self, node: Any, within: _Within) -> Iterator[Block]:
        inside = replace(within, depth=within.depth + 1)
        style = _STYLES.get(node.get("enumtype", ""), "1")
        items = (item for item in node.children if isinstance(item, nodes.list_item))
        for number, item in enumerate(items, node.get("start", 1)):
            label = (
                f"{node.get('prefix', '')}{format_number(number, style)}{node.get('suffix', '.')}"
            )
            yield from label_blocks(self._all(item, inside), label, inside.depth)

    def _definition(self, node: Any, within: _Within) -> Iterator[Block]:
        terms = [self._inline(child) for child in node.children if isinstance(child, nodes.term)]
        kinds = [self._inline(item) for item in node.children if isinstance(item, nodes.classifier)]
        term = ", ".join(terms) + (f" ({', '.join(kinds)})" if kinds else "")
        body = [item for item in node.children if isinstance(item, nodes.definition)]
        yield from define_term(term, (block for item in body for block in self._all(item, within)))

    def _field(self, node: Any, within: _Within) -> Iterator[Block]:
        name, body = node.children[0], node.children[1]
        words = self._inline(name).split(" ")
        shown = " ".join(words[1:] or words) if words[0] in _DOC_FIELDS else " ".join(words)
        yield from define_term(shown, self._all(body, within))

    def _field_list(self, node: Any, within: _Within) -> Iterator[Block]:
        """The fields at the very top are facts about the document, others are definitions."""
        if node.parent is not self._document and not _opens_first_section(node):
            yield from self._all(node, within)
            return
        lines = []
        for child in node.children:
            if isinstance(child, nodes.field) and len(child.children) == 2:
                name = self._inline(child.children[0])
                value = _fold(
                    " ".join(block.text for block in self._all(child.children[1], within))
                )
                if value and name.lower() not in _PAGE_FIELDS:
                    self.fields[name] = value
                    lines.append(f"{name}: {value}")
        if lines:
            yield Block("\n".join(lines), "header")

    def _option(self, node: Any, within: _Within) -> Iterator[Block]:
        names, body = node.children[0], node.children[1]
        shown = ", ".join(code_span(child.astext()) for child in names.children)
        yield from define_term(shown, self._all(body, within))

    def _code(self, node: Any, within: _Within) -> Iterator[Block]:
        classes = [name for name in node.get("classes", ()) if name not in ("", "code", "none")]
        label = "pycon" if isinstance(node, nodes.doctest_block) else next(iter(classes), "")
        if text := node.astext().strip("\n").rstrip():
            yield Block(text, "code", label=label)

    def _formula(self, node: Any, within: _Within) -> Iterator[Block]:
        if text := formula_text(node.astext()):
            yield Block(text, within.kind, label=within.label)

    def _lines(self, node: Any, within: _Within) -> Iterator[Block]:
        lines = (self._inline(line) for line in node.findall(nodes.line))
        if text := "\n".join(line for line in lines if line):
            yield Block(text, within.kind, label=within.label)

    def _quote(self, node: Any, within: _Within) -> Iterator[Block]:
        """Indented text: a quote if it is only paragraphs, else text that is indented by chance."""
        if all(isinstance(child, nodes.paragraph | nodes.attribution) for child in node.children):
            within = replace(within, kind="quote") if within.kind == "paragraph" else within
        yield from self._all(node, within)

    def _table(self, node: Any, within: _Within) -> Iterator[Block]:
        titles = [self._inline(child) for child in node.children if isinstance(child, nodes.title)]
        caption = next(iter(titles), "")
        if caption:
            yield Block(caption, "caption")
        for group in node.children:
            if isinstance(group, nodes.tgroup):
                yield from self._group(group, caption, within)

    def _group(self, group: Any, caption: str, within: _Within) -> Iterator[Block]:
        specs = [child for child in group.children if isinstance(child, nodes.colspec)]
        stub = bool(specs) and bool(specs[0].get("stub"))
        rows: list[list[str]] = []
        header = 0
        for part in group.children:
            if isinstance(part, nodes.thead | nodes.tbody):
                found = self._rows(part, len(specs), within)
                header += len(found) if isinstance(part, nodes.thead) else 0
                rows += found
        if stub:
            rows[:header] = [["", *row[1:]] for row in rows[:header]]
        yield from table_blocks(rows, header, caption)

    def _rows(self, part: Any, width: int, within: _Within) -> list[list[str]]:
        """Return the cells of a table's part; a merged one is in each place that it covers."""
        rows: list[list[str | None]] = [[None] * width for _ in part.children]
        for at, row in enumerate(part.children):
            column = 0
            for entry in row.children:
                while column < width and rows[at][column] is not None:
                    column += 1
                text = _fold(" ".join(block.text for block in self._all(entry, within)))
                wide, tall = entry.get("morecols", 0) + 1, entry.get("morerows", 0) + 1
                for down in range(at, min(at + tall, len(rows))):
                    for across in range(column, min(column + wide, width)):
                        rows[down][across] = text
                column += wide
        return [[cell or "" for cell in row] for row in rows]

    def _admonition(self, node: Any, within: _Within) -> Iterator[Block]:
        label = next(iter(node.get("classes", ())), "note")
        yield from self._all(node, replace(within, kind="admonition", label=label))

    def _picture(self, node: Any, within: _Within) -> Iterator[Block]:
        if text := node.get("alt", ""):
            yield Block(_fold(text), "caption")

    def _raw(self, node: Any, within: _Within) -> Iterator[Block]:
        if node.get("format") == "html":
            yield from page_blocks(node.astext())

    def _citation(self, node: Any, within: _Within) -> Iterator[Block]:
        label = next(
            (child.astext() for child in node.children if isinstance(child, nodes.label)), ""
        )
        blocks = self._all(node, within)
        first = next(blocks, None)
        if first:
            yield replace(first, text=f"[{label}] {first.text}")
        yield from blocks

    def _read_leftover(self, node: Any, within: _Within) -> Iterator[Block]:
        """Yield the text of what docutils could not read, as a paragraph."""
        for literal in node.findall(nodes.literal_block):
            lines = literal.astext().split("\n")
            if len(lines) > 1 and _UNDERLINE.fullmatch(lines[-1].strip()):
                title = next(
                    (item.strip() for item in lines if not _UNDERLINE.fullmatch(item.strip())), ""
                )
                yield from (Block(title, "heading", within.section + 1),) if title else ()
                continue
            lines[0] = _DIRECTIVE_LINE.sub("", lines[0])
            kept = " ".join(line.strip() for line in lines if not _OPTION_LINE.match(line))
            if text := _fold(kept).strip():
                yield Block(text, within.kind, label=within.label)

    def _inline(self, node: Any) -> str:
        """Return the text of a paragraph in one line, with code between backticks; literals keep
        their characters."""
        return restore_spans(self._join_text(node))

    def _join_text(self, node: Any) -> str:
        text = ""
        for piece in self._pieces(node):
            text += piece.lstrip(" ") if text.endswith(" ") else piece
        return text.strip()

    def _pieces(self, node: Any) -> Iterator[str]:
        for child in node.children:
            if isinstance(child, nodes.Text):
                yield _fold(child.astext())
            elif isinstance(child, nodes.literal):
                yield mark_code(child.astext().replace("\n", " "))
            elif isinstance(child, nodes.math):
                yield formula_text(child.astext())
            elif isinstance(child, nodes.image):
                yield child.get("alt", "")
            elif isinstance(child, nodes.substitution_reference):
                yield self._substitute(child)
            elif isinstance(child, nodes.footnote_reference | nodes.system_message | nodes.raw):
                continue
            elif isinstance(child, nodes.citation_reference):
                yield f"[{child.astext()}]"
            elif isinstance(child, nodes.inline) and REFERENCE in child.get("classes", ()):
                yield self._titles.get(child["refname"].lower()) or _readable(child["refname"])
            else:
                yield from self._pieces(child)

    def _substitute(self, node: Any) -> str:
        """What a substitution stands for, one level deep; nothing where it is not known here."""
        name = node.get("refname") or node.astext()
        found = self._document.substitution_defs.get(name)
        if found is None:
            return ""
        images = [item.get("alt", "") for item in found.findall(nodes.image)]
        return images[0] if images else _fold(found.astext())


_DOC_FIELDS = {
    "param",
    "parameter",
    "arg",
    "argument",
    "key",
    "keyword",
    "type",
    "raises",
    "raise",
    "var",
}


def _terms(children: Sequence[Any]) -> dict[int, Any]:
    """The terms that stand above indented text, by the place of that text, where there are several:
    short lines without an end, as definitions are written that are none to reStructuredText."""
    found = {}
    for place, (term, text) in enumerate(pairwise(children), 1):
        if isinstance(term, nodes.paragraph) and isinstance(text, nodes.block_quote):
            words = term.astext()
            if len(words) <= MAX_TERM_CHARS and words[-1:] not in {*".:?!,;"}:
                found[place] = term
    return found if len(found) > 1 else {}


def _section_titles(document: Any) -> dict[str, str]:
    """Return the titles of the sections that stand below a label."""
    titles: dict[str, str] = {}
    for target in document.findall(nodes.target):
        following = (
            target.parent.children[target.parent.index(target) + 1 :] if target.parent else []
        )
        after = next((item for item in following if not isinstance(item, nodes.target)), None)
        if isinstance(after, nodes.section) and isinstance(after.children[0], nodes.title):
            for name in target.get("names", ()):
                titles[name] = _fold(after.children[0].astext())
    return titles


def _opens_first_section(node: Any) -> bool:
    """Tell whether fields stand right below the document's own title."""
    section = node.parent
    return (
        isinstance(section, nodes.section)
        and isinstance(section.parent, nodes.document)
        and section.index(node) == 1
        and all(
            not isinstance(child, nodes.section)
            for child in section.parent.children[: section.parent.index(section)]
        )
    )


def _readable(label: str) -> str:
    """Return a label as words: "/guide/first-steps" is "first steps"."""
    parts = label.lstrip("!~").removesuffix("/index").split("/")
    return re.sub(r"[-_]+", " ", parts[-1]).strip()


def _fold(text: str) -> str:
    return _SPACE.sub(" ", text)


RST = Format("text/x-rst", parse_rst, whole=True, including=parse_rst_file, text_blocks=rst_blocks)
