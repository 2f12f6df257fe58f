"""Gives lists whole: those that a sentence leads in, and what of a list the next chunk has."""

from collections.abc import Sequence
from dataclasses import replace

from ragstone.answer.extractive.unit_ranking import (
    RankedUnit,
    asks_for_several,
    passage_units,
    units_following,
)
from ragstone.answer.extractive.units import LIST_CHARS, LIST_ITEMS, AnswerUnit, Excerpt
from ragstone.core.document import announces
from ragstone.core.turn import Passage
from ragstone.language.outline import outline

MIN_ITEMS = 2
"""Items that make a list."""

BETWEEN = ("paragraph", "quote", "admonition", "code")
"""Kinds of blocks that may stand between the items of one list."""


def with_lists(
    question: str,
    chosen: Sequence[RankedUnit],
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
) -> list[RankedUnit]:
    """Return what was chosen, or the sentence of it that leads in a list with the whole of it."""
    several = asks_for_several(question)
    chosen = replace_with_list(chosen, passages, found, several)
    listed = next((unit for unit in chosen if unit.unit.form == "list"), chosen[0])
    return [*chosen, *continue_list(listed, passages, found)]


def replace_with_list(
    chosen: Sequence[RankedUnit],
    passages: Sequence[Passage],
    found: Sequence[Sequence[AnswerUnit]],
    several: bool,
) -> list[RankedUnit]:
    """Return the best sentence with the list that its paragraph leads in, instead of what was
    chosen; what was chosen where there is none. Where the question asks for `several` things, the
    next best sentences are looked at too, and a paragraph leads in a list without a colon."""
    if chosen[0].unit.form == "list":
        return list(chosen)
    for sentence in chosen if several else chosen[:1]:
        own = passage_units(sentence, passages, found)
        if listed := _find_list(sentence, own, several):
            return [sentence, replace(sentence, unit=listed)]
    return list(chosen)


def _find_list(sentence: RankedUnit, own: Sequence[RankedUnit], several: bool) -> AnswerUnit | None:
    """Return the list that a sentence, or a later one of its paragraph, leads in."""
    if sentence.unit.form != "sentence" or sentence.unit.said[0].kind == "item":
        return None
    block, later = sentence.unit.said[0].block, sentence.place + 1
    while later < len(own) and own[later].unit.said[0].block is block:
        if own[later].unit.form == "list":
            return own[later].unit
        later += 1
    items = _items(own[later:], several)
    if not items or not (several or announces(candidate_text(sentence))):
        return None
    torn = not sentence.passage.text[items[-1].end :].strip()
    if len(items) < MIN_ITEMS and not torn:
        return None
    return AnswerUnit(items[0].start, items[0].end, items, "list")


def _items(own: Sequence[RankedUnit], several: bool = False) -> tuple[Excerpt, ...]:
    """Return the items with which these units of a passage begin, as many as are said of a list,
    and of definitions their first sentences. Where `several` things are asked for, what stands
    between items of a section is passed over."""
    if not own:
        return ()
    passage = own[0].passage
    blocks = passage.blocks or outline(passage.text)
    found: list[Excerpt] = []
    for unit in (item.unit for item in own):
        block = next((item for item in blocks if item.start <= unit.start < item.end), None)
        if block is None or unit.end - own[0].unit.start > LIST_CHARS:
            break
        # A paragraph with a label defines a term.
        if not (block.kind == "item" or (block.kind == "paragraph" and block.label != "")):
            if several and found and block.kind in BETWEEN:
                continue
            break
        if found and found[-1].block is block:
            if block.kind == "item":
                found[-1] = replace(found[-1], end=unit.end)
            continue
        found.append(Excerpt(unit.start, unit.end, block))
        if len(found) > LIST_ITEMS:
            return tuple(found[:-1])
    return tuple(found)


def continue_list(
    first: RankedUnit, passages: Sequence[Passage], found: Sequence[Sequence[AnswerUnit]]
) -> list[RankedUnit]:
    """Return the rest of a list in the passage that follows in its document."""
    last = first.unit.said[-1]
    leads = first.unit.form == "sentence" and announces(first.passage.text[: last.end])
    if (not leads and first.unit.form != "list") or first.passage.text[last.end :].strip():
        return []
    following = units_following(first, passages, found)
    if rest := _items(following):
        unit = AnswerUnit(rest[0].start, rest[0].end, rest, "list")
        return [replace(following[0], unit=unit)]
    return []


def candidate_text(candidate: RankedUnit) -> str:
    return candidate.passage.text[candidate.unit.start : candidate.unit.end]
