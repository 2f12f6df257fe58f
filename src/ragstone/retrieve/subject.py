"""Respects what the question names: a product, a version, a company, a year, a model.

What a document is about follows from its title, its path and `Chunk.subject`. Of files that
the question names only the passages stay. The rules, each for those that the one before has left:

1. A number with its name (Jest 29, Tern 300), or a version alone (29.7): where documents number
   the same thing otherwise, their passages go, unless they say the asked number themselves.
2. A word that some documents are about, and that the passages of the others hardly ever say:
   those that do not say it are lowered. Where the question writes the word as a name, those of
   documents of the same form go (AMAZON_2017_10K, ADOBE_2018_10K), for they say the same of
   something else. Others stay: a question of several steps names only the first of the documents
   that it needs.
3. Of several editions of one document the wanted one (`editions`): passages of others go where it
   says nearly the same, and are lowered where it speaks of the same.

A word that passages of any document say, such as "configuration", names nothing.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath

from ragstone.core.chunk import chunk_id
from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Step
from ragstone.language.named import Named, Numbered, find_names
from ragstone.language.words import is_paired
from ragstone.ports import Adapters
from ragstone.retrieve.editions import documents_in_families, find_superseded

LOWERED = 0.7
"""What is left of the score of a lowered passage."""

COMPOUND = 5
"""Letters from which a word that begins a longer one is about the same."""

ACRONYM = 3
"""Letters from which a name in capitals is about the same as a longer word that it begins."""

COMPETES = 0.75
"""The share of the best score that a passage has at least where its document is asked for: a word
that only some far document has in its title names nothing."""

LEADS = 0.9
"""The same, where the passages of other documents go."""

SAME_FORM = 0.5
"""The share of common names from which two documents are of the same form."""

GENERAL = 0.1
"""Share of the other documents' passages from which a word that they say names no subject."""


async def respect_subject(turn: Turn, adapters: Adapters, editions: bool = True) -> Step:
    """Leave out or lower passages of documents about something else than the question names; with
    `editions` also those of other editions than the wanted one."""
    # Whole documents are read because each of them is asked for.
    every = turn.plan.strategy == "sequential"
    openings = await _openings(turn, adapters) if editions and not every else None
    found = weigh(turn.queries[0], turn.hits, openings=openings)
    if not found.names:
        return Step(turn, "skipped", "neither a document's subject is named nor an edition")
    hits = [
        replace(hit, score=hit.score * factor)
        for hit, factor in zip(turn.hits, found.factors, strict=True)
        if factor
    ]
    left_out = tuple(
        hit.chunk.chunk_id
        for hit, factor in zip(turn.hits, found.factors, strict=True)
        if not factor
    )
    hits.sort(key=lambda hit: (-hit.score, hit.chunk.chunk_id))
    lowered = sum(0 < factor < 1 for factor in found.factors)
    return Step(
        replace(turn, hits=tuple(hits), left_out=left_out),
        f"{len(hits)} of {len(turn.hits)} kept, {lowered} of them lowered",
        f"wanted: {', '.join(found.names)}",
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """The share (0..1) of its score that each passage keeps, and what is wanted: names in the
    question, and titles of editions."""

    factors: tuple[float, ...]
    names: tuple[str, ...]


async def _openings(turn: Turn, adapters: Adapters) -> dict[str, str]:
    """The beginnings of the documents that may have other editions among the hits, by their ids."""
    found = {h.chunk.document_id: h.chunk.text for h in turn.hits if h.chunk.chunk_index == 0}
    if turn.collection is not None:
        chunks = {hit.chunk.document_id: hit.chunk for hit in turn.hits}
        unread = [
            chunk_id(document, chunks[document].version, 0)
            for document in documents_in_families(chunks) - found.keys()
        ]
        fetched = await adapters.index.fetch(turn.collection, unread) if unread else {}
        found |= {chunk.document_id: chunk.text for chunk in fetched.values()}
    return found


def weigh(
    question: str,
    hits: Sequence[Hit],
    general: float = GENERAL,
    openings: Mapping[str, str] | None = None,
) -> Weighed:
    """Weigh how much of its score each passage keeps; `openings` are the beginnings of documents,
    by their ids, as far as they are known; without them editions are not compared."""
    asked = find_names(question)
    names = _files_named(question, hits)
    left = {
        place: _candidate(hit)
        for place, hit in enumerate(hits)
        if not names or PurePosixPath(hit.chunk.path).name in names
    }
    factors = [float(place in left) for place in range(len(hits))]
    for rule in (_by_number, _by_word):
        found = rule(asked, left, general)
        names += found.names
        for place in found.lowered:
            factors[place] *= LOWERED
        for place in found.gone:
            factors[place] = 0.0
            del left[place]
    if openings is None:
        return Weighed(tuple(factors), tuple(names))
    editions = find_superseded(question, {place: hits[place] for place in left}, openings)
    names += editions.wanted
    for place in editions.gone:
        factors[place] = 0.0
    for place in editions.lowered:
        factors[place] *= LOWERED
    return Weighed(tuple(factors), tuple(names))


def compile_file_name(file: str) -> re.Pattern[str]:
    """Compile what finds the name of a file in a text."""
    return re.compile(rf"(?<![\w.-]){re.escape(file)}(?![\w-])", re.IGNORECASE)


def _files_named(question: str, hits: Sequence[Hit]) -> list[str]:
    """Return the names of files, with their endings, that a question says. One that another
    document says too is what is asked about, not where the answer stands."""
    if "." not in question:
        return []
    files = {PurePosixPath(hit.chunk.path).name for hit in hits}
    patterns = {
        file: compile_file_name(file)
        for file in sorted(files)
        if "." in file and file.casefold() in question.casefold()
    }
    return [
        file
        for file, pattern in patterns.items()
        if pattern.search(question)
        and not any(
            pattern.search(hit.chunk.text)
            for hit in hits
            if PurePosixPath(hit.chunk.path).name != file
        )
    ]


@dataclass(frozen=True, slots=True)
class _About:
    """What a document is about. `numbered` is by part: what is nearest to the document first.
    `forms` are the names in that of its file and in its title, a year and a number as such."""

    words: frozenset[str]
    forms: tuple[frozenset[str], ...]
    numbered: tuple[frozenset[Numbered], ...]

    def numbers(self, asked: Numbered) -> list[list[Numbered]]:
        """By part, the numbers of what the asked one numbers. A number that stands alone counts
        where no part has one with the name."""
        own = self.find_numbers({asked.name})
        return own or (self.find_numbers({""}) if asked.name in self.words else [])

    def find_numbers(self, names: Set[str]) -> list[list[Numbered]]:
        """Return by part the numbers of these names."""
        parts = ([item for item in part if item.name in names] for part in self.numbered)
        return [part for part in parts if part]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage: what its document is about, and what it says itself."""

    about: _About
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a rule has found: names, and the places of the passages that lack them."""

    names: Sequence[str] = ()
    gone: Set[int] = frozenset()
    lowered: Set[int] = frozenset()


_Left = Mapping[int, _Candidate]
"""The passages that are still there, by place."""


def _candidate(hit: Hit) -> _Candidate:
    chunk = hit.chunk
    said = f"{' '.join(chunk.section)}\n{chunk.text}"
    return _Candidate(_about(chunk.title, chunk.path, chunk.subject), said, hit.score)


@lru_cache(4096)
def _about(title: str, path: str, subject: str) -> _About:
    """From the name of its file, its title, what else was read as its subject, and its folders."""
    *folders, file = path.strip("/").split("/")
    own = (PurePosixPath(file).stem, title, subject, *reversed(folders))
    parts = [find_names(part) for part in own]
    return _About(
        frozenset(word for item in parts for word in item.words),
        tuple(_form(part) for part in parts[:2]),
        tuple(item.numbered for item in parts),
    )


def _form(part: Named) -> frozenset[str]:
    return frozenset((*part.words, *["#year"][: len(part.years)], *["#"][: len(part.numbered)]))


def _by_number(asked: Named, left: _Left, general: float) -> _Judged:
    names, held, doubtful, other = [], set[int](), set[int](), set[int]()
    for number in sorted(asked.numbered, key=lambda item: (item.name, item.number)):
        same, doubted, against = _partition_by_number(number, left)
        # Where no document has it, only what is written as a name can be missing.
        missing = against and (same or doubted or number.name in asked.written)
        if missing or (same and doubted):
            names.append(f"{number.name} {number.number}".strip())
            held |= same
            doubtful |= doubted
            other |= against
    return _Judged(names, other - held - doubtful, doubtful - held)


def _partition_by_number(asked: Numbered, left: _Left) -> tuple[set[int], set[int], set[int]]:
    """Return the passages whose document has the asked number; those that have another one too or
    that only say it; and those whose document has another one instead."""
    if not asked.name or not any(item.about.numbers(asked) for item in left.values()):
        asked = replace(asked, name="")
        # A version alone is that of whatever has it.
        kinds = {
            item.name
            for candidate in left.values()
            for part in candidate.about.numbered
            for item in part
            if asked.same(item)
        }
        alike = {place: item.about.find_numbers(kinds) for place, item in left.items()}
    else:
        alike = {place: item.about.numbers(asked) for place, item in left.items()}
    said = _number_pattern(asked)
    same, doubted, against = set(), set(), set()
    for place, parts in alike.items():
        agree = [any(asked.same(item) for item in part) for part in parts]
        if parts and all(agree):
            same.add(place)
        elif (parts and agree[0]) or said.search(left[place].text.casefold()):
            doubted.add(place)
        elif parts:
            against.add(place)
    return same, doubted, against


@lru_cache(256)
def _number_pattern(asked: Numbered) -> re.Pattern[str]:
    """Return where a text in small letters says this number of this name."""
    name = rf"{re.escape(asked.name)}[^\W\d_]*[\W_]{{0,3}}(?:[^\W\d_]{{1,8}}[\W_]{{0,2}})?"
    return re.compile(rf"{name if asked.name else ''}(?<![\d.]){re.escape(asked.number)}(?!\d)")


def _by_word(asked: Named, left: _Left, general: float) -> _Judged:
    names, saying, certain = [], set[int](), set[tuple[int, frozenset[str]]]()
    # By their first letter: words that may mean the same have the same.
    known = defaultdict[str, set[str]](set)
    for candidate in left.values():
        for item in candidate.about.words:
            known[item[:1]].add(item)
    best = max((item.score for item in left.values()), default=0.0)
    for word, spelt in _words(asked):
        same = {item for item in known[word[:1]] if _alike(word, item, word in asked.written)}
        if word != spelt:
            same &= {word}
        inside = {place for place, item in left.items() if same & item.about.words}
        others = left.keys() - inside
        score = max((left[item].score for item in inside), default=0.0)
        if not others or score < COMPETES * best:
            continue
        begins = _prefix_pattern(spelt)
        says = {place for place, item in left.items() if begins.search(item.text.casefold())}
        small = {place for place in says if begins.search(left[place].text)}
        if len(says & others) > general * len(others) or _is_common(spelt, says, small):
            continue
        names.append(word)
        saying |= inside | says
        if word in asked.written and score >= LEADS * best:
            certain |= {
                (number, form)
                for place in inside
                for number, form in enumerate(left[place].about.forms)
                if form & same
            }
    lacking = left.keys() - saying if names else frozenset[int]()
    gone = {place for place in lacking if _has_form(left[place].about.forms, certain)}
    return _Judged(names, gone, lacking - gone)


def _has_form(forms: Sequence[frozenset[str]], known: Set[tuple[int, frozenset[str]]]) -> bool:
    """Tell whether a file or a title is of the same form as one of the known that say the name."""
    pairs = ((forms[number], form) for number, form in known)
    return any(len(own & item) >= SAME_FORM * len(own | item) > 0 for own, item in pairs)


def _is_common(word: str, says: Set[int], small: Set[int]) -> bool:
    """Tell whether passages write a word of a script with capitals mostly in small letters."""
    return word != word.upper() and 2 * len(small) > len(says)


@lru_cache(1024)
def _prefix_pattern(word: str) -> re.Pattern[str]:
    """Where a word begins so; anywhere in scripts that write no spaces. A stem's y may be ies."""
    begin = word[:-1] if len(word) > ACRONYM and word.endswith("y") else word
    return re.compile(("" if is_paired(word) else r"(?<![^\W_])") + re.escape(begin))


def _words(asked: Named) -> Iterator[tuple[str, str]]:
    """Yield the question's words, alone and two as one, and how a text has them."""
    for word in dict.fromkeys(asked.words):
        yield word, word
    for word, other in pairwise(asked.words):
        yield word + other, f"{word} {other}"


def _alike(word: str, other: str, written: bool) -> bool:
    """Tell whether two words may mean the same subject."""
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    least = ACRONYM if written and short == word else COMPOUND
    return len(short) >= least and long.startswith(short)
