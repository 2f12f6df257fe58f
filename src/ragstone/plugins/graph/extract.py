"""What a chunk names, found without a model, by what the text itself shows.

Scripts with capitals: runs of capitalised words, as `language.mentions` reads them; in German,
where every noun has one, a single word counts only if it is repeated. Scripts without: runs of
katakana, and what stands between the small words of Chinese and Japanese, or is repeated in
Korean, Arabic, Hebrew, Hindi and the like. In all of them: the document's title, headings, names
in quotation marks, abbreviations, codes, the first cells of a table's rows, and addresses.

A chunk is read with nothing but itself and its document's title, so that what is kept of it never
depends on other documents. A run that one chunk only has is kept too: it leads nowhere, until
another chunk has it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Protocol

from ragstone.core.chunk import QUESTION, Chunk
from ragstone.core.document import STRUCK
from ragstone.language.mentions import function_words, names
from ragstone.language.words import STOPWORDS, word_lists, words
from ragstone.plugins.graph.entities import EntityKind, EntityMention, entity_key

READING = "1"
"""The number of these rules: chunks that were read by others are read again."""

MAX_CHUNK_ENTITIES = 40
"""Entities of one chunk."""

LONGEST_TEXT = 20_000
"""Characters of a chunk that are looked at."""

LONGEST_TITLE = 8
"""Words of a title or heading that may be a name."""

UNREAD_KINDS = frozenset({QUESTION, "toc", "credits", "summary", STRUCK})
"""Kinds of chunks that name everything, or are no text of the document."""

_WRAPPED = re.compile(r"(?<=[^\n]{60})\n(?=[^\s#>|*-])")
"""The end of a line inside a paragraph."""
_PART = 4_000
_QUOTED = re.compile(
    r"「([^「」\n]{2,30})」|『([^『』\n]{2,30})』|《([^《》\n]{1,30})》|“([^“”\n]{2,60})”"
    r"|„([^„“”\n]{2,60})[“”]|«\s?([^«»\n]{2,60}?)\s?»|(?<!\w)\"([^\"\n]{2,60})\"(?!\w)"
)
_ABBREVIATION = re.compile(r"(?<![\w&.-])(?:[A-Z]{2,8}\d{0,4}|[A-Z]&[A-Z])(?![\w&-])")
_CODE = re.compile(
    r"(?<![\w./-])(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Z][A-Za-z]*-?\d[\w-]*(?:\.\d+)*(?![\w/])"
    r"|(?<![\w.])[a-z]+(?:[A-Z][a-z0-9]+)+(?!\w)|(?<![\w.])[a-z]{2,}(?:_[a-z0-9]{2,})+(?!\w)"
)
_NO_SMALL_WORDS = frozenset({"WHO", "US", "IT"})
"""Abbreviations that are small words in small letters."""
_LINK = re.compile(r"(?:https?://|www\.)([\w.-]+\.\w{2,}(?:/[\w./~%-]*)?)", re.IGNORECASE)
_SAME = re.compile(r"\s?[(（]([A-Z][A-Za-z&.-]{1,9})[)）]")
"""A short name in brackets behind the long one."""
_FIRST_CELL = re.compile(r"^(?:[^:;\n|]{1,60}: )?([^;|\n]{2,60}?)(?=;|\s\||$)", re.MULTILINE)

_OF_THE = re.compile(r"(?<!\bvon)(?<!\bvan)\s(?:der|den|des)\s")
"""Between two German nouns, but not in names such as Ursula von der Leyen."""
_OF = re.compile(r"\s(?:of|of\sthe|de|del|de\sla|du|di|da|&)\s", re.IGNORECASE)
_KATAKANA = re.compile(r"[ァ-ヺー]{3,}(?:[・＝][ァ-ヺー]{2,})*")
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_HANGUL = re.compile(r"[가-힣]{2,}")
_UNCASED = re.compile(
    r"[\u0590-\u05ff\u0600-\u06ff\u0750-\u077f\u0900-\u0d7f\u10a0-\u10ff\u1200-\u137f]{4,}"
)
CHINESE_RUN = (2, 8)
"""Characters of a run between small words that may be a name or a term."""

_RANK: dict[EntityKind, int] = {
    "title": 0,
    "name": 1,
    "key": 2,
    "quoted": 2,
    "heading": 3,
    "link": 4,
    "term": 5,
}
"""Which kinds come first where a chunk names too much."""


class EntityRecognizer(Protocol):
    """Finds names in texts of some languages. Called in threads."""

    @property
    def name(self) -> str:
        """Changes whenever the same text may have other names."""
        ...

    def names(self, text: str, language: str) -> Sequence[str] | None:
        """Return the names in a text, as often as they stand there; None in a language that it does
        not read."""
        ...


def extract_mentions(
    chunk: Chunk, recognizer: EntityRecognizer | None = None
) -> list[EntityMention]:
    """Return what a chunk names, each entity once, at most MAX_CHUNK_ENTITIES. In its languages the
    `recognizer` says what names are, instead of their capitals."""
    if chunk.kind in UNREAD_KINDS:
        return []
    found = _Found(chunk)
    text = chunk.text[:LONGEST_TEXT]
    found.add("title", _titles(chunk.title))
    for heading in chunk.section[-2:]:
        found.add("heading", _titles(heading))
    flat = _WRAPPED.sub(" ", text)
    found.add("quoted", (_one(match) for match in _QUOTED.finditer(text)), _is_title)
    told = recognizer.names(flat, chunk.language) if recognizer else None
    found.add("name", _names(flat, chunk.language) if told is None else told)
    found.add("term", (match.group() for match in _ABBREVIATION.finditer(text)), _is_abbreviation)
    found.add("term", (match.group() for match in _CODE.finditer(text)))
    found.add("link", (match.group(1).rstrip("./") for match in _LINK.finditer(text)))
    found.add("key", _keys(chunk, text), _is_title)
    if not text.isascii():
        found.add("name", (match.group() for match in _KATAKANA.finditer(text)))
        found.add("term", _chinese(text))
        found.add("term", _find_repeated(_HANGUL, text, 2))
        found.add("term", _find_repeated(_UNCASED, text, 2))
    found.name_again(flat)
    return found.mentions()


class _Found:
    """The entities of one chunk while it is read."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._kinds: dict[str, EntityKind] = {}
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._same: dict[str, str] = {}

    def add(
        self, kind: EntityKind, named: Iterable[str], fits: Callable[[str], bool] = lambda _: True
    ) -> None:
        """Take over names of a kind; those that `fits` refuses are left out."""
        for name in named:
            clean = " ".join(name.split())
            if fits(clean):
                self._count(kind, clean)

    def _count(self, kind: EntityKind, name: str) -> None:
        key = self._find_full_name(entity_key(name))
        if not key or _is_empty(key):
            return
        self._counts[key] = self._counts.get(key, 0) + 1
        self._names.setdefault(key, name)
        before = self._kinds.setdefault(key, kind)
        if _RANK[kind] < _RANK[before]:
            self._kinds[key] = kind

    def _find_full_name(self, key: str) -> str:
        """Return the one entity of several words that a single word is the last or first of: Obama
        is Barack Obama where the chunk or its title names him."""
        if not key or " " in key or key in self._counts or key.isupper() or not key.isascii():
            return key
        longer = [
            item
            for item, kind in self._kinds.items()
            if kind in ("title", "name")
            and len(item.split()) in (2, 3)
            and key in (item.split()[0], item.split()[-1])
        ]
        return longer[0] if len(longer) == 1 else key

    def name_again(self, text: str) -> None:
        """Read other names for the same that stand in brackets behind a name."""
        for match in _SAME.finditer(text):
            short = entity_key(match.group(1))
            before = text[max(0, match.start() - 100) : match.start()]
            key = next((k for k in map(entity_key, _endings(before)) if k in self._counts), "")
            if short and key and short != key and _abbreviates(match.group(1), before):
                self._count("term", match.group(1))
                if short in self._counts:
                    self._same[short], self._same[key] = key, short

    def mentions(self) -> list[EntityMention]:
        """Return what was found, the surest first, cut to the most."""
        order = sorted(
            self._counts, key=lambda key: (_RANK[self._kinds[key]], -self._counts[key], key)
        )
        kept = set(order[:MAX_CHUNK_ENTITIES])
        return [
            EntityMention(
                self._chunk.revision,
                self._chunk.chunk_index,
                key,
                self._names[key],
                self._kinds[key],
                self._counts[key],
                self._same.get(key, "") if self._same.get(key, "") in kept else "",
            )
            for key in order[:MAX_CHUNK_ENTITIES]
        ]


def _titles(title: str) -> Iterator[str]:
    """Yield a title that may be a name by itself, and the names in it."""
    if _is_title(title):
        yield title
    else:
        yield from (name.text for name in names(title) if " " in name.text)


def _is_title(text: str) -> bool:
    """Tell whether a text is short enough for a name, and says something."""
    parts = text.split()
    return 1 <= len(parts) <= LONGEST_TITLE and len(text) <= 60 and bool(_content(text))


def _is_abbreviation(text: str) -> bool:
    """Tell whether capitals are no numeral, no legal form, and no small word that is shouted."""
    word = text.casefold()
    small = word in function_words() and text not in _NO_SMALL_WORDS
    return not (small or re.fullmatch(r"[IVXLCM]+", text) or word in _load_list("legal"))


def _is_empty(key: str) -> bool:
    """Tell whether a key says nothing: a small word, or a day of the calendar."""
    return key in _load_list("dates") or key in function_words() or key in STOPWORDS or len(key) < 2


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word not in STOPWORDS]


def _names(text: str, language: str) -> Iterator[str]:
    """Yield names by their capitals. Single words of a German text are mostly plain nouns."""
    found = [
        item.text
        for line in text.split("\n")
        for start in range(0, len(line), _PART)
        for item in names(line[start : start + _PART])
    ]
    if language not in ("de", "lb"):
        for name in found:
            yield name
            # Ada Thornbury of Blue Whale names two as well.
            parts = _OF.split(name)
            yield from (part for part in parts if len(parts) > 1 and " " in part)
        return
    apart = [part for name in found for part in _OF_THE.split(name)]
    yield from (name for name in apart if " " in name or apart.count(name) > 1)


def _keys(chunk: Chunk, text: str) -> Iterator[str]:
    """Yield the first cells of the rows of the chunk's tables."""
    tables = [block for block in chunk.blocks if block.kind == "table"]
    spans = [(table.start, table.end) for table in tables]
    for start, end in spans or ([(0, len(text))] if chunk.kind == "table" else []):
        for match in _FIRST_CELL.finditer(text[start:end]):
            cell = match.group(1).strip()
            if any(letter.isalpha() for letter in cell):
                yield cell


def _chinese(text: str) -> Iterator[str]:
    """Yield what stands between small words in texts of Chinese characters, and parts of that which
    a chunk has several times, but for those that only stand in one longer part."""
    least, most = CHINESE_RUN
    small = re.compile(f"[{''.join(_load_list('between'))}]")
    runs = [run for match in _CHINESE.finditer(text) for run in small.split(match.group())]
    counts = Counter(
        run[start : start + size]
        for run in runs
        for start in range(len(run))
        for size in range(least, min(most, len(run) - start) + 1)
    )
    repeated = {part: count for part, count in counts.items() if count > 1}
    inner = {
        part[start : start + len(part) - 1]: count
        for part, count in repeated.items()
        for start in (0, 1)
    }
    for part, count in repeated.items():
        if inner.get(part) != count:
            yield from [part] * count
    yield from (run for run in runs if least <= len(run) <= most and run not in repeated)


def _find_repeated(script: re.Pattern[str], text: str, least: int) -> Iterator[str]:
    """Yield the words of a script without capitals that a chunk has several times."""
    found = [_without_particle(match.group()) for match in script.finditer(text)]
    counts: dict[str, int] = {}
    for word in found:
        counts[word] = counts.get(word, 0) + 1
    yield from (word for word in found if counts[word] >= least and len(word) > 1)


def _without_particle(word: str) -> str:
    """Return a Korean word without what marks its part in the sentence."""
    for particle in word_lists("plugins.graph", "entities")["particles"]:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return word[: -len(particle)]
    return word


def _endings(text: str) -> Iterator[str]:
    """Return the last words of a text, the most first."""
    parts = text.split()[-8:]
    return (" ".join(parts[start:]) for start in range(len(parts)))


def _abbreviates(short: str, text: str) -> bool:
    """Whether the letters of a short name begin the words before it, or stand in them in order."""
    letters = [letter.casefold() for letter in short if letter.isalpha()]
    rest = iter(" ".join(text.split()[-2 * len(letters) :]).casefold())
    return all(letter in rest for letter in letters)


def _one(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)


@cache
def _load_list(kind: str) -> frozenset[str]:
    words = word_lists("plugins.graph", "entities")[kind]
    return frozenset(map(entity_key, words) if kind == "dates" else words)
