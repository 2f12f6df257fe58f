"""The questions of a list of questions and answers, each with its whole answer."""

import re
from dataclasses import dataclass

from ragstone.answer.extractive.units import units
from ragstone.language.faq_rows import FAQ_ROW
from ragstone.language.sentences import Span

_ASKS = re.compile(
    r"^[\s#*_>•-]*(?:\d{1,3}[.)]\s*)?(?:(?:q|question|frage|pregunta|问题?|問題?|質問|질문|문|问|問)"
    r"\s?\d{0,3}\s?[:：.)]\s*)?",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?。！？…:：;)\]|][\"'”’»」』*_]*$")
LONGEST = 2_000
"""Characters of an answer; a longer text is read like any other passage."""


@dataclass(frozen=True, slots=True)
class FaqEntry:
    """A question as it is compared, and where its answer stands."""

    question: str
    answer: Span


def pairs(text: str) -> list[FaqEntry]:
    """The pairs in a passage, without those whose answer seems cut off or is too long."""
    found = units(text)
    starts = [unit.start for unit in found if unit.form in ("answer", "heading")]
    made = []
    for unit in found:
        row = FAQ_ROW.fullmatch(text, unit.start, unit.end)
        if row and len(row["answer"]) <= LONGEST:
            made.append(FaqEntry(row["question"], Span(*row.span("answer"))))
        if unit.form != "answer":
            continue
        start = unit.said[0].start
        end = next((item for item in starts if item > start), len(text))
        end = start + len(text[start:end].rstrip())
        question = _ASKS.sub("", text[unit.start : unit.end], count=1).rstrip("*_ ")
        whole = end - start <= LONGEST and (end < len(text.rstrip()) or _ends(text[start:end]))
        if whole and question:
            made.append(FaqEntry(question, Span(start, end)))
    return made


def _ends(answer: str) -> bool:
    """Whether the answer ends as a text does: the passage may end in the midst of it."""
    return _ENDS.search(answer) is not None
