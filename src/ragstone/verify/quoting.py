"""The documents' own sentences, where the chat model's answer contradicts them."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from ragstone.core.answer import LEVELS, GeneratedAnswer, Verdict
from ragstone.core.turn import Turn
from ragstone.ports import Answerer, Said

NOTE = "The chat model contradicted the documents; these are their own sentences."
OTHERWISE = "The documents say otherwise:"
"""What stands before them in an answer of which the chat model's words have been sent."""

MIN_CONFIDENCE = dict(LEVELS)["high"]
"""How likely they are what was asked."""

MIN_SURE = 0.9
"""How sure the reader is of a contradiction. Of 714 true claims, those of
`benchmarks/exam_replies.jsonl` among them, two are contradicted so surely; the bound
was chosen with all of them in sight."""


def find_contradiction(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the verdict by which an answer surely contradicts the documents; None where there is
    none, or where something in the answer is supported."""
    if any(verdict.label in ("supported", "partly") for verdict in verdicts):
        return None
    against = [verdict for verdict in verdicts if verdict.label == "contradicted"]
    surest = max(against, key=lambda verdict: verdict.confidence, default=None)
    return surest if surest and surest.confidence >= MIN_SURE else None


@dataclass(frozen=True, slots=True)
class Quotation:
    """The turn whose answer is the documents' own sentences, None where they may not be what was
    asked; and how likely (0..1) they are that."""

    turn: Turn | None
    likely: float


async def quote_documents(turn: Turn, answerer: Answerer, sent: bool) -> Quotation:
    """Quote the documents, behind what was `sent` of the chat model's answer."""
    answer = turn.answer or GeneratedAnswer()
    text, last = "", Said()
    ask = replace(turn.ask, question=turn.question)
    async with aclosing(answerer.answer(ask, turn.passages, turn.instructions)) as stream:
        async for said in stream:
            text += said.text
            last = said if said.finish else last
    likely = last.confidence or 0.0
    if last.finish != "stop" or likely < MIN_CONFIDENCE:
        return Quotation(None, likely)
    text = f"{answer.text}\n\n{OTHERWISE}\n\n{text}" if sent else text
    quoted = replace(
        answer,
        text=text,
        model=answer.model if sent else answerer.name,
        confidence=None if sent else last.confidence,
        note=NOTE,
        used=(),
        citations=(),
        markers=(),
    )
    return Quotation(replace(turn, answer=quoted), likely)
