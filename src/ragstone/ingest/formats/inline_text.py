"""Marks within a line on their way to plain text: code, raised and lowered text.

While a reader puts a text together, code in it stands between two characters that no text has, so
that neighbouring pieces of it become one span. Raised digits are written with `raise_text` and
lowered ones with `lower_text`, as the characters that Unicode has for them. `spell_out_digits` then
says for every format what they are beside the text before: 10⁵ is a power and is written 10^5, but
the mark of a footnote never joins a number or a word: 412⁷ is written 412 ⁷.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ragstone.core.code_spans import code_span
from ragstone.ingest.document import Block
from ragstone.ingest.formats.numbering import PICTURE_SIGNS

_OPEN: Final = "\ufdd0"
_CLOSE: Final = "\ufdd1"
CODE: Final = (_OPEN, _CLOSE)
"""What stands before and after code."""

_CODE = re.compile(f"{_OPEN}(\\s*)([^{_OPEN}{_CLOSE}]*?)(\\s*){_CLOSE}")
_MARKS = str.maketrans("", "", _OPEN + _CLOSE)

_LITERAL, _LAST_LITERAL = 0x100000, 0x10FFFD

VERBATIM_ROLES = {"code", "literal", "file", "samp", "regexp", "command"}
"""Roles of reStructuredText and MyST whose text is code, as it is written."""

OBJECT_ROLES = {
    "class", "func", "meth", "mod", "attr", "exc", "data", "obj", "const", "type", "var", "macro",
    "member", "enum", "enumerator", "struct", "union", "concept", "expr", "deco", "property",
    "prop", "method", "function", "module", "attribute", "exception", "object",
}  # fmt: skip
"""Roles whose text is the name of something in code."""


def is_code_role(role: str) -> bool:
    """Tell whether text with this role is code."""
    return role.lower().rpartition(":")[2] in VERBATIM_ROLES | OBJECT_ROLES


def mark_code(code: str) -> str:
    """Return the code between its marks."""
    return f"{_OPEN}{code.translate(_MARKS)}{_CLOSE}"


def restore_spans(text: str) -> str:
    """Return the text with code spans for what is marked, one for each line of it; space at the
    ends stands around it."""
    if _OPEN not in text and _CLOSE not in text:
        return text
    return _CODE.sub(_span, text.replace(_CLOSE + _OPEN, "")).translate(_MARKS)


def strip_marks(text: str) -> str:
    """Return the text without the marks: headings and titles are plain."""
    return text.translate(_MARKS)


def _span(match: re.Match[str]) -> str:
    lines = "\n".join(map(code_span, match[2].split("\n")))
    return f"{match[1]}{lines}{match[3]}"


class Literals:
    """Parts of a text that stay as they are while the text around them is read: each is a private
    character for so long."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    def put(self, text: str) -> str:
        """Return the character for a literal."""
        self._kept.append(text)
        return chr(min(_LITERAL + len(self._kept) - 1, _LAST_LITERAL))

    def restore(self, text: str) -> str:
        """Return the text with the literals in their places."""
        count = len(self._kept)
        places = (ord(char) - _LITERAL for char in text)
        parts = (
            self._kept[place] if 0 <= place < count else char
            for place, char in zip(places, text, strict=True)
        )
        return "".join(parts) if count else text


_PLAIN = "0123456789+-\u2212"
_RAISED = str.maketrans(_PLAIN, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LOWERED = str.maketrans(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₋")

_UP = re.compile(r"(?<=[^\s⁰¹²³⁴-⁹⁺⁻])[⁺⁻]?[⁰¹²³⁴-⁹]+")
_DOWN = re.compile(r"(?<=[^\W₀-₉₊₋])[₊₋]?[₀-₉]+(?=(\d?))")
_BASE = re.compile(r"(?:^|[^\w.,])(?:\d+(?:[.,]\d+)?\s*[x×·*]\s*)?(?:2|10)$")
"""The numbers whose powers people write."""

_LONG_WORD = re.compile(r"[^\W\d_]{4}$")
"""What is too long for a unit or a variable (m², πr²)."""


def raise_text(text: str) -> str:
    """Return raised digits and signs as such; other text as it is (1st, Mme)."""
    return text.translate(_RAISED) if _is_number(text) else text


def lower_text(text: str) -> str:
    """Return lowered digits and signs as such; other text as it is."""
    return text.translate(_LOWERED) if _is_number(text) else text


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*(?:[+\-\u2212]\d*|\d+)\s*", text) is not None


def spell_out_digits(text: str) -> str:
    """Return a text whose raised and lowered digits are part of no number that they do not belong
    to. Units (m²) and formulas (H₂O) stay as they are."""
    if text.isascii():
        return text
    return _UP.sub(_write_raised, _DOWN.sub(_write_lowered, text))


_TYPED_BULLET = re.compile(r"([•●○▪■◦‣➢➤►\uf020-\uf0ff])\s+(?=\S)")


def read_typed_bullet(block: Block) -> Block:
    """Return a paragraph that begins with a bullet as the item that it is. Boxes stay: they say
    something. The font of a sign that stands among private ones is not known; nearly all are of
    Wingdings."""
    match = _TYPED_BULLET.match(block.text) if block.kind == "paragraph" else None
    if match is None:
        return block
    sign, is_item = match[1], True
    if sign >= "\uf020":
        known = PICTURE_SIGNS[b"wingdings"].get(chr(ord(sign) - 0xF000), "")
        sign, is_item = known or "•", not known
    moved = match.end() - len(sign) - 1
    places = tuple(replace(place, start=max(place.start - moved, 0)) for place in block.places)
    block = replace(block, text=f"{sign} {block.text[match.end() :]}", places=places)
    return replace(block, kind="item", level=1, label=sign) if is_item else block


def rewrite_block(block: Block, write: Callable[[str], str] = spell_out_digits) -> Block:
    """Return a block whose text is written anew, with its places where they were in it."""
    text = write(block.text)
    if text == block.text:
        return block
    places = tuple(
        replace(place, start=len(write(block.text[: place.start]))) for place in block.places
    )
    return replace(block, text=text, places=places)


def _write_raised(match: re.Match[str]) -> str:
    before = match.string[max(match.start() - 24, 0) : match.start()]
    if before[-1].isdecimal():
        if _BASE.search(before) or match[0][0] in "⁺⁻":
            return f"^{_plain(match[0])}"
        return f" {match[0]}"
    return f" {match[0]}" if _LONG_WORD.search(before) else match[0]


def _write_lowered(match: re.Match[str]) -> str:
    before = match.string[match.start() - 1]
    if before.isdecimal() or match[1]:
        return f"_{_plain(match[0])}{' ' if match[1] else ''}"
    return match[0]


def _plain(digits: str) -> str:
    return unicodedata.normalize("NFKC", digits).replace("\u2212", "-")
