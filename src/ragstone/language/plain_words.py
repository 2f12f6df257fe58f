"""The words of a text in the plain letters a to z, as a vocabulary keeps them."""

import re
import unicodedata

_WORD = re.compile(r"(?<![a-z0-9])[a-z]{3,24}(?![a-z0-9])")


def plain_words(text: str) -> set[str]:
    """Every word of three to 24 letters, in small letters and without accents."""
    return set(_WORD.findall(plain(text)))


def plain(text: str) -> str:
    """`text` in small letters and without accents: `Möngke` is `mongke`."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in parts if not unicodedata.combining(char))
