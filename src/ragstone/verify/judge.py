"""The chat model's word on claims that a comparison of words leaves undecided: one call for all."""

import json
from collections.abc import Sequence
from typing import Any

from ragstone.core.answer import Label, Usage
from ragstone.core.turn import Turn
from ragstone.language.json_answer import json_values
from ragstone.ports import Completer, Support
from ragstone.verify.claims import Sentence

MAX_TOKENS = 800
"""Room for a model that thinks aloud before its answer."""

MOST_CLAIMS = 20
MOST_CHARS = 2000
"""Characters of one source, around the sentence that comes nearest."""

MOST_ANSWER = 6000
"""Characters of the answer, in which the claims have their neighbours."""

SURE, PARTLY = 0.9, 0.7
"""How sure a verdict of the model is."""

_LABELS: dict[str, Label] = {
    "supported": "supported",
    "partly": "partly",
    "partially": "partly",
    "partially supported": "partly",
    "partly supported": "partly",
    "contradicted": "contradicted",
    "unsupported": "unsupported",
    "not supported": "unsupported",
}

Judged = tuple[Label, float]
"""A label, and how sure it is (0..1)."""


async def judge_claims(
    model: Completer, rules: str, turn: Turn, claims: Sequence[tuple[Sentence, Support]]
) -> tuple[list[Judged | None], Usage]:
    """The model's verdict on each claim of the answer by the prompt `judge_claims`, None where it
    gave none.

    Raises ModelUnavailable.
    """
    asked = claims[:MOST_CLAIMS]
    said = await model.complete(rules, _request(asked, turn), MAX_TOKENS)
    found = labels(said.text, len(asked))
    return [*found, *([None] * (len(claims) - len(asked)))], said.usage


def labels(said: str, count: int) -> list[Judged | None]:
    """What a reply says of claims 1 to `count`: the last JSON object with a label of one counts."""
    best: list[Judged | None] = [None] * count
    for value in json_values(said):
        rows = value if isinstance(value, dict) else None
        found = [_label(rows.get(str(n))) for n in range(1, count + 1)] if rows else []
        if any(found):
            best = found
    return best


def _label(value: Any) -> Judged | None:
    if isinstance(value, dict):
        value = value.get("verdict", value.get("label"))
    if not isinstance(value, str):
        return None
    label = _LABELS.get(value.strip().lower().replace("_", " "))
    return None if label is None else (label, PARTLY if label == "partly" else SURE)


def _request(claims: Sequence[tuple[Sentence, Support]], turn: Turn) -> str:
    """The claims with what tells what they are about: the question, the answer that they stand in,
    and the passages that they cite or that come nearest."""
    passages = turn.passages
    near: dict[int, int] = {}
    for _, support in claims:
        if support.source is not None:
            near.setdefault(support.source, support.start)
    cited = {number for sentence, _ in claims for number in sentence.cited}
    for place, passage in enumerate(passages):
        if passage.number in cited:
            near.setdefault(place, 0)
    sources = {str(passages[i].number): _excerpt(passages[i].text, near[i]) for i in sorted(near)}
    stated = {str(n): sentence.text for n, (sentence, _) in enumerate(claims, start=1)}
    answer = turn.answer.text[:MOST_ANSWER] if turn.answer else ""
    asked = {"sources": sources, "question": turn.question, "answer": answer, "claims": stated}
    return json.dumps(asked, ensure_ascii=False)


def _excerpt(text: str, start: int) -> str:
    """The part of a text around a place."""
    first = max(0, min(start - MOST_CHARS // 2, len(text) - MOST_CHARS))
    return text[first : first + MOST_CHARS]
