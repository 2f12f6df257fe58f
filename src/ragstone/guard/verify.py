"""The chat model's word on a question near a forbidden topic, in the two steps of the design."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.core.answer import Usage
from ragstone.core.records import TopicMatch
from ragstone.language.json_answer import json_values
from ragstone.ports import Completer

MAX_TOKENS = 600
"""Room for a model that thinks aloud before its answer."""

MOST_CHARS = 4000

_WORD = re.compile(r"\b(block|allow)(?:ed)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verified:
    """What the model decided; `blocked` is None when it said nothing of use."""

    blocked: bool | None
    usage: Usage


async def verify(
    model: Completer, rules: str, question: str, matches: Sequence[TopicMatch]
) -> Verified:
    """Ask the model by the prompt `guard_verification`; raises ModelUnavailable."""
    topics = [
        {"topic": m.topic.term, "match": m.match, "score": round(m.score, 2)} for m in matches
    ]
    text = json.dumps({"question": _cut(question), "topics": topics}, ensure_ascii=False)
    said = await model.complete(rules, text, MAX_TOKENS)
    return Verified(verdict(said.text), said.usage)


def verdict(said: str) -> bool | None:
    """Whether a reply blocks; None for nonsense.

    The last JSON object with a step counts; without one, the word block or allow if only one of
    them is there.
    """
    replies = [value for value in json_values(said) if isinstance(value, dict)]
    for reply in reversed(replies):
        steps = [str(reply.get(name, "")).strip().lower() for name in ("step1", "step2")]
        if any(step.startswith("block") for step in steps):
            return True
        if steps[0].startswith("allow"):
            return False
    words = {word.lower() for word in _WORD.findall(said)}
    return words == {"block"} if len(words) == 1 else None


def _cut(question: str) -> str:
    """The first and last part of a long question: what is asked stands in one of them."""
    if len(question) <= MOST_CHARS:
        return question
    half = MOST_CHARS // 2
    return f"{question[:half]} ... {question[-half:]}"
