"""What a chat model appends to its answer for the program: sources it used, further questions.

`SOURCES_USED: 1, 3` and `SUGGESTED_QUESTIONS: a|b|c`, wherever they stand. They come in pieces;
what belongs to them is taken out, however the pieces are cut.
"""

import re
from itertools import product
from typing import Literal

Label = Literal["sources_used", "suggested_questions"]

MOST_QUESTIONS = 5
LONGEST_QUESTION = 200
"""Characters; a longer one is the model going on, not a question."""

_VARIANTS = {
    f"{before}{name}{after}{space}{colon}{last}"
    for name, before, after, space, colon, last in product(
        ("SOURCES_USED", "SUGGESTED_QUESTIONS"),
        ("", "*", "**"),
        ("", "*", "**"),
        ("", " "),
        (":", "："),
        ("", "*", "**"),
    )
}
_LABEL = re.compile(r"\*{0,2}(SOURCES_USED|SUGGESTED_QUESTIONS)\*{0,2} ?[:：]\*{0,2}", re.I)

_NUMBERS = re.compile(r"(?:[\d ,;.&#*\t()\[\]–-]|and\b|none\b|n/a\b|sources?\b)*", re.IGNORECASE)
LONGEST_WORD = len("sources")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/"
_LIST_STARTS = "-*•–(0123456789 \t"
_QUESTION_LEAD = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):])\s+")


def label_at(text: str) -> tuple[Label, int] | None:
    """The label that `text` begins with, and its length; None if there is none."""
    match = _LABEL.match(text)
    if match is None:
        return None
    return ("sources_used" if match[1][1] in "oO" else "suggested_questions"), match.end()


def may_be_label(tail: str) -> bool:
    """Whether `tail` is the beginning of a label."""
    tail = tail.upper()
    return tail[:1] in ("*", "S") and any(
        variant.startswith(tail) for variant in _VARIANTS if variant != tail
    )


class Labelled:
    """What stands behind a label, taken from the stream."""

    def __init__(self, label: Label) -> None:
        self.label = label
        self.text = ""

    def take(self, text: str, final: bool) -> tuple[str, int, bool]:
        """What of `text` can be sent (nothing), how much of it belongs to the label, and whether
        that is all."""
        if self.label == "sources_used":
            end, over = _numbers_end(text, final)
        else:
            end, over = _questions_end(self.text, text)
        self.text += text[:end]
        return "", end, over

    def numbers(self) -> tuple[int, ...]:
        """The numbers of the sources."""
        return tuple(dict.fromkeys(int(one) for one in re.findall(r"\d{1,4}", self.text)))

    def questions(self) -> tuple[str, ...]:
        """The questions, without numbering."""
        said = re.split(r"[|\n｜]", self.text)
        plain = (_QUESTION_LEAD.sub("", one).strip(' \t*"“”') for one in said)
        kept = [one for one in plain if one and len(one) <= LONGEST_QUESTION]
        return tuple(dict.fromkeys(kept))[:MOST_QUESTIONS]


def _numbers_end(text: str, final: bool) -> tuple[int, bool]:
    """A word at the end is looked at when it is whole."""
    word = len(text) - len(text.rstrip(_LETTERS))
    seen = text[: len(text) - word] if not final and word <= LONGEST_WORD else text
    match = _NUMBERS.match(seen)
    end = match.end() if match else 0
    return end, end < len(seen)


def _questions_end(before: str, text: str) -> tuple[int, bool]:
    """To the end of the line; where that is empty, to the end of the list below it."""
    end = 0
    while end < len(text):
        said = before + text[:end]
        if said.endswith("\n") and text[end] not in _LIST_STARTS:
            return end, True
        line = text.find("\n", end)
        if line < 0:
            return len(text), False
        if "\n" not in said and (said + text[end:line]).strip():
            return line, True
        end = line + 1
    return end, False
