"""The answer as the client may see it, made from a model's pieces however they are cut.

Taken out: openings, `SOURCES_USED:` and `SUGGESTED_QUESTIONS:`, citations of sources that do not
exist, links that are not among the sources. Citations of every style become `[n]`.
"""

import re
from collections.abc import Sequence

from ragstone.answer.labels import Labelled, label_at, may_be_label
from ragstone.answer.links import (
    BareAddress,
    Target,
    addresses,
    harmless_tag,
    is_address,
    may_be_address,
)
from ragstone.answer.preambles import LONGEST, may_be_preamble, preamble_end
from ragstone.core.turn import Passage
from ragstone.language.markers import OPENING, marker_at, may_be_marker

LABELS = frozenset("*sS")
"""What a label begins with."""

HELD = 26
"""Characters that are held back at most; with the space that inline markers hold back they are 30,
as in the chat-core document."""

SPACES = 2
"""Space before something that is taken out goes with it, if it is not longer."""

_SPECIAL = re.compile(
    r"[\s*\[【［!<(S]|s(?=[ou]|\Z)"
    r"|(?i:h(?=ttps?:|t{0,2}\Z|ttps?\Z)|f(?=tp:|t?p?\Z)|w(?=ww\.|w{0,2}\Z))"
)
_AT_WORDS = frozenset("swW")
"""These begin something special only where they begin a word."""


Mode = Labelled | BareAddress | Target
Step = tuple[str, int] | None
"""What to send, and how many characters that takes; None if more has to be seen first."""


class AnswerStream:
    """One answer from `passages`, whose numbers are the ones that may be cited.

    `used`, `suggested` and `dropped` are what has been taken out: the numbers behind
    `SOURCES_USED:`, the questions behind `SUGGESTED_QUESTIONS:`, citations of no source.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.used: tuple[int, ...] = ()
        self.suggested: tuple[str, ...] = ()
        self.dropped: tuple[int, ...] = ()
        self._numbers = frozenset(passage.number for passage in passages)
        self._allowed = addresses(passages)
        self._held = ""
        self._mode: Mode | None = None
        self._begun = False
        self._before = ""

    @property
    def held(self) -> int:
        """Characters that are held back now."""
        return len(self._held)

    def feed(self, piece: str) -> str:
        """What of the answer can be sent now that `piece` has come."""
        return self._run(piece, final=False)

    def end(self) -> str:
        """What is left when nothing more comes."""
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
            if step[1]:
                start += step[1]
                self._before = text[start - 1]
        self._held = text[start:]
        return out

    def _step(self, text: str, start: int, final: bool) -> Step:
        """Decides by at most `HELD` characters, so that it decides the same however they come."""
        window = text[start : start + HELD]
        more = not final and len(window) < HELD
        if not self._begun:
            return self._opening(window, more)
        special = _SPECIAL.search(text, start)
        if special is None:
            return text[start:], len(text) - start
        if special.start() > start:
            return text[start : special.start()], special.start() - start
        if window[0] in _AT_WORDS and self._before.isalnum():
            return window[0], 1
        spaces = len(window) - len(window.lstrip())
        if spaces > SPACES:
            return window[0], 1
        if spaces == len(window):
            return None if more else ("", spaces)
        return self._special(window[:spaces], window[spaces:], more)

    def _opening(self, window: str, more: bool) -> Step:
        more = more and len(window) < LONGEST
        end = preamble_end(window)
        if more and may_be_preamble(window) and (not end or end == len(window)):
            return None
        self._begun = end in (0, len(window))
        return "", end % len(window)

    def _special(self, spaces: str, rest: str, more: bool) -> Step:
        """The step at `rest`, with which something to take out may begin, after `spaces`."""
        if rest[0] in OPENING:
            return self._bracket(spaces, rest, more)
        if rest[0] in LABELS:
            label = label_at(rest)
            if more and (may_be_label(rest) or (label and label[1] == len(rest))):
                return None
            if label:
                self._mode = Labelled(label[0])
                return "", len(spaces) + label[1]
        return (spaces, len(spaces)) if spaces else self._sign(rest, more)

    def _bracket(self, spaces: str, rest: str, more: bool) -> Step:
        """The step at a bracket: a citation, or one like others."""
        marker = marker_at(rest)
        if marker is None:
            waits = more and may_be_marker(rest)
            return None if waits else (spaces + rest[0], len(spaces) + 1)
        cited, end = marker
        self.dropped += tuple(n for n in cited if n not in {*self._numbers, *self.dropped})
        said = "".join(f"[{n}]" for n in cited if n in self._numbers)
        return (spaces + said if said else "", len(spaces) + end)

    def _sign(self, rest: str, more: bool) -> Step:
        """The step at what may begin a link, an image or an element of HTML."""
        if rest[0] == "(" and self._before == "]":
            self._mode = Target(self._allowed)
            return "", 1
        if rest[0] == "!":
            if len(rest) == 1 and more:
                return None
            return ("" if rest[1:2] == "[" else "!"), 1
        if rest[0] == "<":
            harmless = harmless_tag(rest, more)
            return None if harmless is None else ("<" if harmless else "‹", 1)
        if is_address(rest):
            self._mode = BareAddress(self._allowed)
            return "", 0
        if more and may_be_address(rest):
            return None
        return rest[0], 1

    def _in_mode(self, mode: Mode, text: str, final: bool) -> Step:
        """The step inside something that goes on over many pieces."""
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
            self.suggested += labelled.questions()
