"""HTML: the main part as marked, or as trafilatura finds it, or every visible text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from ragstone.core.document import BlockKind
from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.inline_code import mark_code, restore_spans, strip_marks
from ragstone.ingest.formats.labels import ADMONITIONS, format_number
from ragstone.ingest.formats.metadata import flatten_values
from ragstone.ingest.formats.page_pictures import Signs, page_pictures
from ragstone.ingest.formats.raised import lower_text, raise_text
from ragstone.ingest.formats.surroundings import Surroundings
from ragstone.ingest.formats.tables import INDENT, fill_down, table_blocks
from ragstone.ingest.formats.types import Format

_SILENT = {
    "script", "style", "noscript", "template", "svg", "iframe", "object", "head", "button",
    "select", "input", "textarea", "math-annotation", "annotation", "audio", "video", "canvas",
    "rp", "del", "s", "strike", "option", "optgroup",
}  # fmt: skip
"""What is not read; what is struck out is no longer said."""

_FURNITURE = {"nav", "footer", "aside"}
_TEXT_FIELDS = {
    "text", "email", "tel", "url", "number", "date", "datetime-local", "month", "time", "week",
}  # fmt: skip
_MIN_FILLED = 3
"""Fields that are filled in where a form shows what somebody has said; fields for searching and
signing in, and the lists of languages and countries beside them, are fewer."""

_CHARS_PER_FIELD = 100
"""Of a form with more text than this it is text that the page is about."""

_FURNITURE_ROLES = {
    "navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar",
    "doc-toc", "complementary", "doc-backlink", "doc-noteref",
}  # fmt: skip
_FURNITURE_NAME = re.compile(
    r"\b(?:cookie|consent|gdpr|onetrust|skip-?link|"
    r"headerlink|hash-link|heading-?anchor|anchorjs-link|footnote-(?:ref|reference|back|backref)|"
    r"linenos?|lineno|fn-?backref|copybtn)\b"
)
_LINKS_NAME = re.compile(
    r"\b(?:breadcrumbs?|sphinxsidebar|toctree-wrapper|navfooter|navheader|toc|table-of-contents|"
    r"related)\b"
)
"""Such an element is made of links; others are named so for what they tell of
("security-related-bugs")."""

_LINKS_SHARE = 0.25
_KEPT_NAME = re.compile(r"\b(?:admonition|topic|footnotes?|footnote-list|sidebar|callout)\b")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = {"ul", "ol", "menu", "dir"}
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "img", "ins", "kbd", "label", "br", "mark", "q", "rt", "ruby", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "math",
    "nobr", "input", "select", "textarea",
}  # fmt: skip
_CODE = {"code", "tt", "samp"}
_SHIFTED = {"sup": raise_text, "sub": lower_text}
_BREAK = "\u2028"
"""Stands for a line break of the page while white space is folded."""
_ENOUGH = 0.25
"""Below this share of the page's visible text, the main part has been missed."""
_LANGUAGE = re.compile(r"(?:^|[\s:])(?:language|lang|highlight|brush|sourceCode)[-:]\s*([\w+#.-]+)")
_SIGNS = {"¶", "#", "§", "🔗", "\uf0c1", "↩", "↩︎", "↑"}
_NO_LANGUAGES = {"default", "text", "none", "plaintext", "txt", "nohighlight", "source", "plain"}
_FOUND_WORDS = 5
_NOTES = ADMONITIONS - {"admonition", "details"}


@dataclass(frozen=True, slots=True)
class _Within:
    """What a paragraph is here, and how many lists it is in."""

    kind: BlockKind = "paragraph"
    label: str = ""
    depth: int = 0


_TOP = _Within()


def parse_html(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a page whole, without what is beside it. Raises UnreadableDocument."""
    return parse_html_file(path, ending, max_bytes, None)


def parse_html_file(path: Path, ending: str, max_bytes: int, around: Surroundings | None) -> Parsed:
    """Read a page whole, with its pictures that are in a folder. Scripts and styles are dropped,
    entities outside never fetched.

    Raises UnreadableDocument.
    """
    source = decode_file(path)
    try:
        tree = _tree(source)
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableDocument(f"{path.name} holds no HTML that can be read.") from error
    title = _plain(next(iter(tree.xpath("//title")), None))
    facts = _facts(tree)
    pictures = page_pictures(tree, path, around)
    signs = Signs(pictures)
    signs.put(tree, str)
    return Parsed(
        title or facts.pop("og:title", ""),
        signs.replaced(_main_blocks(tree, source)),
        metadata=flatten_values(facts) | pictures.metadata,
        recognised=pictures.recognised,
        notes=pictures.notes,
        last_notes=pictures.last_notes,
    )


def picture_in_page(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str
) -> bytes:
    """The bytes of the picture with this name in its id; raises UnreadableDocument."""
    try:
        tree = _tree(decode_file(path))
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableDocument(f"{path.name} holds no HTML that can be read.") from error
    return page_pictures(tree, path, around).content(name)


def page_blocks(
    source: str | bytes, prepare: Callable[[Any], None] = lambda tree: None
) -> list[Block]:
    """The blocks of a whole page or of a piece of one, without looking for its main part.

    Bytes are XHTML, in the encoding that they name. `prepare` may change its elements.
    """
    try:
        if not source.strip():
            return []
        prepare(tree := _tree(source))
        return list(_blocks(tree, _TOP))
    except (etree.LxmlError, ValueError, LookupError):
        return []


def _tree(source: str | bytes) -> Any:
    encoding = "utf-8"
    if isinstance(source, bytes):
        named = re.match(rb"\s*<\?xml[^>]*encoding=[\"']([\w-]+)", source)
        encoding = named[1].decode() if named else encoding
    else:
        source = source.encode("utf-8", "replace")
    parser = lxml_html.HTMLParser(encoding=encoding, no_network=True, huge_tree=False)
    tree = lxml_html.document_fromstring(source, parser)
    _mend(tree)
    return tree


def _mend(tree: Any) -> None:
    """Take its names from what is called a menu, a form or the like and holds most of the page's
    words, but not as links; and show what a page without scripts would have, if it is all there
    is."""
    whole = _length(tree)
    for element in tree.iter():
        tag = element.tag if isinstance(element.tag, str) else ""
        if tag == "noscript":
            if _length(element) > whole:
                element.tag = "div"
        elif tag and tag not in _SILENT and not _is_hidden(element) and _is_furniture(element, tag):
            own = _length(element)
            if own * 2 > whole and _count_link_text(element) * 2 < own:
                element.tag = "div"
                for name in ("class", "id", "role"):
                    element.attrib.pop(name, None)


def _count_link_text(element: Any) -> int:
    """Characters of the links in an element."""
    return sum(len(item.text_content()) for item in element.iter("a"))


def _length(element: Any) -> int:
    """Characters of the text that an element shows, menus counted."""
    size = len((element.text or "").strip())
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _SILENT:
            size += _length(child)
        size += len((child.tail or "").strip())
    return size


def _facts(tree: Any) -> dict[str, Any]:
    """What the page says of itself."""
    facts: dict[str, Any] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or meta.get("itemprop") or "").lower()
        if name and (value := (meta.get("content") or "").strip()):
            facts.setdefault(name, value)
    if language := tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang"):
        facts["language"] = language
    kept = {key: facts[key] for key in facts if key in _FACTS or key == "og:title"}
    return {_FACTS.get(key, key): value for key, value in reversed(kept.items())}


_FACTS: Mapping[str, str] = {
    "language": "language",
    "description": "description",
    "og:description": "description",
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "keywords": "keywords",
    "article:tag": "keywords",
    "date": "created",
    "dc.date": "created",
    "datepublished": "created",
    "article:published_time": "created",
    "last-modified": "modified",
    "datemodified": "modified",
    "article:modified_time": "modified",
    "og:site_name": "site",
    "dc.language": "language",
}
"""Names of `meta` elements, and the metadata they give."""


def _main_blocks(tree: Any, source: str) -> list[Block]:
    """The part the page marks as main, else what trafilatura finds of it, else all blocks.

    trafilatura guesses well on pages without marks, but drops code, lists and tables: those between
    what it finds are kept, and tables before and after it too.
    """
    visible = list(_blocks(tree, _TOP))
    marked = tree.xpath("//main | //*[@role='main']") or tree.xpath("//article")
    enough = max(_ENOUGH * _size(visible), 1)
    if len(marked) == 1 and _size(own := list(_blocks(marked[0], _TOP))) >= enough:
        return own
    main = _find_main_text(visible, source)
    return main if _size(main) >= enough else visible


_ALWAYS_KEPT = ("heading", "code", "table", "caption", "item")
"""Kinds of blocks that are content wherever they stand between what was found."""


def _find_main_text(visible: list[Block], source: str) -> list[Block]:
    import trafilatura  # Loads for longer than most files are read.

    text = trafilatura.extract(source, include_comments=False, favor_recall=True) or ""
    words = _words(text)
    runs = {tuple(words[at : at + _FOUND_WORDS]) for at in range(len(words))}
    text = f" {' '.join(words)} "
    found = [block.kind != "heading" and _is_found(block, runs, text) for block in visible]
    if not any(found):
        return []
    inside = [
        is_found or block.kind == "table" for block, is_found in zip(visible, found, strict=True)
    ]
    first, last = inside.index(True), len(inside) - inside[::-1].index(True)
    while first and (visible[first - 1].kind == "heading" or _is_wordless(visible[first - 1])):
        first -= 1
    while last < len(visible) and _is_wordless(visible[last]):
        last += 1
    return [
        block
        for block, is_found in zip(visible[first:last], found[first:last], strict=True)
        if is_found or block.kind in _ALWAYS_KEPT
    ]


def _is_found(block: Block, runs: set[tuple[str, ...]], text: str) -> bool:
    words = _words(block.text.removeprefix(block.label) if block.kind == "item" else block.text)
    if len(words) < _FOUND_WORDS:
        return bool(words) and f" {' '.join(words)} " in text
    own = [tuple(words[at : at + _FOUND_WORDS]) for at in range(len(words) - _FOUND_WORDS + 1)]
    return sum(run in runs for run in own) * 2 >= len(own)


def _is_wordless(block: Block) -> bool:
    """Whether it is a picture, or nothing."""
    return not _words(block.text)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def _size(blocks: Iterable[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _blocks(element: Any, within: _Within) -> Iterator[Block]:
    """The blocks of an element in order. Text between block elements is a paragraph, pictures
    alone between them are a caption."""
    loose, written = [element.text or ""], [element.text or ""]
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag in _INLINE and not _holds_blocks(child):
            loose.append(_raw(child))
            written.append(_raw(child, alternatives=False))
        elif tag and not _is_furniture(child, tag):
            yield from _paragraph(loose, written, within)
            loose, written = [], []
            yield from _element(child, tag, within)
        loose.append(child.tail or "")
        written.append(child.tail or "")
    yield from _paragraph(loose, written, within)


def _holds_blocks(element: Any) -> bool:
    return any(
        isinstance(item.tag, str) and item.tag not in _INLINE | _SILENT for item in element.iter()
    )


def _is_furniture(element: Any, tag: str) -> bool:
    """Whether an element belongs to the site, not to the page's text."""
    if tag in _SILENT:
        return True
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    if _is_hidden(element):
        return True
    if _KEPT_NAME.search(name) or element.get("role") in ("note", "doc-footnote"):
        return False
    if element.get("role") in _FURNITURE_ROLES or (
        name.strip() and tag not in ("body", "main", "html") and _is_named_so(element, name.lower())
    ):
        return True
    return _is_empty_form(element) if tag == "form" else tag in _FURNITURE


def _is_empty_form(form: Any) -> bool:
    """Whether a form is for visitors to fill in. Some sites make a form of a whole page, and a page
    that was saved may show what somebody has filled in."""
    states = [_field_state(field) for field in form.iter("input", "select", "textarea")]
    fields = [state for state in states if state is not None]
    filled = sum(state not in ("", "☐ ") for state in fields)
    return filled < _MIN_FILLED and _length(form) < _CHARS_PER_FIELD * max(1, len(fields))


def _field_state(field: Any) -> str | None:
    """Return what a field shows, empty for one that waits to be filled in; None for one without a
    state that is seen."""
    if field.tag == "input":
        kind = (field.get("type") or "text").lower()
        if kind in ("checkbox", "radio"):
            return "☐ " if field.get("checked") is None else "☒ "
        return (field.get("value") or "").strip() if kind in _TEXT_FIELDS else None
    if field.tag == "textarea":
        return (field.text or "").strip()
    chosen = (option for option in field.iter("option") if option.get("selected") is not None)
    return ", ".join(" ".join(option.text_content().split()) for option in chosen)


def _is_named_so(element: Any, name: str) -> bool:
    if _FURNITURE_NAME.search(name):
        return True
    return bool(_LINKS_NAME.search(name)) and _count_link_text(element) >= _LINKS_SHARE * _length(
        element
    )


def _is_hidden(element: Any) -> bool:
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return "display:none" in (element.get("style") or "").replace(" ", "")


def _element(element: Any, tag: str, within: _Within) -> Iterator[Block]:
    if tag in _HEADINGS:
        if text := _plain(element):
            label = element.get("id") or next((a.get("id") for a in element.iter("a")), "") or ""
            yield Block(text, "heading", _HEADINGS[tag], label=label)
    elif tag in ("figcaption", "caption"):
        if text := _text(element):
            yield Block(text, "caption")
    elif read := _READERS.get(tag):
        yield from read(element, within)
    elif tag == "blockquote":
        yield from _blocks(element, _Within("quote", "", within.depth))
    elif label := _admonition(element, tag):
        yield from _read_note(element, _Within("admonition", label, within.depth))
    else:
        yield from _blocks(element, within)


def _admonition(element: Any, tag: str) -> str:
    """note, warning and so on for an element that is one; else empty."""
    if tag not in ("div", "aside", "section", "details", "p"):
        return ""
    names = (element.get("class") or "").lower().replace("theme-admonition", "admonition").split()
    kinds = [part for name in names for part in name.split("-") if part in _NOTES]
    is_one = element.get("role") == "note" or any(
        name.startswith(("admonition", "callout", "alert-", "markdown-alert")) for name in names
    )
    return ((kinds or ["note"])[0] if is_one else "") or (
        names[0] if len(names) == 1 and names[0] in ADMONITIONS and tag != "p" else ""
    )


def _read_note(element: Any, within: _Within) -> Iterator[Block]:
    """A note's blocks, without a title that says no more than its kind."""
    blocks = _blocks(element, within)
    first = next(blocks, None)
    if first and first.text.strip(" :.").lower() not in ADMONITIONS:
        kind = first.kind == "heading"
        yield Block(first.text, "admonition", label=within.label) if kind else first
    yield from blocks


def _code(element: Any, within: _Within) -> Iterator[Block]:
    text = _verbatim(element).strip("\n").rstrip()
    if not text.strip():
        return
    yield Block(text, "code", label=_language(element))


def _language(element: Any) -> str:
    """The language as the element, the code in it, or what holds it names it."""
    holders = [element, *element.iter("code"), *list(element.iterancestors())[:2]]
    for holder in holders:
        if data := holder.get("data-lang") or holder.get("data-language") or holder.get("lang"):
            return str(data) if holder.tag != "html" else ""
        name = holder.get("class") or ""
        match = _LANGUAGE.search(name)
        if not match and holder.tag == "pre" and name.startswith("src "):
            match = re.search(r"src-([\w+#.-]+)", name)
        if match:
            return "" if match[1] in _NO_LANGUAGES else match[1]
    return ""


def _verbatim(element: Any) -> str:
    """All text below an element as it is written, but for line numbers."""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and not _is_furniture(child, child.tag):
            parts.append("\n" if child.tag == "br" else _verbatim(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _items(element: Any, within: _Within) -> Iterator[Block]:
    """The items of a list, each with its number or a dash, and lists inside it."""
    depth = within.depth + 1
    inside = _Within(within.kind, within.label, depth)
    number = _number(element.get("start"), 1)
    step = -1 if element.get("reversed") is not None else 1
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag in _LISTS:
            yield from _items(child, inside)
        elif tag and not _is_furniture(child, tag):
            label = "-"
            if element.tag == "ol":
                number = _number(child.get("value"), number)
                label = f"{format_number(number, child.get('type') or element.get('type') or '1')}."
                number += step
            yield from label_blocks(_blocks(child, inside), label, depth)


def label_blocks(blocks: Iterator[Block], label: str, depth: int) -> Iterator[Block]:
    """The blocks of an item: the first text gets its label, what follows stays apart."""
    first = next(blocks, None)
    if first is None:
        return
    if first.kind in ("paragraph", "quote", "admonition"):
        yield Block(f"{label} {first.text}", "item", depth, label=label)
    elif first.kind == "item":
        yield first
    else:
        if label != "-":
            yield Block(label, "item", depth, label=label)
        yield first
    yield from blocks


def _number(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"-?\d{1,6}", text) else default


MOST_TERM_CHARS = 80


def _definitions(element: Any, within: _Within) -> Iterator[Block]:
    """Terms with what they mean: "Term: meaning", where the meaning begins with a paragraph."""
    terms: list[str] = []
    for child in element.iter("dt", "dd"):
        if next(child.iterancestors("dl")) is not element:
            continue
        if child.tag == "dt":
            terms += [text] if (text := _text(child)) else []
            continue
        yield from define_term(", ".join(terms), _blocks(child, within))
        terms = []
    if terms:
        yield Block(", ".join(terms), within.kind, label=within.label)


def define_term(term: str, blocks: Iterator[Block]) -> Iterator[Block]:
    """A term and the blocks that explain it: the first paragraph has it as its label."""
    first = next(blocks, None)
    if term and first and first.kind == "paragraph":
        mark = "" if term.endswith((":", "?", ".")) else ":"
        yield Block(f"{term}{mark} {first.text}", label=term[:MOST_TERM_CHARS])
    else:
        yield from (Block(term),) if term else ()
        yield from (first,) if first else ()
    yield from blocks


def _table(table: Any, within: _Within) -> Iterator[Block]:
    """A table of data as records; one that arranges a page or numbers code is what it holds."""
    inside = {child.tag for child in table.iterdescendants() if isinstance(child.tag, str)}
    if inside & ({"table", "pre"} | set(_HEADINGS)):
        for cell in table.iter("caption", "td", "th"):
            if next(cell.iterancestors("table")) is table and not _is_furniture(cell, cell.tag):
                yield from _element(cell, "div" if cell.tag != "caption" else "caption", within)
        return
    caption = _text(next(iter(table.iter("caption")), None))
    if caption:
        yield Block(caption, "caption")
    merged = set[str]()
    rows, header = _grid(table, merged)
    rows = fill_down(rows, header) if header else rows
    yield from table_blocks(rows, header or None, caption, merged=merged)


def _grid(table: Any, merged: set[str]) -> tuple[list[list[str]], int]:
    """The cells with merged ones repeated, and how many rows are heads. What is in cells that reach
    over columns is put into `merged`."""
    rows: list[list[str]] = []
    held: dict[int, tuple[int, str]] = {}
    heads, still = 0, True
    for row in table.iter("tr"):
        cells: list[str] = []
        own = [cell for cell in row if cell.tag in ("td", "th")]
        for cell in own:
            _fill(cells, held)
            text, wide = _text(cell), min(_number(cell.get("colspan"), 1), 100)
            tall = min(_number(cell.get("rowspan"), 1), 1000)
            if wide > 1:
                merged.add(text)
            elif not cells:
                text = _indent(cell) + text
            for _ in range(max(wide, 1)):
                if tall > 1:
                    held[len(cells)] = (tall - 1, text)
                cells.append(text)
        _fill(cells, held)
        still = (
            still
            and bool(own)
            and (row.getparent().tag == "thead" or all(cell.tag == "th" for cell in own))
        )
        heads += still
        rows.append(cells)
    return rows, heads


def _indent(cell: Any) -> str:
    """How far the text of a cell is indented, by spaces that are not folded or by its style."""
    text = _inline(cell).lstrip(" \t\r\n")
    spaces = len(text) - len(text.lstrip("\u00a0\u2003\u2002"))
    styled = _PADDED.search(cell.get("style") or "")
    return INDENT * min(spaces or (round(float(styled[1])) if styled else 0), 40)


def _fill(cells: list[str], held: dict[int, tuple[int, str]]) -> None:
    """Put the cells of rows above that reach down to here."""
    while len(cells) in held:
        column = len(cells)
        left, text = held.pop(column)
        if left > 1:
            held[column] = (left - 1, text)
        cells.append(text)
        if left > 1 and column == len(cells):
            return


def _paragraph(loose: list[str], written: list[str], within: _Within) -> Iterator[Block]:
    if text := _fold("".join(loose)):
        is_written = bool(_fold("".join(written)))
        yield Block(text, within.kind, label=within.label) if is_written else Block(text, "caption")


def _fold(text: str) -> str:
    lines = (" ".join(line.split()) for line in restore_spans(text).split(_BREAK))
    return "\n".join(line for line in lines if line)


def _raw(element: Any, alternatives: bool = True) -> str:
    """All text below an element except of silent ones, with marks where it has line breaks, and
    what its fields show."""
    if element.tag in ("input", "select", "textarea"):
        return "" if _is_hidden(element) else f" {_field_state(element) or ''} "
    if not isinstance(element.tag, str) or _is_furniture(element, element.tag):
        return ""
    if element.tag == "img":
        return f" {element.get('alt') or ''} " if alternatives else ""
    if element.tag == "a" and (element.text or "").strip() in _SIGNS and not len(element):
        return ""
    parts = [_BREAK if element.tag == "br" else element.text or ""]
    for child in element:
        inside = _raw(child, alternatives)
        parts.append(inside if child.tag in _INLINE else f" {inside} ")
        parts.append(child.tail or "")
    text = "".join(parts)
    if write := _SHIFTED.get(element.tag):
        return write(text)
    return _BREAK.join(map(mark_code, text.split(_BREAK))) if element.tag in _CODE else text


def _text(element: Any) -> str:
    """The text of an element in one line, with code between backticks."""
    return " ".join(restore_spans(_inline(element)).split())


def _plain(element: Any) -> str:
    """The text of a title or heading in one line."""
    return " ".join(strip_marks(_inline(element)).split())


def _inline(element: Any) -> str:
    if element is None:
        return ""
    parts = [element.text or ""]
    for child in element:
        inside = _raw(child)
        parts += [inside if child.tag in _INLINE else f" {inside} ", child.tail or ""]
    return "".join(parts).replace(_BREAK, " ")


_PADDED = re.compile(r"(?:padding|margin)-left:\s*(\d+(?:\.\d+)?)(?:px|em|rem|pt|%)")

_READERS: Mapping[str, Callable[[Any, _Within], Iterator[Block]]] = {
    **dict.fromkeys(_LISTS, _items),
    **dict.fromkeys(("pre", "listing", "xmp"), _code),
    "dl": _definitions,
    "table": _table,
}

HTML = Format(
    "text/html", parse_html, whole=True, including=parse_html_file, picture=picture_in_page
)
