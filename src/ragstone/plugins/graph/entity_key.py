"""The key that the spellings of a name share."""

import re
import unicodedata
from functools import cache, lru_cache

from ragstone.language.unicode import strip_accents
from ragstone.language.words import word_lists

MAX_KEY_CHARS = 80
"""Characters of a key; a longer text is not a name."""

_APART = re.compile(r"[^\w&+#.]+|_+|(?<!\w)\.|\.(?!\w)")
_POSSESSIVE = re.compile(r"['’]s?(?=\s|$)")
_ABBREVIATION = re.compile(r"(?:[A-Z]\.?){2,6}s?\d*")
_UNACCENTED = 0x530
"""Code point from which letters keep their marks: Latin, Greek and Cyrillic ones lose them."""


@lru_cache(20_000)
def entity_key(name: str) -> str:
    """Return the key of a name, empty for what is none.

    Case, accents, possessives, hyphens, titles before a person's name and the legal form behind a
    company's make no difference. An abbreviation in capitals keeps them: WHO is not who.
    """
    name = unicodedata.normalize("NFKC", name).strip()
    bare = _POSSESSIVE.sub("", name)
    if _ABBREVIATION.fullmatch(bare):
        return bare.replace(".", "").removesuffix("s")
    if all(ord(letter) < _UNACCENTED or not letter.isalpha() for letter in bare):
        bare = strip_accents(bare)
    words = _APART.sub(" ", bare.casefold()).split()
    while words[1:] and words[0] in _words("leading") and not words[1].isdigit():
        words = words[1:]
    while len(words) > 1 and words[-1].replace(".", "") in _words("legal"):
        words = words[:-1]
    key = " ".join(words)
    return key if len(key) <= MAX_KEY_CHARS and any(letter.isalpha() for letter in key) else ""


def normalise_for_names(text: str) -> str:
    """A text as names are compared inside it: without case, accents and signs between words."""
    text = unicodedata.normalize("NFKC", text)
    return " ".join(_APART.sub(" ", _POSSESSIVE.sub("", strip_accents(text)).casefold()).split())


def occurs_in_text(name: str, text: str) -> bool:
    """Tell whether a name stands in a `normalise_for_names` text, in whole words where its script
    has spaces; its last word may have an ending there."""
    wanted = normalise_for_names(name)
    if not wanted:
        return False
    if any(ord(letter) >= _UNACCENTED for letter in wanted):
        return wanted in text
    return re.search(rf"(?<!\w){re.escape(wanted)}(?:s|es)?(?!\w)", text) is not None


@cache
def _words(kind: str) -> frozenset[str]:
    return frozenset(word_lists("plugins.graph", "entities")[kind])
