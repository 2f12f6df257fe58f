"""What introduces a block: the sentence before a list, and the items above.

"Damage to rented skis" below "The following are not covered:" says the opposite of what it says by
itself, so a lead stays with its block from here to the answer (`core.document.BlockSpan.lead`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ragstone.core.document import LEAD_ENDS
from ragstone.ingest.document import Block
from ragstone.language.sentences import sentences

MAX_LEAD_CHARS = 240
"""Of one line of a lead; a longer sentence is not an introduction."""

PROSE = frozenset({"paragraph", "quote", "admonition"})
"""Kinds of blocks that introduce others."""

LED = PROSE | {"table"}
"""Kinds of blocks that a line with a colon introduces, beside items."""

_NUMBER = re.compile(r"\d+")


def attach_leads(blocks: Iterable[Block]) -> Iterator[Block]:
    """Give each item, and each block behind a line with a colon, the lines that introduce it.

    A list is introduced by the last sentence before it. Text without a colon between two items may
    belong to the first or introduce the second: a number tells which, and bullets after such a text
    have no lead rather than a wrong one.
    """
    intro, between = "", ""
    in_list = False
    above: list[tuple[int, str]] = []
    for block in blocks:
        text = block.text.strip()
        if block.kind == "item":
            if between:
                number = _NUMBER.search(block.label)
                if number is None or int(number[0]) == 1:
                    intro, above = between if number else "", []
                between = ""
            above = [(level, line) for level, line in above if level < block.level]
            lines = [intro, *(line for _, line in above)]
            yield replace(block, lead="\n".join(line for line in lines if line))
            above.append((block.level, _introduction(text.removeprefix(block.label).strip())))
            in_list = True
            continue
        led = block.kind in LED and not in_list and intro.endswith(LEAD_ENDS)
        yield replace(block, lead=intro) if led else block
        if block.kind == "heading":
            intro, between, in_list, above = "", "", False, []
        elif block.kind in PROSE and text:
            introduction = _introduction(text)
            if in_list and not introduction.endswith(LEAD_ENDS):
                between = introduction
            else:
                intro, between, in_list, above = introduction, "", False, []


def _introduction(text: str) -> str:
    """The last sentence, in one line; none where it is too long to introduce anything."""
    spans = sentences(text)
    last = " ".join(text[spans[-1].start : spans[-1].end].split()) if spans else ""
    return last if len(last) <= MAX_LEAD_CHARS else ""
