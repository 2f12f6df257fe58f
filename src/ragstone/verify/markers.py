"""Whether each marker of an answer names a source that says so, and the right number if not.

The markers of a sentence are judged by themselves: that another source supports the sentence does
not help one whose source does not. A marker inside a sentence may be for what stands before it
only, so that it is right too if its source supports that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragstone.core.answer import Citation, GeneratedAnswer, Marker, log_odds
from ragstone.core.turn import Passage, Turn
from ragstone.ports import Claim, Support
from ragstone.verify.cite import build_citation, cite_cells, group_by_source
from ragstone.verify.claims import Sentence, strip_layout
from ragstone.verify.groundedness import MIN_SUPPORT

ELSEWHERE = 0.3
"""The probability from which another source may be the one that a marker should name."""

MAX_OWN = 0.4
"""The probability by its own source up to which a marker may name a wrong one."""

MIN_DISTANCE = 2.0
"""How much the log-odds by the other source are above those by its own: a reader that is unsure of
a translation is still sure which of two passages it is of."""

MIN_PROBABILITY = 0.001
"""Probabilities nearer to 0 or 1 than this count as this."""

MISCITED = 0.5
"""How likely the sources support a sentence that cites a wrong one: whoever looks there does not
find it."""


@dataclass(frozen=True, slots=True)
class MarkedClause:
    """What stands before markers of a sentence: `text`, from `start` on, is for the sources of
    these numbers, whose markers end at `end`."""

    start: int
    end: int
    text: str
    numbers: tuple[int, ...]


def clauses_at_markers(
    markers: Sequence[Marker], text: str, sentence: Sentence
) -> list[MarkedClause]:
    """Split a sentence that cites at several places there; markers side by side are of one
    clause."""
    clauses: list[MarkedClause] = []
    start = sentence.start
    for marker in markers:
        if not sentence.start <= marker.start < sentence.end:
            continue
        said = strip_layout(text[start : marker.start]).strip(" .,;:，；、。")
        if said or not clauses:
            clauses.append(MarkedClause(start, marker.end, said, (marker.number,)))
        else:
            last = clauses[-1]
            clauses[-1] = replace(last, end=marker.end, numbers=(*last.numbers, marker.number))
        start = marker.end
    return clauses if len(clauses) > 1 else []


def judge_marker(
    marker: Marker, found: Sequence[tuple[Claim, Support]], passages: Sequence[Passage]
) -> Marker:
    """Return a marker with its state; `found` is the support of what it may stand for: its whole
    sentence, and the clause before it."""
    own = next(i for i, passage in enumerate(passages) if passage.number == marker.number)
    if not found:
        return marker
    by_own = [
        support
        for claim, best in found
        for n, support in zip(claim.cited, best.cited, strict=True)
        if n == own and support.source is not None
    ]
    if not by_own:
        return marker
    mine = max(by_own, key=lambda item: item.probability)
    other = max((best for _, best in found), key=lambda item: item.probability)
    if mine.probability >= MIN_SUPPORT:
        return replace(marker, state="supported", citation=_cite(mine, passages))
    distance = log_odds(other.probability, MIN_PROBABILITY) - log_odds(
        mine.probability, MIN_PROBABILITY
    )
    may_be_wrong = mine.probability <= MAX_OWN and other.probability >= ELSEWHERE
    if may_be_wrong and distance >= MIN_DISTANCE:
        return replace(marker, state="elsewhere", citation=_cite(other, passages))
    return replace(marker, state="unsupported")


def _cite(support: Support, passages: Sequence[Passage]) -> Citation:
    return build_citation(
        passages[support.source or 0], support.start, support.end, support.probability
    )


def replace_markers(
    answer: GeneratedAnswer, markers: Sequence[Marker], passages: Sequence[Passage]
) -> GeneratedAnswer:
    """Return the answer with these markers, and the citations that follow from them and from the
    cells that it was computed from."""
    marked = {marker.number for marker in answer.markers}
    rest = [item for item in answer.citations if item.number not in marked]
    # What was left out as too unsure stays so, unless it is surer now.
    sure = {item.number for item in answer.citations}
    sure |= {
        marker.citation.number for marker in markers if marker.state in ("supported", "elsewhere")
    }
    found = group_by_source(
        [*(marker.citation for marker in markers), *rest, *cite_cells(answer, passages)]
    )
    return replace(
        answer,
        markers=tuple(markers),
        citations=tuple(item for item in found if item.number in sure),
    )


def correct_markers(turn: Turn) -> Turn:
    """Return the turn whose text has the number of the source that supports in place of each wrong
    one; where its sentence cites that already, the wrong one is left out."""
    return _renumber_markers(turn, _right_numbers(turn))


def remove_markers(turn: Turn) -> Turn:
    """Return the turn whose text has no markers: a refusal cites nothing."""
    markers = turn.answer.markers if turn.answer else ()
    return _renumber_markers(turn, dict.fromkeys(range(len(markers)), 0))


def _renumber_markers(turn: Turn, numbers: Mapping[int, int]) -> Turn:
    """Return the turn whose markers at these places among all have other numbers, or are left out
    for 0, and whose verdicts stand where they then do."""
    answer = turn.answer or GeneratedAnswer()
    markers, text, end = list[Marker](), "", 0
    shifts = [(0, 0)]
    for place, marker in enumerate(answer.markers):
        text += answer.text[end : marker.start]
        end = marker.end
        number = numbers.get(place, marker.number)
        if number:
            start = len(text)
            text += f"[{number}]"
            state = marker.state
            if place in numbers:
                likely = marker.citation.similarity >= MIN_SUPPORT
                state = "supported" if likely else "unsupported"
            markers.append(replace(marker, number=number, start=start, end=len(text), state=state))
        else:
            text = text.rstrip(" ")
        shifts.append((end, len(text) - end))
    if not numbers:
        return turn
    text += answer.text[end:]

    def move(place: int) -> int:
        return place + next(shift for since, shift in reversed(shifts) if since <= place)

    verdicts = (
        replace(verdict, start=move(verdict.start), end=move(verdict.end))
        for verdict in turn.verdicts
    )
    answer = replace(replace_markers(answer, markers, turn.passages), text=text)
    return replace(turn, answer=answer, verdicts=tuple(verdicts))


def _right_numbers(turn: Turn) -> dict[int, int]:
    """The right number of each wrong marker, by its place; 0 where its sentence has that too."""
    answer = turn.answer or GeneratedAnswer()
    found = {}
    for verdict in turn.verdicts:
        own = [
            (place, marker)
            for place, marker in enumerate(answer.markers)
            if verdict.start <= marker.start < verdict.end
        ]
        known = {item.number for _, item in own if item.state != "elsewhere"}
        for place, marker in own:
            if marker.state == "elsewhere":
                right = marker.citation.number
                found[place] = 0 if right in known else right
                known.add(right)
    return found


def report_markers(turn: Turn) -> Turn:
    """Return the turn in which a sentence that cites only wrong sources counts as supported in
    part: it has been sent, and nobody finds there what it says."""
    answer = turn.answer or GeneratedAnswer()
    verdicts = []
    for verdict in turn.verdicts:
        own = [marker for marker in answer.markers if verdict.start <= marker.start < verdict.end]
        if own and verdict.label == "supported" and all(item.state == "elsewhere" for item in own):
            right = " and ".join(f"[{n}]" for n in sorted({item.citation.number for item in own}))
            wrong = " and ".join(f"[{item.number}]" for item in own)
            verdict = replace(
                verdict,
                label="partly",
                confidence=1 - MISCITED,
                reason=f"It cites {wrong}, but {right} says it.",
            )
        verdicts.append(verdict)
    return replace(turn, verdicts=tuple(verdicts))
