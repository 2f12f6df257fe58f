"""The documents' own sentences, where the chat model's answer contradicts them."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from ragstone.core.answer import LEVELS, GeneratedAnswer, Verdict
from ragstone.core.turn import Turn
from ragstone.ports import Answerer, Said
from ragstone.verify.verdicts import is_rejected

NOTE = "The chat model contradicted the documents; these are their own sentences."
OTHERWISE = "The documents say otherwise:"
"""What stands before them in an answer of which the chat model's words have been sent."""

MIN_CONFIDENCE = dict(LEVELS)["high"]
"""How likely they are what was asked."""


def is_contradicted(verdicts: Sequence[Verdict]) -> bool:
    """Whether an answer surely contradicts the documents, and nothing in it is supported."""
    return any(
        verdict.label == "contradicted" and is_rejected(verdict) for verdict in verdicts
    ) and not any(verdict.label in ("supported", "partly") for verdict in verdicts)


async def quote_documents(turn: Turn, answerer: Answerer, sent: bool) -> Turn | None:
    """Return the turn whose answer is the documents' own sentences, behind what was `sent` of the
    chat model's; None where they may not be what was asked."""
    answer = turn.answer or GeneratedAnswer()
    text, last = "", Said()
    ask = replace(turn.ask, question=turn.question)
    async with aclosing(answerer.answer(ask, turn.passages, turn.instructions)) as stream:
        async for said in stream:
            text += said.text
            last = said if said.finish else last
    if last.finish != "stop" or (last.confidence or 0.0) < MIN_CONFIDENCE:
        return None
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
    return replace(turn, answer=quoted)
