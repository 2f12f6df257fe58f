"""What a reader of a page sees of an element: its text in a line, fields and code, but no menus."""

import re
from itertools import chain, islice
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from ragstone.ingest.formats.formulas import mathml_text, write_formulas
from ragstone.ingest.formats.inline_text import (
    lower_text,
    mark_code,
    raise_text,
    restore_spans,
    strip_marks,
)
from ragstone.ingest.formats.struck import strike_out
from ragstone.ingest.formats.tables import INDENT

SILENT = {
    "script", "style", "noscript", "template", "svg", "iframe", "object", "head", "button",
    "select", "input", "textarea", "math-annotation", "annotation", "audio", "video", "canvas",
    "rp", "option", "optgroup",
}  # fmt: skip
"""What is not read."""

_STRUCK = {"del", "s", "strike"}
"""What a page says no longer."""

_STRUCK_STYLE = re.compile(r"text-decoration(?:-line)?:[^;]{0,80}line-through")
_NO_RULES = re.compile(
    r"/\*.*?(?:\*/|\Z)|@[\w-]{1,40}[^{};@]{0,200}(?:;|\{(?:[^{}]|\{[^{}]*\})*\})", re.DOTALL
)
"""Comments of a style sheet, and rules for print and the like."""

_COMPOUND = re.compile(r"([A-Za-z][\w-]*)?((?:[.#][A-Za-z_][\w-]*)*)")
_MARK = re.compile(r"[.#][\w-]+")
_MAX_STRUCK_PATHS, _MAX_SELECTOR_PARTS = 50, 7
_SHIFTED_STYLE = re.compile(r"vertical-align:\s*(super|sub)\b")
_VERBATIM = {"pre", "code", "tt", "samp", "script", "style", "textarea", "listing", "xmp"}

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
INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "dfn",
    "em", "font", "i", "img", "ins", "kbd", "label", "br", "mark", "q", "rt", "ruby", "samp",
    "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    "nobr", "input", "select", "textarea", *_STRUCK,
}  # fmt: skip
_TABLE_PARTS = {
    "table", "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "td", "th",
}  # fmt: skip
_CODE = {"code", "tt", "samp"}
_SHIFTED = {"sup": raise_text, "sub": lower_text, "super": raise_text}
_BREAK = "\u2028"
"""Stands for a line break of the page while white space is folded."""

_SIGNS = {"¶", "#", "§", "🔗", "\uf0c1", "↩", "↩︎", "↑"}


def write_out(tree: Any) -> None:
    """Write in the tree itself what a reader sees of formulas, of raised and lowered digits, and
    of what is struck out."""
    struck, done = _find_struck(tree), set[Any]()
    for element in list(tree.iter()):
        tag = element.tag if isinstance(element.tag, str) else ""
        style = (element.get("style") or "").lower() if tag else ""
        if not tag or element.getparent() is None or element in done:
            continue
        if tag in _STRUCK or element in struck or _STRUCK_STYLE.search(style):
            _strike_out(element, done)
        elif tag == "math":
            replace_text(element, mathml_text(element))
        elif shifted := tag if tag in _SHIFTED else (_SHIFTED_STYLE.search(style) or ("", ""))[1]:
            text = raw_text(element)
            if (written := _SHIFTED[shifted](text)) != text:
                replace_text(element, written)
    verbatim = {item for holder in tree.iter(*_VERBATIM) for item in holder.iter()}
    for element in tree.iter(etree.Element):
        if element.text and element not in verbatim:
            element.text = write_formulas(element.text, single=False)
        if element.tail and element.getparent() not in verbatim:
            element.tail = write_formulas(element.tail, single=False)


def _strike_out(element: Any, done: set[Any]) -> None:
    """Leave marks in the place of all text of an element, whose parts stay: rows and items too."""
    for part in element.iter(etree.Element):
        done.add(part)
        if part.tag not in SILENT:
            part.text = strike_out(part.text or "")
        if part is not element:
            part.tail = strike_out(part.tail or "")


def repair_tables(tree: Any) -> None:
    """Give cells that stand in no row one, and put what stands in a table but in no cell of it
    before the table, as browsers do."""
    for table in list(tree.iter("table")):
        for holder in (table, *table.iterchildren("thead", "tbody", "tfoot")):
            row = None
            for child in list(holder):
                if child.tag not in ("td", "th"):
                    row = None
                    continue
                if row is None:
                    row = holder.makeelement("tr")
                    child.addprevious(row)
                row.append(child)
        outer = next(table.iterancestors("table", "td", "th", "caption"), None)
        if outer is not None and outer.tag == "table":
            outer.addprevious(table)
        _move_loose_words(table)


def _move_loose_words(table: Any) -> None:
    """Put what stands in a table or its rows, but in no cell, before the table."""
    parts = (table, *table.iterchildren("thead", "tbody", "tfoot"))
    rows = [row for part in parts for row in part.iterchildren("tr")]
    # A text is joined once: a table has as many gaps as cells.
    before: list[str] = []
    loose: list[tuple[Any, list[str]]] = []
    words = before
    for holder in (*parts, *rows):
        words.append(holder.text or "")
        holder.text = None
        for child in list(holder):
            tail, child.tail = child.tail or "", None
            if isinstance(child.tag, str) and _is_loose(child):
                words = []
                loose.append((child, words))
            words.append(tail)
    text = "".join(before)
    if not loose and not text.strip():
        return
    moved = table.makeelement("div")
    moved.text = text
    for element, words in loose:
        moved.append(element)
        element.tail = "".join(words)
    table.addprevious(moved)


def _is_loose(element: Any) -> bool:
    """Whether an element that stands in a table outside of its cells is shown before the table."""
    if element.tag in _TABLE_PARTS or (element.tag in SILENT and element.tag not in INLINE):
        return False
    return next(element.iterdescendants(*_TABLE_PARTS), None) is None


def _find_struck(tree: Any) -> set[Any]:
    """Return the elements that the page's own style sheets strike out."""
    paths = [
        path
        for sheet in tree.iter("style")
        for rule in _NO_RULES.sub("", sheet.text or "").split("}")
        if _STRUCK_STYLE.search(rule.lower())
        for selector in rule.partition("{")[0].split(",")
        if (path := _selector_path(selector))
    ]
    return {element for path in paths[:_MAX_STRUCK_PATHS] for element in tree.xpath(path)}


def _selector_path(selector: str) -> str:
    """Return a CSS selector of names, classes and ids as XPath; empty for any other one."""
    path, axis = "", "//"
    parts = selector.replace(">", " > ").split()
    for part in parts if len(parts) <= _MAX_SELECTOR_PARTS else ():
        if part == ">":
            axis = "/"
        elif match := _COMPOUND.fullmatch(part):
            marks = (
                f"[@id='{mark[1:]}']"
                if mark[0] == "#"
                else f"[contains(concat(' ', normalize-space(@class), ' '), ' {mark[1:]} ')]"
                for mark in _MARK.findall(match[2])
            )
            path, axis = f"{path}{axis}{match[1] or '*'}{''.join(marks)}", "//"
        else:
            return ""
    return path


def replace_text(element: Any, text: str) -> None:
    """Make an element one that has only this text, as part of a line."""
    tail = element.tail
    for child in list(element):
        element.remove(child)
    element.tag, element.text, element.tail = "span", text, tail


def link_text_length(element: Any) -> int:
    """Return characters of the links in an element."""
    return sum(len(item.text_content()) for item in element.iter("a"))


def text_length(element: Any) -> int:
    """Return characters of the text that an element shows, menus counted."""
    size = len((element.text or "").strip())
    for child in element:
        if isinstance(child.tag, str) and child.tag not in SILENT:
            size += text_length(child)
        size += len((child.tail or "").strip())
    return size


def is_furniture(element: Any, tag: str) -> bool:
    """Tell whether an element belongs to the site, not to the page's text."""
    if tag in SILENT:
        return True
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    if is_hidden(element):
        return True
    if _KEPT_NAME.search(name) or element.get("role") in ("note", "doc-footnote"):
        return False
    if element.get("role") in _FURNITURE_ROLES or (
        name.strip() and tag not in ("body", "main", "html") and _is_named_so(element, name.lower())
    ):
        return True
    return _is_empty_form(element) if tag == "form" else tag in _FURNITURE


_BESIDE = 20
"""Elements before a box, and after it, among which a paragraph is looked for."""


def is_box(element: Any) -> bool:
    """Tell whether an element is a box amid the text, as books have them: it is called so, is not
    made of links, and a paragraph stands beside it. Beside a site's sidebar stand other parts."""
    name = f"{element.get('class') or ''} {element.get('id') or ''}"
    if not _KEPT_NAME.search(name) or is_hidden(element):
        return False
    if link_text_length(element) >= _LINKS_SHARE * text_length(element):
        return False
    before = islice(element.itersiblings(preceding=True), _BESIDE)
    return any(map(_is_paragraph, chain(before, islice(element.itersiblings(), _BESIDE))))


def _is_paragraph(element: Any) -> bool:
    """Tell whether an element has text of its own, or is made of one that has."""
    if element.tag not in ("p", "div") or is_furniture(element, element.tag):
        return False
    inline = (item.text_content() for item in element if item.tag in INLINE)
    own = (element.text, *inline, *(item.tail for item in element))
    return any(text and text.strip() for text in own) or (
        len(element) == 1 and element[0].tag == "p" and _is_paragraph(element[0])
    )


def _is_empty_form(form: Any) -> bool:
    """Tell whether a form is for visitors to fill in. Some sites make a form of a whole page, and a
    page that was saved may show what somebody has filled in."""
    states = [_field_state(field) for field in form.iter("input", "select", "textarea")]
    fields = [state for state in states if state is not None]
    filled = sum(state not in ("", "☐ ") for state in fields)
    return filled < _MIN_FILLED and text_length(form) < _CHARS_PER_FIELD * max(1, len(fields))


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
    return bool(_LINKS_NAME.search(name)) and link_text_length(
        element
    ) >= _LINKS_SHARE * text_length(element)


def is_hidden(element: Any) -> bool:
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return "display:none" in (element.get("style") or "").replace(" ", "")


def verbatim_text(element: Any) -> str:
    """Return all text below an element as it is written, but for line numbers."""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and not is_furniture(child, child.tag):
            parts.append("\n" if child.tag == "br" else verbatim_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def cell_indent(cell: Any) -> str:
    """How far the text of a cell is indented, by spaces that are not folded or by its style."""
    text = _inline(cell).lstrip(" \t\r\n")
    spaces = len(text) - len(text.lstrip("\u00a0\u2003\u2002"))
    styled = _PADDED.search(cell.get("style") or "")
    return INDENT * min(spaces or (round(float(styled[1])) if styled else 0), 40)


def fold(text: str) -> str:
    lines = (" ".join(line.split()) for line in restore_spans(text).split(_BREAK))
    return "\n".join(line for line in lines if line)


def raw_text(element: Any, alternatives: bool = True) -> str:
    """Return all text below an element except of silent ones, with marks where it has line breaks,
    and what its fields show."""
    if element.tag in ("input", "select", "textarea"):
        return "" if is_hidden(element) else f" {_field_state(element) or ''} "
    if not isinstance(element.tag, str) or is_furniture(element, element.tag):
        return ""
    if element.tag == "img":
        return f" {element.get('alt') or ''} " if alternatives else ""
    # Links of a heading to itself.
    if element.tag == "a" and (element.text or "").strip() in _SIGNS and not len(element):
        return ""
    parts = [_BREAK if element.tag == "br" else element.text or ""]
    for child in element:
        inside = raw_text(child, alternatives)
        parts.append(inside if child.tag in INLINE else f" {inside} ")
        parts.append(child.tail or "")
    text = "".join(parts)
    return _BREAK.join(map(mark_code, text.split(_BREAK))) if element.tag in _CODE else text


def line_text(element: Any) -> str:
    """Return the text of an element in one line, with code between backticks."""
    return " ".join(restore_spans(_inline(element)).split())


def plain_text(element: Any) -> str:
    """Return the text of a title or heading in one line."""
    return " ".join(strip_marks(_inline(element)).split())


def _inline(element: Any) -> str:
    if element is None:
        return ""
    parts = [element.text or ""]
    for child in element:
        inside = raw_text(child)
        parts += [inside if child.tag in INLINE else f" {inside} ", child.tail or ""]
    return "".join(parts).replace(_BREAK, " ")


_PADDED = re.compile(r"(?:padding|margin)-left:\s*(\d+(?:\.\d+)?)(?:px|em|rem|pt|%)")
