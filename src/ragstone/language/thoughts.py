"""The reasoning that some chat models write into their reply between `<think>` and `</think>`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TAG = re.compile(r"(?<!`)<(/?)(think|thinking)>")
_TAGS = ("<think>", "<thinking>", "</think>", "</thinking>")


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """A piece of a reply: text for the reader, or a thought. One that `restarts` says that all
    text before it was a thought."""

    text: str
    thought: bool = False
    restarts: bool = False


class Thoughts:
    """Takes a reply piece by piece, however it was cut, and tells its thoughts from its text.

    Spaces before the text's first word are dropped. A tag in backticks is text. A thought that
    begins after some text and never ends was none: it comes again as text, with its tag, at the
    end. A tag that ends no thought is left out: a template opened the thought, and what was said
    until then was one, if that can be taken back (`restarts`).
    """

    def __init__(self, restarts: bool = False) -> None:
        self._restarts = restarts
        self._held = ""
        self._closing = ""
        self._begun = False
        self._before = ""
        self._thought: list[str] = []

    def feed(self, piece: str) -> list[ReplyPiece]:
        """Return the pieces that are decided after `piece` has arrived."""
        if not self._held and not self._closing and self._begun and "<" not in piece:
            self._before = piece[-1:] or self._before
            return [ReplyPiece(piece)] if piece else []
        self._held += piece
        return [found for found in self._settle_pieces() if found.text or found.restarts]

    def end(self) -> list[ReplyPiece]:
        """Return the rest, when the reply is over."""
        held, self._held = self._held, ""
        if not self._closing:
            return [self._build_text(held)] if held else []
        found = [ReplyPiece(held, thought=True)] if held else []
        if self._begun:
            opening = self._closing.replace("</", "<")
            found.append(ReplyPiece("".join((opening, *self._thought, held))))
        self._closing = ""
        return found

    def _settle_pieces(self) -> Iterator[ReplyPiece]:
        while self._held:
            if self._closing:
                thought, closed, rest = self._held.partition(self._closing)
                if not closed:
                    kept = _partial_tag_length(self._held, (self._closing,))
                    yield self._build_thought(self._take(len(self._held) - kept))
                    return
                yield self._build_thought(thought)
                self._held, self._closing, self._before = rest, "", ""
                self._thought.clear()
                continue
            # The sign before what is held decides whether a tag at its beginning is in backticks.
            tag = _TAG.search(self._before + self._held)
            if tag is None:
                yield self._build_text(
                    self._take(len(self._held) - _partial_tag_length(self._held, _TAGS))
                )
                return
            ended = len(self._before)
            yield self._build_text(self._held[: tag.start() - ended])
            self._held = self._held[tag.end() - ended :]
            if not tag[1]:
                self._closing = f"</{tag[2]}>"
                continue
            self._before = ""
            if self._restarts:
                self._begun = False
                yield ReplyPiece("", restarts=True)

    def _take(self, length: int) -> str:
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def _build_thought(self, thought: str) -> ReplyPiece:
        if self._begun:
            self._thought.append(thought)
        return ReplyPiece(thought, thought=True)

    def _build_text(self, text: str) -> ReplyPiece:
        self._before = text[-1:] or self._before
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return ReplyPiece(text)


def strip_thoughts(reply: str) -> str:
    """Return the text of a whole reply; what stands before a lone closing tag is a thought, too."""
    thoughts, text = Thoughts(restarts=True), ""
    for piece in (*thoughts.feed(reply), *thoughts.end()):
        if not piece.thought:
            text = piece.text if piece.restarts else text + piece.text
    return text


def _partial_tag_length(text: str, tags: tuple[str, ...]) -> int:
    """Tell how many of the last characters of `text` may be the beginning of a tag."""
    for length in range(min(len(text), max(map(len, tags)) - 1), 0, -1):
        if any(tag.startswith(text[-length:]) for tag in tags):
            return length
    return 0
