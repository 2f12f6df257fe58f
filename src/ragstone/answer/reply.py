"""One reply of an answerer on its way to the client."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from ragstone.answer.stream import AnswerStream
from ragstone.answer.thoughts import ThoughtStream
from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.events import Note, Token
from ragstone.core.turn import Passage, Turn
from ragstone.engine.stage import Emit
from ragstone.language.sentences import sentences
from ragstone.language.words import content_word_set
from ragstone.ports import Said

HELD = 4
"""Characters of space that are held back at most, to put a marker before them."""

LOOKED_AT = 300
"""Characters before a place that say whether a sentence ends there: a model that never ends one
must not make every further word cost more."""

MIN_WORDS = 3
"""Content words of a sentence that can be told to come from somewhere."""

MIN_SUPPORT = 0.6
"""Share of a sentence's content words, by rarity, that its source must hold."""

_TOKEN = re.compile(r"\s+|[^\s。！？]*[。！？]++[”’」』）)]*+|[^\s。！？]+")
_MARKER = re.compile(r"\[\d{1,3}\]")
_ENDS = re.compile(r"(?:[.!?…]+['\"”’)»*_]*|[。！？]+[”’」』）)]*)$")
_SPACELESS = re.compile(r"[。！？][”’」』）)]*$")
_LAST = frozenset(".!?…'\"”’)»*_。！？」』）]")
"""What a sentence or its marker ends with."""

_FENCE = "```"
_NO_PROSE = re.compile(r"\s*(?:[|#>]|```|~~~)")


class Origins:
    """Says which of the passages a sentence comes from."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._held = {p.number: content_word_set(p.text) for p in passages}
        counts = Counter(word for words in self._held.values() for word in words)
        self._weights = {word: math.log(1 + len(passages) / n) for word, n in counts.items()}
        self._unseen = math.log(1 + len(passages))

    def source(self, sentence: str) -> int | None:
        """The number of the passage that holds most of the sentence, None if none holds enough."""
        words = content_word_set(sentence)
        if len(words) < MIN_WORDS or not self._held:
            return None
        shares = {number: self._weight(words & held) for number, held in self._held.items()}
        best = max(shares, key=lambda number: (shares[number], -number))
        return best if shares[best] >= MIN_SUPPORT * self._weight(words) else None

    def _weight(self, words: frozenset[str]) -> float:
        return sum(self._weights.get(word, self._unseen) for word in words)


class InlineMarkers:
    """Passes the answer on, with a marker after each sentence that has none and is supported.

    Markers have to come whole, as they do from `AnswerStream`. The refusal gets none.
    """

    def __init__(self, passages: Sequence[Passage], refusal: str = "") -> None:
        self._refusal = refusal.strip().casefold()
        self._passages = passages
        self._origins: Origins | None = None
        self._sentence = ""
        self._space = ""
        self._code = False

    @property
    def buffer_length(self) -> int:
        """Characters that are held back now."""
        return len(self._space)

    def feed(self, text: str) -> str:
        """Return the text that can be sent after `text` has arrived."""
        return "".join(self._token(token) for token in _TOKEN.findall(text))

    def end(self) -> str:
        """Return the rest of the text, at its end."""
        return self._marker() + self._flush_space()

    def _token(self, token: str) -> str:
        if token.isspace():
            self._space += token
            return self._flush_space() if len(self._space) > HELD else ""
        lead = ""
        if self._sentence and not _MARKER.match(token) and self._is_complete(token[0]):
            lead = self._marker()
            self._code ^= self._sentence.count(_FENCE) % 2 == 1
            self._sentence = ""
        lead += self._flush_space()
        self._sentence += token
        return lead + token

    def _flush_space(self) -> str:
        space, self._space = self._space, ""
        self._sentence += space
        return space

    def _is_complete(self, following: str) -> bool:
        """Tell whether what has been said is a whole sentence, or a line, if something comes next
        that begins so: the rest of its first word may not be there yet."""
        last = self._sentence[-LOOKED_AT:]
        said = last.rstrip()
        if "\n" in self._space or "\n" in last[len(said) :]:
            return True
        if said[-1:] not in _LAST:
            return False
        if _SPACELESS.search(said):
            return True
        spaced = self._space or last != said
        bare = _MARKER.sub("", said).rstrip()
        return bool(spaced and _ENDS.search(bare) and len(sentences(f"{bare} {following}x")) > 1)

    def _marker(self) -> str:
        """Return the marker that the sentence lacks."""
        sentence = self._sentence
        refuses = sentence.strip().casefold() == self._refusal
        asks = sentence.rstrip().endswith(("?", "？", "؟"))
        if refuses or asks or self._code or _MARKER.search(sentence) or _NO_PROSE.match(sentence):
            return ""
        # Most answers are marked, and the first token does not wait for the passages to be read.
        self._origins = self._origins or Origins(self._passages)
        number = self._origins.source(sentence)
        if number is None:
            return ""
        space = "" if _SPACELESS.search(sentence) or sentence[-1:].isspace() else " "
        return f"{space}[{number}]"


STAGE = "generate"
"""The stage that a reply's notes are from."""


class Reply:
    """What the model says. With `holds`, neither text nor thoughts leave."""

    def __init__(self, turn: Turn, model: str, holds: bool, emit: Emit) -> None:
        self.usage = Usage()
        self.why = ""
        self._note = ""
        self._turn = turn
        self._thoughts = ThoughtStream(turn.passages, emit)
        self._model = model
        self._holds = holds
        self._last = Said(finish="stop")
        self._emit = emit
        self._begin()

    def _begin(self) -> None:
        self.stream = AnswerStream(self._turn.passages)
        self._markers = InlineMarkers(self._turn.passages, self._turn.instructions.no_answer)
        self._pieces: list[str] = []

    async def add(self, said: Said) -> None:
        """Send the text that is complete after `said` has arrived."""
        if said.restarts:
            self._begin()
        if said.thinking and not self._holds:
            await self._thoughts.add(said.thinking)
        if said.text:
            await self._thoughts.end()
            await self._send(self._markers.feed(self.stream.feed(said.text)))
        if said.note:
            await self._emit(Note(STAGE, said.note))
        self._model, self.why = said.model or self._model, said.reason or self.why
        self._note = said.note or self._note
        self.usage += said.usage
        if said.finish:
            self._last = said

    async def end(self) -> None:
        """Send the text that was held back."""
        await self._thoughts.end()
        await self._send(self._markers.feed(self.stream.end()) + self._markers.end())

    def answer(self) -> GeneratedAnswer:
        return GeneratedAnswer(
            text="".join(self._pieces),
            finish=self._last.finish or "stop",
            model=self._model,
            confidence=self._last.confidence,
            used=self.stream.used,
            suggested=self.stream.suggested,
            held=self._holds,
            calls=self._last.calls,
            note=self._note,
        )

    async def _send(self, text: str) -> None:
        if text:
            self._pieces.append(text)
        if text and not self._holds:
            await self._emit(Token(text))
