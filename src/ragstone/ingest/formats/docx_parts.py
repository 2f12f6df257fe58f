"""Parts of a Word document by themselves: styles with what they inherit, texts of runs, cells."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ragstone.ingest.document import Block
from ragstone.ingest.formats.furniture import COMMENT
from ragstone.ingest.formats.numbering import PICTURE_SIGNS, W

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MATH_SIGNS = {
    f"{MATH}{name}": sign
    for name, sign in {"num": "", "den": "/", "sup": "^", "sub": "_", "rad": "√", "d": ""}.items()
}
"""What is written before a part of a formula in a line of text."""

_MARKS = {f"{W}tab": " ", f"{W}ptab": " ", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_SYMBOL_FONTS = ("wingdings", "webdings", "symbol")
_SYMBOLS = dict(zip(
    (*range(0x61, 0x7B), 0xA3, 0xA5, 0xB0, 0xB1, 0xB3, 0xB4, 0xB8, 0xB9, 0xBB, 0xD6),
    "αβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞°±≥×÷≠≈√", strict=True,
))  # fmt: skip
"""What people insert of Adobe's Symbol font, by its codes."""

_BODY_TEXT = 9
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_INLINE_CODE_NAMES = {
    "html code", "html sample", "html typewriter", "verbatim char", "inline code", "code",
    "code char", "source text", "code in text", "macro text char", "html preformatted char",
}  # fmt: skip
_LAYOUT_CHARS = 600

STRIKES, HIDES = ("strike", "dstrike"), ("vanish",)
"""The properties of text that is struck out, and of text that is hidden."""


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a paragraph style says, with what it inherits: `level` from 1, 0 for body text."""

    name: str
    level: int
    list_id: str
    list_level: int | None


def cell_indent(cell: Any) -> int:
    """Tell how many points the first paragraph of a cell is indented."""
    found = next(cell.iter(f"{W}ind"), None)
    first = next(cell.iter(f"{W}p"), None)
    if found is None or first is None or found.getparent().getparent() is not first:
        return 0
    said = found.get(f"{W}left") or found.get(f"{W}start") or ""
    return min(int(said) // 20, 40) if said.isdecimal() else 0


@dataclass(slots=True)
class TableCell:
    """A cell over `span` columns; `repeated` if it only goes on with the one above. `indent` is how
    far its text is indented, in points."""

    blocks: list[Block]
    span: int = 1
    repeated: bool = False
    indent: int = 0

    @property
    def text(self) -> str:
        parts = [
            " ".join(block.text.split())
            for block in self.blocks
            if block.kind != "table" and block.label != COMMENT
        ]
        return " ".join(parts)


def heading_level(properties: Any, style: ParagraphStyle) -> int:
    """Return the heading level of a paragraph: its own, else its style's; 0 for body text."""
    own = "" if properties is None else attribute(properties.find(f"{W}outlineLvl"))
    if own.isdecimal():
        return int(own) + 1 if int(own) < _BODY_TEXT else 0
    return style.level


def read_styles(root: Any) -> dict[str, ParagraphStyle]:
    """Return the paragraph styles by their ids; each inherits from what it is based on."""
    elements = {item.get(f"{W}styleId", ""): item for item in root.iterchildren(f"{W}style")
                if item.get(f"{W}type", "paragraph") == "paragraph"}  # fmt: skip
    found: dict[str, ParagraphStyle] = {}
    for key in elements:
        chain = _list_bases(elements, key)
        outline, list_id, list_level = "", "", ""
        for item in chain:
            properties = elements[item].find(f"{W}pPr")
            if properties is None:
                continue
            outline = outline or attribute(properties.find(f"{W}outlineLvl"))
            number = properties.find(f"{W}numPr")
            if number is not None:
                list_id = list_id or attribute(number.find(f"{W}numId"))
                list_level = list_level or attribute(number.find(f"{W}ilvl"))
        names = [attribute(elements[item].find(f"{W}name")).lower() for item in chain]
        level = int(outline) + 1 if outline.isdecimal() else _level_by_name(names)
        found[key] = ParagraphStyle(
            names[0],
            level if level <= _BODY_TEXT else 0,
            list_id,
            int(list_level) if list_level.isdecimal() else None,
        )
    return found


def _list_bases(elements: Mapping[str, Any], key: str) -> list[str]:
    """Return a style and those that it is based on, nearest first, by their ids."""
    chain: list[str] = []
    # Damaged files have styles that are based on each other in a circle.
    while key in elements and key not in chain:
        chain.append(key)
        key = attribute(elements[key].find(f"{W}basedOn"))
    return chain


def read_code_styles(root: Any) -> frozenset[str]:
    """Return the ids of the styles for code inside a line, and of those that are based on one."""
    elements = {item.get(f"{W}styleId", ""): item for item in root.iterchildren(f"{W}style")
                if item.get(f"{W}type") == "character"}  # fmt: skip
    found = set[str]()
    for key in elements:
        chain = _list_bases(elements, key)
        names = {attribute(elements[item].find(f"{W}name")).lower() for item in chain}
        if names & _INLINE_CODE_NAMES:
            found.add(key)
    return frozenset(found)


def find_formatting_styles(root: Any, names: Sequence[str]) -> frozenset[str]:
    """Return the ids of the styles that have a property of these `names`, by themselves or by what
    they are based on."""
    elements = {item.get(f"{W}styleId", ""): item for item in root.iterchildren(f"{W}style")}
    found = set[str]()
    for key in elements:
        said = (
            _read_switch(elements[item].find(f"{W}rPr"), names)
            for item in _list_bases(elements, key)
        )
        if next((has for has in said if has is not None), False):
            found.add(key)
    return frozenset(found)


def _read_switch(properties: Any, names: Sequence[str]) -> bool | None:
    """Tell whether text has a property of these names, None where its properties do not say."""
    if properties is None or all(properties.find(f"{W}{name}") is None for name in names):
        return None
    return any(is_enabled(properties, name) for name in names)


def _level_by_name(names: Iterable[str]) -> int:
    """Return the level that the names of a style and those it is based on say; they are never
    translated for Word's own styles."""
    for name in names:
        if name == "title":
            return 1
        if match := _HEADING_NAME.fullmatch(name):
            return int(match[1])
    return 0


def is_layout_table(rows: list[list[TableCell]], *, has_names: bool) -> bool:
    """Tell whether a table only arranges text: one cell a row, or cells with headings, with tables
    where no row names the columns, or with long text of several blocks."""
    arranged = {"heading"} if has_names else {"heading", "table"}
    if all(len(row) <= 1 for row in rows):
        return True
    for row in rows:
        for cell in row:
            kinds = {block.kind for block in cell.blocks}
            size = sum(len(block.text) for block in cell.blocks)
            # Code in one line of a record would lose its lines.
            if "code" in kinds or (len(cell.blocks) > 1 and kinds & arranged):
                return True
            if len(cell.blocks) > 2 and size > _LAYOUT_CHARS:
                return True
    return False


def fill_merged(rows: list[list[TableCell]]) -> list[list[TableCell | None]]:
    """Return the rows with a cell for each column: merged ones stand in each column and row."""
    grid: list[list[TableCell | None]] = []
    for row in rows:
        line: list[TableCell | None] = []
        above = grid[-1] if grid else []
        for cell in row:
            start = len(line)
            shown = above[start] if cell.repeated and start < len(above) else cell
            # Word allows 63 columns; a damaged file may state millions.
            line += [shown] * min(cell.span, 200)
        grid.append(line)
    return grid


def own_text(element: Any) -> str | None:
    """Return the text that an element stands for, None for one that may hold others."""
    tag = element.tag
    if tag in (f"{W}t", f"{MATH}t"):
        return element.text or ""
    if tag == f"{W}br":
        return "\n" if element.get(f"{W}type", "textWrapping") == "textWrapping" else " "
    if tag == f"{W}sym":
        return _symbol(element)
    return _MARKS.get(tag)


def field_state(field: Any) -> str:
    """Return what a box or a list of an old form is set to; the text of other fields stands
    behind them."""
    box, choice = field.find(f"{W}ffData/{W}checkBox"), field.find(f"{W}ffData/{W}ddList")
    if box is not None:
        state = "checked" if box.find(f"{W}checked") is not None else "default"
        return "☒ " if is_enabled(box, state) else "☐ "
    if choice is None:
        return ""
    chosen = attribute(choice.find(f"{W}result")) or attribute(choice.find(f"{W}default")) or "0"
    entries = [attribute(entry) for entry in choice.iterchildren(f"{W}listEntry")]
    # A number of many digits would take long to parse.
    return "".join(entries[int(chosen[:4]) :][:1]) if chosen.isdecimal() else ""


def math_text(tag: str, text: str) -> str:
    """Return a part of a formula as it is written in a line of text: 3/16, x^2, (a+b)/c."""
    if not text:
        return ""
    is_term = tag != f"{MATH}d" and re.fullmatch(r"[^\s+\-\u2212±×·*/=]+", text)
    return MATH_SIGNS[tag] + (text if is_term else f"({text})")


def is_formatted(run: Any, names: Sequence[str], styles: Set[str]) -> bool:
    """Tell whether a run has a property of these names by itself, or by its style or its
    paragraph's, if these are among the `styles` that have it."""
    properties = run.find(f"{W}rPr")
    if (said := _read_switch(properties, names)) is not None:
        return said
    if not styles:
        return False
    paragraph = next(run.iterancestors(f"{W}p"), None)
    named = (
        None if properties is None else properties.find(f"{W}rStyle"),
        None if paragraph is None else paragraph.find(f"{W}pPr/{W}pStyle"),
    )
    return any(attribute(name) in styles for name in named if name is not None)


def is_enabled(properties: Any, name: str) -> bool:
    found = None if properties is None else properties.find(f"{W}{name}")
    return found is not None and found.get(f"{W}val", "true") not in ("0", "false", "off")


def _symbol(element: Any) -> str:
    """Return a character by its number; those of symbol fonts mean pictures."""
    font = element.get(f"{W}font", "").lower()
    code = element.get(f"{W}char", "")
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    # Fonts of symbols have their glyphs at 0xF000 and above, in the last two digits.
    if font == "symbol" and number & 0xFF in _SYMBOLS:
        return _SYMBOLS[number & 0xFF]
    if sign := PICTURE_SIGNS.get(font.replace(" ", "").encode(), {}).get(chr(number & 0xFF)):
        return sign
    if font.startswith(_SYMBOL_FONTS) or 0xE000 <= number <= 0xF8FF or number > 0xFFFF:
        return ""
    return chr(number)


def column_span(properties: Any, name: str) -> int:
    given = "" if properties is None else attribute(properties.find(f"{W}{name}"))
    return int(given) if given.isdecimal() else 0


def attribute(element: Any) -> str:
    return "" if element is None else element.get(f"{W}val", "")


def tidy_text(text: str) -> str:
    """The text without white space at the ends of its lines."""
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in text.replace("\xad", "").split("\n"))
    return "\n".join(lines).strip()
