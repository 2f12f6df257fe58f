"""The answer as the client may see it, made from a model's pieces however they are cut.

Taken out: openings, `SOURCES_USED:` and `SUGGESTED_QUESTIONS:`, citations of sources that do not
exist, links that are not among the sources. Citations of every style become `[n]`. Code stays as it
is: it is there to be copied, and nothing makes a link of it.
"""

import re
from collections.abc import Sequence
from itertools import product
from typing import Literal

from ragstone.answer.links import (
    BareAddress,
    Target,
    addresses,
    harmless_tag,
    is_address,
    may_be_address,
)
from ragstone.answer.preamble import MAX_OPENING_CHARS, may_be_preamble, preamble_end
from ragstone.core.turn import Passage
from ragstone.language.code_blocks import ends_fence, is_code, span_end
from ragstone.language.markers import OPENING_BRACKETS, match_marker, may_be_marker

Label = Literal["sources_used", "suggested_questions"]

MAX_QUESTIONS = 3
"""As the query pipeline's document has it."""

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
ROOT = "sqrt"
"""A number in brackets right behind it is the degree of a root in TeX."""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/"
_LIST_STARTS = "-*•–(0123456789 \t"
_QUESTION_LEAD = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):])\s+")


def match_label(text: str) -> tuple[Label, int] | None:
    """Return the label that `text` begins with, and its length; None if there is none."""
    match = _LABEL.match(text)
    if match is None:
        return None
    return ("sources_used" if match[1][1] in "oO" else "suggested_questions"), match.end()


def may_be_label(tail: str) -> bool:
    """Tell whether `tail` is the beginning of a label."""
    tail = tail.upper()
    return tail[:1] in ("*", "S") and any(
        variant.startswith(tail) for variant in _VARIANTS if variant != tail
    )


class Labelled:
    """The text behind a label, taken out of the stream."""

    def __init__(self, label: Label) -> None:
        self.label = label
        self.text = ""

    def take(self, text: str, final: bool) -> tuple[str, int, bool]:
        """Return what of `text` can be sent (nothing), how much of it belongs to the label, and
        whether that is all."""
        if self.label == "sources_used":
            end, over = _numbers_end(text, final)
        else:
            end, over = _questions_end(self.text, text)
        self.text += text[:end]
        return "", end, over

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the sources."""
        return tuple(dict.fromkeys(int(item) for item in re.findall(r"\d{1,4}", self.text)))

    def questions(self) -> tuple[str, ...]:
        """Return the questions, without numbering."""
        said = re.split(r"[|\n｜]", self.text)
        plain = (_QUESTION_LEAD.sub("", item).strip(' \t*"“”') for item in said)
        kept = [item for item in plain if item and len(item) <= LONGEST_QUESTION]
        return tuple(dict.fromkeys(kept))[:MAX_QUESTIONS]


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


class Fence:
    """A block of code, from after the line that opens it to the end of the one that closes it."""

    def __init__(self, opening: str) -> None:
        self._opening = opening
        self._line = ""

    def take(self, text: str, final: bool) -> tuple[str, int, bool]:
        """As `Labelled.take`; everything can be sent."""
        end = 0
        while end < len(text):
            start, end = end, text.find("\n", end) + 1 or len(text)
            self._line += text[start : min(end, start + LONGEST_FENCE)]
            if text[end - 1] == "\n":
                if ends_fence(self._opening, self._line):
                    return text[: end - 1], end - 1, True
                self._line = ""
        return text, end, final


LONGEST_FENCE = 100
"""Characters of a line that are looked at to see whether it is a fence."""

_OPENS_FENCE = re.compile(r"(`{3,8}|~{3,8})([\w+#.-]{0,16}) ?\n")
_MAY_OPEN_FENCE = re.compile(r"`{1,2}\Z|~{1,2}\Z|(?:`{3,8}|~{3,8})[\w+#.-]{0,16} ?\Z")

MAX_INDENT = 3
"""Spaces before a fence; behind more, it is none."""

CODE = frozenset("`~")

LABELS = frozenset("*sS")
"""What a label begins with."""

HELD = 26
"""Characters that are held back at most; with the space that inline markers hold back they are 30,
as in the chat-core document."""

SPACES = 2
"""Space before something that is taken out goes with it, if it is not longer."""

_SPECIAL = re.compile(
    r"[\s*\[【［!<(S`~]|s(?=[ou]|\Z)"
    r"|(?i:h(?=ttps?:|t{0,2}\Z|ttps?\Z)|f(?=tp:|t?p?\Z)|w(?=ww\.|w{0,2}\Z))"
)
_AT_WORDS = frozenset("swW")
"""These begin something special only where they begin a word."""


_DOUBLED = re.compile(r"\s{0,3}([^\W\d_]{1,20})(?![\w])")
_MAY_DOUBLE = re.compile(r"\s{0,3}[^\W\d_]{0,20}")

Mode = Labelled | BareAddress | Target | Fence
Step = tuple[str, int] | None
"""What to send, and how many characters that takes; None if more has to be seen first."""


class AnswerStream:
    """One answer from `passages`, whose numbers are the ones that may be cited.

    `used`, `suggested` and `dropped` are taken out of the stream: the numbers behind
    `SOURCES_USED:`, the questions behind `SUGGESTED_QUESTIONS:`, citations of no source.
    """

    def __init__(self, passages: Sequence[Passage], begun: bool = False) -> None:
        """With `begun` the text is no answer, which may have an opening."""
        self.used: tuple[int, ...] = ()
        self.suggested: tuple[str, ...] = ()
        self.dropped: tuple[int, ...] = ()
        self._numbers = frozenset(passage.number for passage in passages)
        self._allowed = addresses(passages)
        self._held = ""
        self._mode: Mode | None = None
        self._begun = begun
        self._passages = passages
        self._before = ""
        self._word = ""
        """The last word that was sent, if nothing came after it."""
        self._gap: str | None = None
        """The word before a citation that was just taken out."""
        self._indent = 0
        """Spaces since the line began, if it has nothing else."""
        self._html = False
        """Whether an element of HTML was sent: what stands in one is not code, whatever it looks
        like."""

    @property
    def buffer_length(self) -> int:
        """Characters that are held back now."""
        return len(self._held)

    def feed(self, piece: str) -> str:
        """Return what of the answer can be sent now that `piece` has come."""
        return self._run(piece, final=False)

    def end(self) -> str:
        """Return the rest of the answer, at the end of the stream."""
        return self._run("", final=True)

    def _run(self, piece: str, final: bool) -> str:
        text, start, out = self._held + piece, 0, ""
        while start < len(text) or (final and self._mode):
            if self._mode:
                step: Step = self._in_mode(self._mode, text[start:], final)
            else:
                step = self._step(text, start, final)
            if step is None:
                break
            out += step[0]
            self._word = _last_word(self._word, step[0])
            if step[1]:
                taken = text[start : start + step[1]]
                start += step[1]
                self._before = taken[-1]
                line = taken if "\n" not in taken else taken[taken.rfind("\n") + 1 :]
                self._indent = len(line) + (self._indent if line is taken else 0)
                if line.strip(" "):
                    self._indent = MAX_INDENT + 1
        self._held = text[start:]
        return out

    def _step(self, text: str, start: int, final: bool) -> Step:
        """Decides by at most `HELD` characters, so that it decides the same however they come."""
        window = text[start : start + HELD]
        more = not final and len(window) < HELD
        if not self._begun:
            opening = text[start : start + MAX_OPENING_CHARS]
            return self._skip_preamble(opening, not final and len(opening) < MAX_OPENING_CHARS)
        if self._gap is not None:
            doubled = self._doubled_length(window, more)
            if doubled != 0:
                return None if doubled is None else ("", doubled)
        special = _SPECIAL.search(text, start)
        if special is None:
            return text[start:], len(text) - start
        if special.start() > start:
            return text[start : special.start()], special.start() - start
        if window[0] in CODE:
            return self._code(text, start, final)
        if window[0] in _AT_WORDS and self._before.isalnum():
            return window[0], 1
        spaces = len(window) - len(window.lstrip())
        if spaces > SPACES:
            return window[0], 1
        if spaces == len(window):
            return None if more else ("", spaces)
        return self._special(window[:spaces], window[spaces:], more)

    def _skip_preamble(self, window: str, more: bool) -> Step:
        end = preamble_end(window)
        if more and (end == len(window) or (not end and may_be_preamble(window))):
            return None
        self._begun = end in (0, len(window))
        return "", end % len(window)

    def _code(self, text: str, start: int, final: bool) -> Step:
        """Return the step at what may begin a block or a span of code."""
        if not self._html and self._indent <= MAX_INDENT:
            opened = _OPENS_FENCE.match(text, start)
            if opened:
                self._mode = Fence(opened[1]) if is_code(opened[2]) else None
                return opened[0], len(opened[0])
            if not final and _MAY_OPEN_FENCE.match(text, start):
                return None
        end = start if self._html or text[start] == "~" else span_end(text, start, final)
        if end is None:
            return None
        if end == start:  # No code: the whole run of backticks, none of which begins a shorter one.
            end += len(text) - start - len(text[start:].lstrip(text[start]))
        return text[start:end], end - start

    def _special(self, spaces: str, rest: str, more: bool) -> Step:
        """Return the step at `rest`, with which something to take out may begin, after `spaces`."""
        degree = self._word == ROOT and not spaces
        if rest[0] in OPENING_BRACKETS and (rest[0] != "(" or self._before != "]") and not degree:
            return self._bracket(spaces, rest, more)
        if rest[0] in LABELS:
            label = match_label(rest)
            if more and (may_be_label(rest) or (label and label[1] == len(rest))):
                return None
            if label:
                self._mode = Labelled(label[0])
                return "", len(spaces) + label[1]
        return (spaces, len(spaces)) if spaces else self._sign(rest, more)

    def _bracket(self, spaces: str, rest: str, more: bool) -> Step:
        """Return the step at a bracket: a citation, or one like others."""
        marker = match_marker(rest)
        if marker is None:
            waits = more and may_be_marker(rest)
            return None if waits else (spaces + rest[0], len(spaces) + 1)
        cited, end = marker
        self.dropped += tuple(n for n in cited if n not in {*self._numbers, *self.dropped})
        said = "".join(f"[{n}]" for n in cited if n in self._numbers)
        self._gap = None if said else self._word
        return (spaces + said if said else "", len(spaces) + end)

    def _doubled_length(self, window: str, more: bool) -> int | None:
        """Tell how much of `window` repeats the word before a citation that was taken out, 0 for
        nothing; None if more has to be seen first."""
        if more and _MAY_DOUBLE.fullmatch(window):
            return None
        word, self._gap = self._gap, None
        match = _DOUBLED.match(window)
        return match.end() if match and word and match[1].casefold() == word.casefold() else 0

    def _sign(self, rest: str, more: bool) -> Step:
        """Return the step at what may begin a link, an image or an element of HTML."""
        if rest[0] == "(" and self._before == "]":
            self._mode = Target(self._allowed)
            return "", 1
        if rest[0] == "!":
            if len(rest) == 1 and more:
                return None
            return ("" if rest[1:2] == "[" else "!"), 1
        if rest[0] == "<":
            harmless = harmless_tag(rest, more)
            self._html |= harmless is True and rest[1:2].isalpha()
            return None if harmless is None else ("<" if harmless else "‹", 1)
        if is_address(rest):
            self._mode = BareAddress(self._allowed)
            return "", 0
        if more and may_be_address(rest):
            return None
        return rest[0], 1

    def _in_mode(self, mode: Mode, text: str, final: bool) -> Step:
        """Return the step inside something that goes on over many pieces."""
        said, end, over = mode.take(text, final)
        if not (over or final or said or end):
            return None
        if over or final:
            if isinstance(mode, Labelled):
                self._keep(mode)
            self._mode = None
        return said, end

    def _keep(self, labelled: Labelled) -> None:
        if labelled.label == "sources_used":
            self.used += tuple(n for n in labelled.numbers() if n in self._numbers)
        else:
            self.suggested += tuple(
                plain(question, self._passages) for question in labelled.questions()
            )


def _last_word(before: str, said: str) -> str:
    """The word at the end of what was sent: `said` after `before`, which ended with a word."""
    if not said:
        return before
    match = re.search(r"[^\W\d_]{1,20}\Z", said)
    if match is None:
        return ""
    whole = match.start() == 0
    return (before + match[0])[-20:] if whole else match[0]


def plain(text: str, passages: Sequence[Passage] = ()) -> str:
    """Return a text that is no answer, with the same taken out: no link leaves but to a source."""
    stream = AnswerStream(passages, begun=True)
    return stream.feed(text) + stream.end()
