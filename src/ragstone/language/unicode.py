"""Characters: texts that every store can hold, and words without case and accents."""

import re
import unicodedata
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """`text` with U+FFFD for each half of a character (a lone surrogate), of the same length.

    JSON can spell such halves; no encoding of Unicode can hold them.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def replace_unstorable(text: str) -> str:
    """`text` as every store can keep it: whole, and with U+FFFD for NUL too."""
    return replace_surrogates(text).replace("\0", "\ufffd")


def replace_value_surrogates(value: Any) -> Any:
    """Return a JSON value with every text in it whole, keys too."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {
            replace_surrogates(str(key)): replace_value_surrogates(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [replace_value_surrogates(item) for item in value]
    return value


_WORD = re.compile(r"(?<![a-z0-9])[a-z]{3,24}(?![a-z0-9])")


def find_plain_words(text: str) -> set[str]:
    """Return every word of three to 24 letters, in small letters and without accents."""
    return set(_WORD.findall(strip_accents(text)))


def strip_accents(text: str) -> str:
    """`text` in small letters and without accents: `Möngke` is `mongke`."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in parts if not unicodedata.combining(char))
