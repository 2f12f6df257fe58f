"""What chunks name, and what an entity graph makes of it.

The key that the spellings of a name share.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from ragstone.core.chunk import chunk_id
from ragstone.language.unicode import strip_accents
from ragstone.language.words import word_lists

EntityKind = Literal["title", "heading", "name", "quoted", "term", "key", "link", "model"]
"""Where a name was found: a document's title, a heading above the chunk, a name by its capitals, a
name in quotation marks, a term (an abbreviation, a code, a word that is repeated), the first cell
of a table's row, an address; or only the chat model took it for one."""


def format_chunk_id(revision: str, chunk_index: int) -> str:
    """Return the id of a chunk by its revision and its number in that."""
    document_id, _, version = revision.rpartition("@")
    return chunk_id(document_id, int(version), chunk_index)


@dataclass(frozen=True, slots=True)
class EntityMention:
    """That a chunk names an entity, `count` times.

    `entity` is the key that all spellings of a name share, `name` how the chunk spells it. `same`
    is the key of another name for it, empty if the chunk gives none: "World Health Organization
    (WHO)". `chunk_index` counts the chunks of the revision.
    """

    revision: str
    chunk_index: int
    entity: str
    name: str
    kind: EntityKind
    count: int = 1
    same: str = ""

    @property
    def chunk_id(self) -> str:
        """The id of the chunk."""
        return format_chunk_id(self.revision, self.chunk_index)


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """That a chunk says how two entities that it names relate, as a chat model put it."""

    revision: str
    chunk_index: int
    entity: str
    other: str
    said: str

    @property
    def chunk_id(self) -> str:
        """The id of the chunk."""
        return format_chunk_id(self.revision, self.chunk_index)


@dataclass(frozen=True, slots=True)
class ReadEntity:
    """An entity as a chat model names it, and its other names in the same chunk."""

    name: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadRelation:
    """How two entities of a chunk relate, by their names there."""

    entity: str
    other: str
    said: str


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """What a chat model said that a chunk names, as far as it stands in the chunk.

    `key` is the hash of what the model was shown of the chunk. `broken` says that nothing could be
    made of its reply.
    """

    revision: str
    chunk_index: int
    key: str
    entities: tuple[ReadEntity, ...] = ()
    relations: tuple[ReadRelation, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True)
class EntityCount:
    """An entity by its most frequent name, and in how many chunks it is named."""

    entity: str
    name: str
    chunks: int


@dataclass(frozen=True, slots=True)
class EntityTheme:
    """A community of entities that are named together, and the chunks that name them.

    It is made of documents with the same readers (`audience`). `passages` are the chunks that tell
    most of it, by revision and number, the best first; `revisions` all that it is made of.
    `summary` is of the documents' own sentences, or a chat model's where `by` names one; `key` is
    the hash of the passages that it was made of.
    """

    id: str
    audience: str
    title: str
    entities: tuple[EntityCount, ...]
    passages: tuple[tuple[str, int], ...]
    revisions: tuple[str, ...]
    summary: str = ""
    by: str = ""
    key: str = ""


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
