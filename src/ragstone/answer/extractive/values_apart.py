"""Units that give another value of the same thing: of other editions, or of sources that disagree.

Of the sections of one document that are editions, as in a changelog, only the wanted one is said.
Where two documents contradict each other, and none of them is the edition that is wanted, both are
said, each with its title and date, and that they disagree. Where the question asks how something
has changed, each edition's is.

An answer to a comparison: what the passages say of the one thing, and of the other.

The best unit is often about one of the two. Then the best one about the other is said beside it,
and who reads both can compare.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ragstone.answer.extractive.lists import candidate_text
from ragstone.answer.extractive.unit_ranking import RankedUnit
from ragstone.answer.extractive.units import UNANSWERING
from ragstone.core.document import STRUCK
from ragstone.core.turn import Passage
from ragstone.language.edition_names import mentions_any
from ragstone.language.language import detect
from ragstone.language.outline import outline
from ragstone.language.words import content_word_set
from ragstone.ports import Checker
from ragstone.retrieve.diversity import adds_nothing
from ragstone.retrieve.documents_saying import says_all
from ragstone.retrieve.editions import preferences, read_document_edition, read_section
from ragstone.understand.comparison import comparison
from ragstone.verify.sufficiency import PassageSentence, find_disagreement, same_matter

MAX_COMPARED = 10
"""The best units of which sections are compared."""

MIN_LIKELIHOOD = 0.01
"""How likely a unit answers, by the best one's likelihood, to be said beside it."""

_DISAGREE = {
    "en": "The sources disagree:",
    "de": "Die Quellen widersprechen sich:",
    "fr": "Les sources se contredisent :",
    "es": "Las fuentes no coinciden:",
    "it": "Le fonti non concordano:",
    "pt": "As fontes não coincidem:",
    "nl": "De bronnen spreken elkaar tegen:",
    "zh": "资料说法不一：",
    "ja": "資料によって内容が異なります：",
    "ko": "자료마다 내용이 다릅니다:",
    "ru": "Источники противоречат друг другу:",
}


@dataclass(frozen=True, slots=True)
class ValuesApart:
    """Units that are said one below the other, what each is called, and what is said before: None
    leaves yes or no to who reads them."""

    units: Sequence[RankedUnit]
    labels: Sequence[str]
    opening: str | None = None
    compares: bool = False
    """Whether they are the two things that the question compares."""


def without_other_editions(question: str, best: Sequence[RankedUnit]) -> list[RankedUnit]:
    """Return the units without those that say otherwise than the same section of the edition that
    the question wants of their document."""
    compared = best[:MAX_COMPARED]
    sections = {
        place: edition
        for place, unit in enumerate(compared)
        if (edition := read_section(unit.passage.hit.chunk.document_id, _headings(unit))).families
    }
    superseded = {
        id(compared[other])
        for preferred, other in preferences(question, sections)
        if same_matter(candidate_text(compared[preferred]), candidate_text(compared[other]))
    }
    # Who asks for what was is told by the line that has it, and what replaces it too.
    said = [content_word_set(candidate_text(unit)) for unit in compared]
    struck = [u.passage.hit.chunk.kind == STRUCK for u in compared]
    lines = [words for words, is_struck in zip(said, struck, strict=True) if is_struck]
    superseded |= {
        id(unit)
        for unit, words, is_struck in zip(compared, said, struck, strict=True)
        if not is_struck and any(words <= line for line in lines)
    }
    return [unit for unit in best if id(unit) not in superseded]


async def find_values_apart(
    question: str, best: Sequence[RankedUnit], checker: Checker | None
) -> ValuesApart | None:
    """Find what other documents say of the same thing as the best unit, and otherwise; None where
    nothing does, or where it is of something else."""
    first = best[0]
    least = first.score + math.log(MIN_LIKELIHOOD)
    others = {first.passage.hit.chunk.document_id: first}
    for unit in best[1:]:
        if unit.score >= least and _says_otherwise(first, unit):
            others.setdefault(unit.passage.hit.chunk.document_id, unit)
    if len(others) == 1:
        return None
    if mentions_any(question, "several"):
        units = sorted(
            others.values(), key=lambda unit: read_document_edition(unit.passage.hit.chunk).date
        )
        return ValuesApart(units, [name_source(unit.passage) for unit in units], "")
    if checker is None:
        return None
    units = list(others.values())
    said = [PassageSentence(candidate_text(unit), unit.passage) for unit in units]
    place = await find_disagreement([(said[0], other) for other in said[1:]], checker)
    if place is None:
        return None
    both = (first, units[place + 1])
    opening = _DISAGREE.get(detect(question), _DISAGREE["en"])
    return ValuesApart(both, [name_source(unit.passage) for unit in both], opening)


def _says_otherwise(first: RankedUnit, other: RankedUnit) -> bool:
    mine, theirs = candidate_text(first), candidate_text(other)
    alike = other.unit.form not in UNANSWERING and same_matter(mine, theirs)
    return alike and not adds_nothing(mine, theirs)


def name_source(passage: Passage) -> str:
    """Return the title of a passage's document, and its date as far as it is known."""
    chunk = passage.hit.chunk
    day = read_document_edition(chunk).day
    title = chunk.title or PurePosixPath(chunk.path).name
    return f"{title} ({day})" if day else title


def _headings(unit: RankedUnit) -> list[str]:
    """Return the headings that a unit stands below, the nearest first."""
    text, below = unit.passage.text, 100
    found = []
    for block in reversed(unit.passage.blocks or outline(text)):
        if block.kind == "heading" and block.end <= unit.unit.start and block.level < below:
            found.append(text[block.start : block.end].strip("# "))
            below = block.level
    return [*found, *reversed(unit.passage.hit.chunk.section)]


def both_sides(question: str, best: Sequence[RankedUnit]) -> ValuesApart | None:
    """Return the best unit of each of the two things that are compared, with its document where it
    does not name the thing; None where nothing is compared, where the best unit speaks of both, or
    where nothing likely is about one of them."""
    compared = comparison(question)
    if compared is None or not best:
        return None
    first, second = content_word_set(compared.first), content_word_set(compared.second)
    mine, theirs = first - second, second - first
    if not (mine and theirs) or speaks_of_both(best[0], compared.first, compared.second):
        return None
    least = best[0].score + math.log(MIN_LIKELIHOOD)
    likely = [item for item in best if item.score >= least and item.unit.form not in UNANSWERING]
    # "Valid from 2021" names the side; what is compared may stand in the sentence behind it.
    common = content_word_set(question) - mine - theirs
    likely.sort(key=lambda unit: len(common & content_word_set(candidate_text(unit))), reverse=True)
    one = next((unit for unit in likely if _is_about(unit, mine, theirs)), None)
    other = next((unit for unit in likely if _is_about(unit, theirs, mine)), None)
    if one is None or other is None or one is other:
        return None
    labels = [
        "" if says_all(candidate_text(unit), own) else name_source(unit.passage)
        for unit, own in ((one, mine), (other, theirs))
    ]
    return ValuesApart((one, other), labels, compares=True)


def speaks_of_both(unit: RankedUnit, first: str, second: str) -> bool:
    """Tell whether a unit speaks of both things, by the words that only one of them has."""
    text = _unit_text(unit)
    words, others = content_word_set(first), content_word_set(second)
    return says_all(text, words - others) and says_all(text, others - words)


def _is_about(unit: RankedUnit, own: frozenset[str], others: frozenset[str]) -> bool:
    """Tell whether a unit names one of the things, or its passage this one alone."""
    if says_all(_unit_text(unit), own):
        return True
    whole = f"{_unit_titles(unit)}\n{unit.passage.text}"
    return says_all(whole, own) and not any(says_all(whole, frozenset((item,))) for item in others)


def _unit_text(unit: RankedUnit) -> str:
    return f"{_unit_titles(unit)}\n{unit.unit.context}\n{candidate_text(unit)}"


def _unit_titles(unit: RankedUnit) -> str:
    """Return what the document and the section are called."""
    chunk = unit.passage.hit.chunk
    return f"{chunk.subject}\n{PurePosixPath(chunk.path).stem}\n{chunk.heading}"
