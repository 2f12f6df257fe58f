"""HTML: the main part as marked, or as trafilatura finds it, or every visible text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from ragstone.core.document import BlockKind
from ragstone.core.errors import UnreadableDocument
from ragstone.ingest.document import ADMONITIONS, Block, Parsed
from ragstone.ingest.formats.decode import decode_file
from ragstone.ingest.formats.html_text import (
    INLINE,
    SILENT,
    cell_indent,
    fold,
    is_box,
    is_furniture,
    is_hidden,
    line_text,
    link_text_length,
    plain_text,
    raw_text,
    repair_tables,
    replace_text,
    text_length,
    verbatim_text,
    write_out,
)
from ragstone.ingest.formats.inline_text import strip_marks
from ragstone.ingest.formats.metadata import flatten_values, page_metadata
from ragstone.ingest.formats.numbering import format_number
from ragstone.ingest.formats.page_pictures import Signs, page_pictures
from ragstone.ingest.formats.tables import fill_down, is_figure, table_blocks
from ragstone.ingest.formats.types import Format, Surroundings
from ragstone.language.words import UNSPACED

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = {"ul", "ol", "menu", "dir"}
_MIN_SHARE = 0.25
"""Below this share of the page's visible text, the main part has been missed."""
_LANGUAGE = re.compile(r"(?:^|[\s:])(?:language|lang|highlight|brush|sourceCode)[-:]\s*([\w+#.-]+)")
_NO_LANGUAGES = {"default", "text", "none", "plaintext", "txt", "nohighlight", "source", "plain"}
_FOUND_WORDS = 5
_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
"""A character counts as a word where words have no spaces: what joins them to code differs."""

_MAX_NESTED_CHARS = 300
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
    title = plain_text(next(iter(tree.xpath("//title")), None))
    facts = page_metadata(tree)
    pictures = page_pictures(tree, path, around)
    signs = Signs(pictures)
    signs.put(tree, str)
    blocks, left_out = _main_blocks(tree)
    note = f"{left_out:,} words beside the main part of the page were left out."
    return Parsed(
        title or facts.pop("og:title", ""),
        signs.replace_signs(blocks),
        metadata=flatten_values(facts) | pictures.metadata,
        recognised=pictures.recognition_count,
        notes=(*pictures.notes, note) if left_out else pictures.notes,
        last_notes=pictures.last_notes,
    )


def picture_in_page(
    path: Path, ending: str, max_bytes: int, around: Surroundings | None, name: str
) -> bytes:
    """Return the bytes of the picture with this name in its id; raises UnreadableDocument."""
    try:
        tree = _tree(decode_file(path))
    except (etree.LxmlError, ValueError) as error:
        raise UnreadableDocument(f"{path.name} holds no HTML that can be read.") from error
    return page_pictures(tree, path, around).content(name)


def page_blocks(
    source: str | bytes, prepare: Callable[[Any], None] = lambda tree: None
) -> list[Block]:
    """Return the blocks of a whole page or of a piece of one, without looking for its main part.

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
    for frame in list(tree.iter("iframe")):
        _open_frame(frame)
    repair_tables(tree)
    write_out(tree)
    _mend(tree)
    return tree


def _open_frame(frame: Any) -> None:
    """Put the page that a frame has in an attribute in its place; others are not in the file."""
    if page := (frame.attrib.pop("srcdoc", "") or "").strip():
        frame.tag, frame.text, frame[:] = "div", None, ()
        frame.append(lxml_html.fragment_fromstring(page, create_parent="div"))


def _mend(tree: Any) -> None:
    """Take its names from what is called a menu, a form or the like and holds most of the page's
    words, but not as links; and show what a page without scripts would have, if it is all there
    is."""
    whole = text_length(tree)
    for element in tree.iter():
        tag = element.tag if isinstance(element.tag, str) else ""
        # Pages that load their text by scripts have it here, or nothing.
        if tag == "noscript":
            if text_length(element) > whole:
                element.tag = "div"
        elif tag and tag not in SILENT and not is_hidden(element) and is_furniture(element, tag):
            own = text_length(element)
            # Sites call the element with all of the text "menu" or "dialog"; a real menu is links.
            if own * 2 > whole and link_text_length(element) * 2 < own:
                element.tag = "div"
                for name in ("class", "id", "role"):
                    element.attrib.pop(name, None)


def _main_blocks(tree: Any) -> tuple[list[Block], int]:
    """Return the part the page marks as main, else what trafilatura finds of it, else all blocks;
    and how many words of the page are in none of them.

    trafilatura guesses well on pages without marks, but drops code, lists and tables: those between
    what it finds are kept, and tables before and after it too.
    """
    visible = list(_blocks(tree, _TOP))
    marked = tree.xpath("//main | //*[@role='main']") or tree.xpath("//article")
    # A `main` that holds only a title, or an article beside the real one, is not the page.
    enough = max(_MIN_SHARE * _size(visible), 1)
    main = list(_blocks(marked[0], _TOP)) if len(marked) == 1 else []
    if _size(main) < enough:
        main = _find_main_text(visible, tree)
    if _size(main) < enough:
        return visible, 0
    return main, max(_count_words(visible) - _count_words(main), 0)


_ALWAYS_KEPT = ("heading", "code", "table", "caption", "item")
"""Kinds of blocks that are content wherever they stand between what was found."""


def _find_main_text(visible: list[Block], tree: Any) -> list[Block]:
    import trafilatura  # Loads for longer than most files are read.

    # It reads the tree, not the source, so that both have the same words: formulas, raised digits,
    # and what a form says, which it would leave out as one.
    for form in [item for item in tree.iter("form") if not is_furniture(item, "form")]:
        form.tag = "div"
        for field in list(form.iter("input", "select", "textarea")):
            replace_text(field, raw_text(field))
    _clear_names(tree)
    text = (
        trafilatura.extract(
            lxml_html.tostring(tree, encoding="unicode"), include_comments=False, favor_recall=True
        )
        or ""
    )
    words = _words(text)
    runs = {tuple(words[at : at + _FOUND_WORDS]) for at in range(len(words))}
    text = f" {' '.join(words)} "
    # A heading may stand in the menu too, so it does not show where the main part begins.
    found = [block.kind != "heading" and _is_found(block, runs, text) for block in visible]
    if not any(found):
        return []
    inside = [
        is_found or block.kind == "table" for block, is_found in zip(visible, found, strict=True)
    ]
    first, last = inside.index(True), len(inside) - inside[::-1].index(True)
    # The title and the picture above the first paragraph belong to it.
    while first and (visible[first - 1].kind == "heading" or _is_wordless(visible[first - 1])):
        first -= 1
    while last < len(visible) and _is_wordless(visible[last]):
        last += 1
    return [
        block
        for block, is_found in zip(visible[first:last], found[first:last], strict=True)
        if is_found or block.kind in _ALWAYS_KEPT
    ]


def _clear_names(tree: Any) -> None:
    """Take the names from what trafilatura would leave out for them: a paragraph that begins with
    code, one amid places that links lead to, which it counts as links, and every sidebar."""
    for element in list(tree.iter("a", "code", "tt", "samp", "kbd", "aside", "div", "section")):
        if element.tag == "a":
            element.tag = "a" if element.get("href") else "span"
        elif element.tag in INLINE:
            element.tag = "span"
        elif is_box(element):
            element.tag = "div"
            for name in ("class", "id"):
                element.attrib.pop(name, None)


def _is_found(block: Block, runs: set[tuple[str, ...]], text: str) -> bool:
    words = _words(block.text.removeprefix(block.label) if block.kind == "item" else block.text)
    if len(words) < _FOUND_WORDS:
        return bool(words) and f" {' '.join(words)} " in text
    own = [tuple(words[at : at + _FOUND_WORDS]) for at in range(len(words) - _FOUND_WORDS + 1)]
    return sum(run in runs for run in own) * 2 >= len(own)


def _is_wordless(block: Block) -> bool:
    """Tell whether it is a picture, or nothing."""
    return not _words(block.text)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _count_words(blocks: Iterable[Block]) -> int:
    return sum(len(_words(block.text)) for block in blocks)


def _size(blocks: Iterable[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _blocks(element: Any, within: _Within) -> Iterator[Block]:
    """Yield the blocks of an element in order. Text between block elements is a paragraph, pictures
    alone between them are a caption."""
    loose, written = [element.text or ""], [element.text or ""]
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag in INLINE and not _holds_blocks(child):
            loose.append(raw_text(child))
            written.append(raw_text(child, alternatives=False))
        elif tag and not is_furniture(child, tag):
            yield from _paragraph(loose, written, within)
            loose, written = [], []
            yield from _element(child, tag, within)
        loose.append(child.tail or "")
        written.append(child.tail or "")
    yield from _paragraph(loose, written, within)


def _holds_blocks(element: Any) -> bool:
    return any(
        isinstance(item.tag, str) and item.tag not in INLINE | SILENT for item in element.iter()
    )


def _element(element: Any, tag: str, within: _Within) -> Iterator[Block]:
    if tag in _HEADINGS:
        text = plain_text(element)
        if text and not strip_marks(raw_text(element, alternatives=False)).strip():
            # A logo is no title: what is said of it would name the document.
            yield Block(text, "caption")
        elif text:
            label = element.get("id") or next((a.get("id") for a in element.iter("a")), "") or ""
            yield Block(text, "heading", _HEADINGS[tag], label=label)
    elif tag in ("figcaption", "caption"):
        if text := line_text(element):
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
    """Return note, warning and so on for an element that is one; else empty."""
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
    """Yield a note's blocks, without a title that says no more than its kind."""
    blocks = _blocks(element, within)
    first = next(blocks, None)
    if first and first.text.strip(" :.").lower() not in ADMONITIONS:
        kind = first.kind == "heading"
        yield Block(first.text, "admonition", label=within.label) if kind else first
    yield from blocks


def _code(element: Any, within: _Within) -> Iterator[Block]:
    text = verbatim_text(element).strip("\n").rstrip()
    if not text.strip():
        return
    yield Block(text, "code", label=_language(element))


def _language(element: Any) -> str:
    """Return the language as the element, the code in it, or what holds it names it."""
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


def _items(element: Any, within: _Within) -> Iterator[Block]:
    """Yield the items of a list, each with its number or a dash, and lists inside it."""
    depth = within.depth + 1
    inside = _Within(within.kind, within.label, depth)
    number = _number(element.get("start"), 1)
    step = -1 if element.get("reversed") is not None else 1
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag in _LISTS:
            yield from _items(child, inside)
        elif tag and not is_furniture(child, tag):
            label = "-"
            if element.tag == "ol":
                number = _number(child.get("value"), number)
                label = f"{format_number(number, child.get('type') or element.get('type') or '1')}."
                number += step
            yield from label_blocks(_blocks(child, inside), label, depth)


def label_blocks(blocks: Iterator[Block], label: str, depth: int) -> Iterator[Block]:
    """Yield the blocks of an item: the first text gets its label, what follows stays apart."""
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


MAX_TERM_CHARS = 80


def _definitions(element: Any, within: _Within) -> Iterator[Block]:
    """Terms with what they mean: "Term: meaning", where the meaning begins with a paragraph."""
    terms: list[str] = []
    for child in element.iter("dt", "dd"):
        if next(child.iterancestors("dl")) is not element:
            continue
        if child.tag == "dt":
            terms += [text] if (text := line_text(child)) else []
            continue
        yield from define_term(", ".join(terms), _blocks(child, within))
        terms = []
    if terms:
        yield Block(", ".join(terms), within.kind, label=within.label)


def define_term(term: str, blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield a term and the blocks that explain it: the first paragraph has it as its label."""
    first = next(blocks, None)
    if term and first and first.kind == "paragraph":
        mark = "" if term.endswith((":", "?", ".")) else ":"
        yield Block(f"{term}{mark} {first.text}", label=term[:MAX_TERM_CHARS])
    else:
        yield from (Block(term),) if term else ()
        yield from (first,) if first else ()
    yield from blocks


def _table(table: Any, within: _Within) -> Iterator[Block]:
    """A table of data as records; one that arranges a page or numbers code is what it holds."""
    inside = {child.tag for child in table.iterdescendants() if isinstance(child.tag, str)}
    # Tables with headings or tables in them arrange a page; one with `pre` numbers lines of code.
    if inside & ({"pre"} | set(_HEADINGS)) or (
        "table" in inside and not _holds_small_tables(table)
    ):
        for cell in table.iter("caption", "td", "th"):
            if next(cell.iterancestors("table")) is table and not is_furniture(cell, cell.tag):
                yield from _element(cell, "div" if cell.tag != "caption" else "caption", within)
        return
    caption = line_text(next(iter(table.iter("caption")), None))
    if caption:
        yield Block(caption, "caption")
    merged = set[str]()
    rows, header = _grid(table, merged)
    if _names_rows(table):
        rows = [[f"{row[0].rstrip(':')}:", *row[1:]] if len(set(row)) > 1 else row for row in rows]
        yield from table_blocks(rows, 0, caption, merged=merged)
        return
    rows = fill_down(rows, header) if header else rows
    yield from table_blocks(rows, header or None, caption, merged=merged)


def _holds_small_tables(table: Any) -> bool:
    """Tell whether a table has a head, and in its cells tables that can be read as a line each."""
    rows = _list_rows(table)
    if len(rows) < 2 or len(rows[0]) < 2 or not _is_head(rows[0]):
        return False
    sizes = (text_length(item) for item in table.iterdescendants("table"))
    return max(sizes) <= _MAX_NESTED_CHARS


def _names_rows(table: Any) -> bool:
    """Tell whether each row is a name and a value, or a title over both: names are marked, or the
    first row looks as the others do, all of them words."""
    rows = [row for row in _list_rows(table) if row]
    if any(len(row) > 2 or (len(row) == 2 and row[1].tag != "td") for row in rows):
        return False
    if all(row[0].tag == "th" for row in rows):
        return True
    pairs = [row for row in rows if len(row) == 2]
    if len(pairs) < 3 or any(row[0].tag == "th" or _is_head(row) for row in rows):
        return False
    values = [line_text(row[1]) for row in pairs]
    return not all(map(_is_emphasised, pairs[0])) and not any(map(is_figure, values))


def _is_emphasised(cell: Any) -> bool:
    """Tell whether a cell looks as those that name columns do."""
    bold = any(
        child.tag in ("b", "strong") and line_text(child) == line_text(cell)
        for child in cell.iterchildren()
    )
    return bold or bool(cell.get("class") or cell.get("bgcolor"))


def _is_head(row: Sequence[Any]) -> bool:
    parent = row[0].getparent().getparent() if row else None
    return parent is not None and (parent.tag == "thead" or all(cell.tag == "th" for cell in row))


def _list_rows(table: Any) -> list[list[Any]]:
    """Return the cells of each row of a table that a reader sees, from its head to its foot. What
    is in a table in a cell is not among them."""
    rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
    rows.sort(key=lambda row: {"thead": 0, "tfoot": 2}.get(row.getparent().tag, 1))
    return [
        [cell for cell in row if cell.tag in ("td", "th") and not is_hidden(cell)]
        for row in rows
        if not is_hidden(row)
    ]


def _grid(table: Any, merged: set[str]) -> tuple[list[list[str]], int]:
    """Return the cells with merged ones repeated, and how many rows are heads. What is in cells
    that reach over columns is put into `merged`."""
    rows: list[list[str]] = []
    held: dict[int, tuple[int, str]] = {}
    heads, still = 0, True
    for own in _list_rows(table):
        cells: list[str] = []
        for cell in own:
            _fill(cells, held)
            # Bounded, as a page may state a span of millions.
            text, wide = line_text(cell), min(_number(cell.get("colspan"), 1), 100)
            tall = min(_number(cell.get("rowspan"), 1), 1000)
            if wide > 1:
                merged.add(text)
            elif not cells:
                text = cell_indent(cell) + text
            for _ in range(max(wide, 1)):
                if tall > 1:
                    held[len(cells)] = (tall - 1, text)
                cells.append(text)
        _fill(cells, held)
        # A single cell below the names stands over a group of rows.
        still = still and _is_head(own) and not (heads and len(set(cells)) == 1 < len(cells))
        heads += still
        rows.append(cells)
    return rows, heads


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
    # Without what is written there is only what pictures are described by.
    if text := fold("".join(loose)):
        is_written = bool(fold("".join(written)))
        yield Block(text, within.kind, label=within.label) if is_written else Block(text, "caption")


_READERS: Mapping[str, Callable[[Any, _Within], Iterator[Block]]] = {
    **dict.fromkeys(_LISTS, _items),
    **dict.fromkeys(("pre", "listing", "xmp"), _code),
    "dl": _definitions,
    "table": _table,
}

HTML = Format(
    "text/html", parse_html, whole=True, including=parse_html_file, picture=picture_in_page
)
