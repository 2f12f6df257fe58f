"""Which edition of a document is wanted: the one in force, or the one that the question names.

Two documents are editions of one where they are called the same but for a date or a version. Which
is newer is told, the surest first, by a statement that one replaces the other, by the dates of
their names and first lines, by their versions, by words such as "old", and by when the files were
written. Where none of these tells it, nothing follows.

A passage of another edition is superseded only where a passage of the wanted one speaks of all of
the question that it speaks of: what only older minutes say still answers. It then is left out if
both say nearly the same, and lowered if not.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import chain, permutations
from pathlib import PurePosixPath
from typing import TypeVar

from ragstone.core.chunk import Chunk
from ragstone.core.turn import Hit
from ragstone.language.edition_names import (
    EditionName,
    Parts,
    edition_words,
    mentions_any,
    read_edition_name,
    version_parts,
)
from ragstone.language.named import find_names
from ragstone.language.sentences import sentences
from ragstone.language.words import content_word_set

K = TypeVar("K", bound=Hashable)

SIMILAR = 0.5
"""The share (Dice) of common words from which two passages say nearly the same."""

COMPETES = 0.75
"""The share of a superseded passage's score that one of the wanted edition has at least where they
do not say nearly the same: what is far behind may speak of something else."""

OPENING_CHARS = 400
"""Of a document in which its date is looked for, and what it replaces."""

DATE_KEYS = (
    "valid_from", "effective_from", "effective_date", "effective", "date", "revdate", "published"
)  # fmt: skip
"""Names of metadata that say from when a document counts."""

WANTING = ("old", "new", "previous", "first", "newest")
"""The lists of words that say which edition a question wants."""

WRITTEN_KEYS = ("modified", "created")
"""Those that say when a file was written, which may be long after."""


@dataclass(frozen=True, slots=True)
class DocumentEdition:
    """What tells a document from its other editions."""

    families: frozenset[str]
    """What its path, and its title in its folder, are called without dates and versions."""
    titles: frozenset[str]
    """What its file and its title alone are called so."""
    date: Parts = ()
    version: Parts = ()
    standing: int = 0
    written: str = ""
    """When the file was last changed by its own account, in ISO form."""
    replaces: tuple[EditionName, ...] = ()
    """Its sentences that say that it replaces something."""
    replaced: tuple[EditionName, ...] = ()
    """Its sentences that say that something replaces it."""

    @property
    def day(self) -> str:
        """From when it counts, else when it was written, in ISO form; empty where neither is
        known."""
        return "-".join(f"{part:02}" for part in self.date) or self.written[:10]

    def is_newer(self, other: "DocumentEdition") -> bool:
        """Tell whether it comes after another edition of the same, as far as that is known."""
        mine, theirs = self._replaces(other), other._replaces(self)
        if mine != theirs:
            return mine
        if not self.families & other.families:
            return False
        for own, its in ((self.date, other.date), (self.version, other.version)):
            known = min(len(own), len(its))
            if own[:known] != its[:known]:
                return own[:known] > its[:known]
        if self.standing != other.standing:
            return self.standing > other.standing
        return bool(other.written) and self.written > other.written

    def _replaces(self, other: "DocumentEdition") -> bool:
        return any(map(other._is_meant, self.replaces)) or any(map(self._is_meant, other.replaced))

    def _is_meant(self, sentence: EditionName) -> bool:
        """Tell whether a sentence names this edition: as it is called, and by no other date or
        version."""
        if not any(map(sentence.names, self.titles)):
            return False
        told = [*sentence.dates, *sentence.versions]
        own = [parts for parts in (self.date, self.version) if parts]
        return any(_begins_alike(item, other) for item in told for other in own) or not (
            told or own
        )


@dataclass(frozen=True, slots=True)
class Superseded:
    """The places of the passages that others supersede, and of what documents these are."""

    gone: frozenset[int] = frozenset()
    lowered: frozenset[int] = frozenset()
    wanted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage, and what it speaks of the question."""

    place: int
    hit: Hit
    words: frozenset[str]
    spoken: frozenset[str]

    def is_similar(self, other: "_Passage") -> bool:
        both = len(self.words) + len(other.words)
        return 2 * len(self.words & other.words) >= SIMILAR * both > 0


def read_edition(chunk: Chunk, opening: str = "") -> DocumentEdition:
    """Read the edition of a chunk's document from its names, its metadata, and its `opening`."""
    *folders, file = chunk.path.strip("/").split("/")
    stem, title = read_edition_name(PurePosixPath(file).stem), read_edition_name(chunk.title)
    above = [read_edition_name(folder) for folder in folders]
    folder = "/".join(item.key for item in above if item.key)
    names = (stem, title, *reversed(above), read_edition_name(chunk.subject))
    told = [read_edition_name(str(chunk.metadata[k])) for k in DATE_KEYS if k in chunk.metadata]
    said = [opening[s.start : s.end] for s in sentences(opening[:OPENING_CHARS])]
    replaced = [item for item in said if mentions_any(item, "replaced")]
    replaces = [item for item in said if item not in replaced and mentions_any(item, "replaces")]
    rest = [read_edition_name(item, False) for item in said if item not in (*replaced, *replaces)]
    stated = next((item.dates[0] for item in (*told, *names) if item.dates), ())
    # A year alone in a text may be that of anything.
    first = next((day for item in rest for day in item.dates if len(day) > 1), ())
    versions = (item.versions[0] for item in (*names, *rest) if item.versions)
    written = (chunk.metadata[key] for key in WRITTEN_KEYS if chunk.metadata.get(key))
    return DocumentEdition(
        # A file may be called by its year alone.
        frozenset(f"{folder}/{k}" for k in (stem.key, title.key or stem.key) if folder or k),
        frozenset(item.key for item in (stem, title) if item.key),
        first if stated == first[: len(stated)] else stated,
        next(versions, ()),
        next((name.standing for name in names if name.standing), 0),
        str(next(written, "")),
        tuple(read_edition_name(item, False) for item in replaces),
        tuple(read_edition_name(item, False) for item in replaced),
    )


def read_document_edition(chunk: Chunk) -> DocumentEdition:
    """Read the edition of a chunk's document from what this chunk alone tells of it."""
    return read_edition(chunk, "" if chunk.chunk_index else chunk.text)


def read_section(document: str, headings: Sequence[str]) -> DocumentEdition:
    """Read the edition that a section of a document is of by the headings above it, the nearest
    first: those of a changelog are versions."""
    for heading in headings:
        name = read_edition_name(heading)
        if name.dates or name.versions:
            family = frozenset((f"{document}#{name.key}",))
            day, version = (next(iter(told), ()) for told in (name.dates, name.versions))
            return DocumentEdition(family, family, day, version)
    return DocumentEdition(frozenset(), frozenset())


def documents_in_families(chunks: Mapping[str, Chunk]) -> set[str]:
    """Return which of the documents, each with one of its chunks, are called as another one is."""
    families = defaultdict[str, set[str]](set)
    for document, chunk in chunks.items():
        for family in read_edition(chunk).families:
            families[family].add(document)
    return set().union(*(documents for documents in families.values() if len(documents) > 1))


def find_superseded(
    question: str, hits: Mapping[int, Hit], openings: Mapping[str, str]
) -> Superseded:
    """Return which of the hits, by their places, are of another edition than the question wants.

    `openings` are the beginnings of the documents, by their ids, as far as they are known.
    """
    chunks = {hit.chunk.document_id: hit.chunk for hit in hits.values()}
    begin = {document: opening[:OPENING_CHARS] for document, opening in openings.items()}
    # Most documents have no other edition, and need not be read for one.
    read = documents_in_families(chunks) | {
        document
        for document, opening in begin.items()
        if mentions_any(opening, "replaces") or mentions_any(opening, "replaced")
    }
    editions = {
        document: read_edition(chunk, begin.get(document, "") if document in read else "")
        for document, chunk in chunks.items()
    }
    preferred = list(preferences(question, editions)) if read else []
    if not preferred:
        return Superseded()
    passages = defaultdict[str, list[_Passage]](list)
    asked = content_word_set(question) - edition_question_words()
    for place, hit in hits.items():
        words = content_word_set(f"{' '.join(hit.chunk.section)}\n{hit.chunk.text}")
        passages[hit.chunk.document_id].append(_Passage(place, hit, words, asked & words))
    years = {int(year) for year in find_names(question).years}
    gone, lowered, wanted = set[int](), set[int](), dict[str, None]()
    for rival, document in preferred:
        for passage in passages[document]:
            # Who is elected for a year stands in the minutes of the year before.
            later = [year for year in years if (year,) > editions[document].date[:1]]
            if any(str(year) in passage.hit.chunk.text for year in later):
                continue
            for other in passages[rival]:
                # Where the order goes in a circle, one of them stays.
                if other.place in gone or not passage.spoken <= other.spoken:
                    continue
                if passage.is_similar(other):
                    gone.add(passage.place)
                elif other.hit.score >= COMPETES * passage.hit.score:
                    lowered.add(passage.place)
                else:
                    continue
                wanted[chunks[rival].title or chunks[rival].path] = None
    return Superseded(frozenset(gone), frozenset(lowered - gone), tuple(wanted))


def preferences(question: str, editions: Mapping[K, DocumentEdition]) -> Iterator[tuple[K, K]]:
    """Yield pairs of which the question wants the first edition rather than the second."""
    pairs = _edition_pairs(editions)
    newer = [pair for pair in pairs if editions[pair[0]].is_newer(editions[pair[1]])]
    if not newer or mentions_any(question, "several"):
        return
    asked = find_names(question)
    numbers = [version_parts(item.number) for item in asked.numbered]
    years = sorted(int(year) for year in asked.years)
    outdone = {older for _, older in newer}
    for edition, other in newer:
        mine, theirs = editions[edition], editions[other]
        if any(_begins_alike(theirs.version, number) for number in numbers):
            yield other, edition
        elif years:
            if not (mine.date and theirs.date):
                continue
            if mine.date[0] > years[-1] >= theirs.date[0]:
                yield other, edition
            elif mine.date[0] <= years[-1] and theirs.date[0] < years[0]:
                yield edition, other
        elif mentions_any(question, "first") or _is_ahead(mine, theirs):
            yield other, edition
        elif mentions_any(question, "previous"):
            yield (edition, other) if edition in outdone else (other, edition)
        else:
            yield edition, other


def _edition_pairs(editions: Mapping[K, DocumentEdition]) -> Iterable[tuple[K, K]]:
    """Return pairs of which one may be newer than the other: of one family, or with a statement."""
    families = defaultdict[str, list[K]](list)
    for key, edition in editions.items():
        for family in edition.families:
            families[family].append(key)
    telling = [key for key, edition in editions.items() if edition.replaces or edition.replaced]
    stated = ((item, other) for item in telling for other in editions if item != other)
    within = (pair for members in families.values() for pair in permutations(members, 2))
    return dict.fromkeys(chain(within, *((pair, pair[::-1]) for pair in stated)))


def _is_ahead(newer: DocumentEdition, older: DocumentEdition) -> bool:
    """Tell whether the newer of two editions does not count yet."""
    today = date.today().timetuple()[:3]
    return len(newer.date) == 3 and newer.date > today >= older.date


@cache
def edition_question_words() -> frozenset[str]:
    """Return what a question has only to say which edition is wanted."""
    return frozenset().union(*(content_word_set(" ".join(edition_words(n))) for n in WANTING))


def _begins_alike(one: Parts, other: Parts) -> bool:
    known = min(len(one), len(other))
    return known > 0 and one[:known] == other[:known]
