"""Raised and lowered text, as plain text that means the same.

Readers of formats write raised digits with `raise_text` and lowered ones with `lower_text`, as the
characters that Unicode has for them. `write_out` then says for every format what they are beside
the text before: 10⁵ is a power and is written 10^5, but the mark of a footnote never joins a number
or a word: 412⁷ is written 412 ⁷.
"""

import re
import unicodedata
from dataclasses import replace

from ragstone.ingest.document import Block

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


def write_out(text: str) -> str:
    """Return a text whose raised and lowered digits are part of no number that they do not belong
    to. Units (m²) and formulas (H₂O) stay as they are."""
    if text.isascii():
        return text
    return _UP.sub(_write_raised, _DOWN.sub(_write_lowered, text))


def write_out_block(block: Block) -> Block:
    """Return a block whose text is written out, with its places where they were in it."""
    text = write_out(block.text)
    if text == block.text:
        return block
    places = tuple(
        replace(place, start=len(write_out(block.text[: place.start]))) for place in block.places
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
