"""Code inside a line, on its way from the marks of a format to a code span.

While a reader puts a text together, code in it stands between two characters that no text has, so
that neighbouring pieces of it become one span.
"""

import re
from typing import Final

from ragstone.core.code_spans import code_span

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
    """Whether text with this role is code."""
    return role.lower().rpartition(":")[2] in VERBATIM_ROLES | OBJECT_ROLES


def mark_code(code: str) -> str:
    """The code between its marks."""
    return f"{_OPEN}{code.translate(_MARKS)}{_CLOSE}"


def restore_spans(text: str) -> str:
    """The text with code spans for what is marked, one for each line of it; space at the ends
    stands around it."""
    if _OPEN not in text and _CLOSE not in text:
        return text
    return _CODE.sub(_span, text.replace(_CLOSE + _OPEN, "")).translate(_MARKS)


def strip_marks(text: str) -> str:
    """The text without the marks: headings and titles are plain."""
    return text.translate(_MARKS)


def _span(match: re.Match[str]) -> str:
    lines = "\n".join(map(code_span, match[2].split("\n")))
    return f"{match[1]}{lines}{match[3]}"


class Literals:
    """Parts of a text that stay as they are while the text around them is read: each is a private
    character for so long."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    def kept(self, text: str) -> str:
        """The character for a literal."""
        self._kept.append(text)
        return chr(min(_LITERAL + len(self._kept) - 1, _LAST_LITERAL))

    def restore(self, text: str) -> str:
        """The text with the literals in their places."""
        count = len(self._kept)
        places = (ord(char) - _LITERAL for char in text)
        parts = (
            self._kept[place] if 0 <= place < count else char
            for place, char in zip(places, text, strict=True)
        )
        return "".join(parts) if count else text
