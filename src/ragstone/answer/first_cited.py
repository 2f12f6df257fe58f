"""Sources numbered in the order in which an answer cites them.

Passages are numbered by rank before a word of the answer is known. Clients that show the n-th
address of their list for `[n]` need the numbers of those that are cited, and no gaps between them.
"""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace

from ragstone.core.answer import Citation, GeneratedAnswer, Marker
from ragstone.core.events import Checked, Done, Event, Failed, Sources, Token
from ragstone.core.turn import Turn
from ragstone.language.code_blocks import span_end
from ragstone.language.markers import find_markers

_BEGUN = re.compile(r"\[\d{0,3}\Z")
_BACKTICKS = re.compile(r"`+")


class FirstCited:
    """The markers of one answer, as it grows. `new` has the new number of each cited source."""

    def __init__(self) -> None:
        self.new: dict[int, int] = {}
        self._known: frozenset[int] = frozenset()
        self._text = ""
        self._held = ""

    def may_cite(self, numbers: frozenset[int]) -> None:
        """The numbers that there are; a marker of any other stays as it is."""
        self._known = numbers

    def feed(self, piece: str) -> str:
        """Return what can be sent now that `piece` has come. A marker that is not whole waits, and
        so does what may be code."""
        self._held += piece
        return self._take(_find_undecided(self._held, len(self._held)))

    def end(self) -> str:
        """Return the rest."""
        return self._take(len(self._held))

    def _take(self, end: int) -> str:
        text, self._held = self._held[:end], self._held[end:]
        start = len(self._text)
        self._text += text
        return "".join(self._pieces(start)) if "[" in text else text

    def _pieces(self, start: int) -> Iterator[str]:
        """Yield the text behind `start` with new numbers, in pieces."""
        last = start
        for marker in find_markers(self._text, start):
            number = int(marker[1])
            if number not in self._known:
                continue
            fresh = self.new.setdefault(number, len(self.new) + 1)
            yield self._text[last : marker.start()]
            yield f"[{fresh}]"
            last = marker.end()
        yield self._text[last:]


def _find_undecided(text: str, end: int) -> int:
    """Return where begins what needs more text to be understood."""
    begun = _BEGUN.search(text)
    place = begun.start() if begun else end
    line = text.rfind("\n") + 1
    at = line
    while opened := _BACKTICKS.search(text, at):
        closed = span_end(text, opened.start(), final=False)
        if closed is None:
            return min(place, opened.start())
        at = closed if closed > opened.start() else opened.end()
    return place


def by_first_citation(turn: Turn) -> Turn:
    """Return the turn with its sources numbered in the order in which its answer cites them; those
    that it says to have used come next, then all others by rank."""
    answer = turn.answer or GeneratedAnswer()
    if answer.is_json:
        return turn  # Its text may name sources by their numbers.
    markers = FirstCited()
    cited = {citation.number for citation in answer.citations}
    cited |= {marker.number for marker in answer.markers}
    cited |= {marker.citation.number for marker in answer.markers}
    ranked = [passage.number for passage in turn.passages]
    markers.may_cite(frozenset({*ranked, *cited}))
    text = markers.feed(answer.text) + markers.end()
    new = markers.new
    for number in (*sorted(cited), *ranked):
        new.setdefault(number, len(new) + 1)
    moved = _Moves(answer.text, new)
    passages = [replace(passage, number=new[passage.number]) for passage in turn.passages]
    changed = replace(
        answer,
        text=text,
        citations=tuple(
            sorted((_citation(citation, new) for citation in answer.citations), key=_number)
        ),
        used=tuple(new[number] for number in answer.used if number in new),
        markers=tuple(
            Marker(
                moved(marker.start),
                moved(marker.end),
                new[marker.number],
                _citation(marker.citation, new),
                marker.state,
            )
            for marker in answer.markers
        ),
    )
    return replace(
        turn,
        answer=changed if turn.answer else None,
        passages=tuple(sorted(passages, key=lambda item: item.number)),
        verdicts=tuple(
            replace(
                verdict,
                citation=_citation(verdict.citation, new) if verdict.citation else None,
                start=moved(verdict.start),
                end=moved(verdict.end),
            )
            for verdict in turn.verdicts
        ),
    )


def cited_numbers(turn: Turn) -> frozenset[int]:
    """Return the numbers that the answer cites, in its text or beside it."""
    answer = turn.answer or GeneratedAnswer()
    known = {passage.number for passage in turn.passages}
    marked = (int(marker[1]) for marker in find_markers("" if answer.is_json else answer.text))
    return frozenset(
        {*(citation.number for citation in answer.citations), *known.intersection(marked)}
    )


async def number_sources(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """Yield the same events with the sources numbered by first citation. `Sources`, which come
    before anything is cited, keep the numbers of their ranks."""
    markers = FirstCited()
    async with aclosing(events) as source:
        async for event in source:
            match event:
                case Sources(passages):
                    markers.may_cite(frozenset(passage.number for passage in passages))
                    yield event
                case Token(text):
                    if said := markers.feed(text):
                        yield Token(said)
                case Checked():
                    # Verdicts with their places come with the end, where all numbers are known.
                    continue
                case Done(turn):
                    if rest := markers.end():
                        yield Token(rest)
                    yield Done(by_first_citation(turn))
                case Failed(error, turn):
                    if rest := markers.end():
                        yield Token(rest)
                    yield Failed(error, by_first_citation(turn))
                case _:
                    yield event


def _number(citation: Citation) -> int:
    return citation.number


def _citation(citation: Citation, new: Mapping[int, int]) -> Citation:
    return replace(citation, number=new.get(citation.number, citation.number))


class _Moves:
    """Where a place of the old text is in the new one."""

    def __init__(self, text: str, new: Mapping[int, int]) -> None:
        self._ends: list[tuple[int, int]] = []
        shift = 0
        for marker in find_markers(text):
            fresh = new.get(int(marker[1]))
            if fresh is not None and len(f"[{fresh}]") != len(marker[0]):
                shift += len(f"[{fresh}]") - len(marker[0])
                self._ends.append((marker.end(), shift))

    def __call__(self, place: int) -> int:
        shifts = [shift for end, shift in self._ends if end <= place]
        return place + (shifts[-1] if shifts else 0)
