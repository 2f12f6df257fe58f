"""From how well sources support a sentence to its verdict, and to an answer without the rest; and
what a chat model says of the claims that the comparison leaves undecided, in one call for all."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragstone.core.answer import Citation, GeneratedAnswer, Label, Usage, Verdict
from ragstone.core.turn import Passage, Turn
from ragstone.language.json_answer import json_values
from ragstone.ports import Completer, Support
from ragstone.verify.cite import build_citation
from ragstone.verify.claims import Sentence
from ragstone.verify.groundedness import MIN_SUPPORT, build_support_statement, groundedness
from ragstone.verify.markers import replace_markers

UNDECIDED = (0.05, 0.95)
"""Between these probabilities a chat model is asked: hard sentences are judged wrong as often at .2
and .8 as at .5, and seldom outside of these."""

UNCLEAR = (0.3, 0.8)
"""Between these a "Yes." is not a claim if no chat model is asked."""

PARTLY = 0.3
"""The probability from which a claim that is not supported is in part."""

REJECTED: tuple[Label, ...] = ("unsupported", "contradicted")
SURE = 0.8
"""How sure it is that no source supports a claim, from which a strict answer is without it: the
reader is sure by itself, or a chat model agrees."""

MARK = "[…]"
"""The mark in place of removed sentences."""


def build_verdict(
    sentence: Sentence, support: Support | None, passages: Sequence[Passage]
) -> Verdict:
    """Return the verdict on a sentence; without a support it claims nothing."""
    if support is None:
        return Verdict(sentence.text, "no_claim", 1.0, None, sentence.start, sentence.end)
    label = _label(support)
    sure = support.probability if label == "supported" else 1 - support.probability
    if label == "contradicted":
        sure = max(sure, support.contradicted)
    return Verdict(
        sentence.text,
        label,
        round(sure, 4),
        _citation(support, passages),
        sentence.start,
        sentence.end,
    )


def _label(support: Support) -> Label:
    if support.probability >= MIN_SUPPORT:
        return "supported"
    if support.contradicted:
        return "contradicted"
    return "partly" if support.probability >= PARTLY else "unsupported"


def _citation(support: Support, passages: Sequence[Passage]) -> Citation | None:
    if support.source is None:
        return None
    return build_citation(passages[support.source], support.start, support.end, support.probability)


DISPUTED = 0.5
"""How sure a verdict is on which reader and chat model disagree."""


def apply_second_opinion(verdict: Verdict, label: Label, sure: float, by: str) -> Verdict:
    """Return the verdict with what a chat model says of the claim. Where the reader finds the
    source that supports it and the model says that none does, it may be supported in part."""
    if verdict.label == "supported" and label in REJECTED:
        # Two judges disagree, and neither is known to be better.
        label, sure = "partly", DISPUTED
    return replace(verdict, label=label, confidence=sure, reason=by)


def is_rejected(verdict: Verdict) -> bool:
    """Tell whether a strict answer is without the sentence."""
    return verdict.label in REJECTED and verdict.confidence >= SURE


def weigh_answer(answer: GeneratedAnswer, verdicts: Sequence[Verdict]) -> GeneratedAnswer:
    """Return the answer with its groundedness by these verdicts; a refusal states nothing."""
    score, said = round(groundedness(verdicts), 4), build_support_statement(verdicts)
    return replace(
        answer,
        is_grounded=said.holds,
        groundedness_score=score,
        supported=None if answer.refused else said,
    )


def remove_unsupported(turn: Turn) -> Turn:
    """Return the turn without the sentences that nothing supports: `MARK` stands in their place.

    Their verdicts stay, without the text; the groundedness is that of the rest. If no claim is
    left, or the answer is JSON, it is a refusal.
    """
    answer = turn.answer or GeneratedAnswer()
    out = [item for item in turn.verdicts if is_rejected(item)]
    rest = [item for item in turn.verdicts if item not in out]
    answer = weigh_answer(answer, rest)
    if answer.is_json or all(item.label == "no_claim" for item in rest):
        said = replace(
            answer,
            text=turn.instructions.no_answer,
            citations=(),
            markers=(),
            finish="refused",
            supported=None,
            is_json=False,
        )
        blank = (replace(item, sentence="", citation=None, start=0, end=0) for item in out)
        return replace(turn, answer=said, verdicts=tuple(blank))
    text, verdicts = _remove_sentences(answer.text, turn.verdicts, out)
    markers = [
        replace(marker, start=marker.start + shift, end=marker.end + shift)
        for before, after in zip(turn.verdicts, verdicts, strict=True)
        if before not in out
        for shift in (after.start - before.start,)
        for marker in answer.markers
        if before.start <= marker.start < before.end
    ]
    answer = replace(replace_markers(answer, markers, turn.passages), text=text)
    return replace(turn, answer=answer, verdicts=tuple(verdicts))


def _remove_sentences(
    text: str, verdicts: Sequence[Verdict], out: Sequence[Verdict]
) -> tuple[str, list[Verdict]]:
    """Return the text with one mark for each run of sentences taken out, and the verdicts as they
    stand there."""
    said, place, marked = "", 0, False
    moved: list[Verdict] = []
    for item in verdicts:
        if item in out:
            if not marked:
                said += text[place : item.start] + MARK
            place, marked = item.end, True
            at = len(said)
            moved.append(replace(item, sentence="", citation=None, start=at - len(MARK), end=at))
            continue
        said += text[place : item.start]
        start = len(said)
        said += text[item.start : item.end]
        moved.append(replace(item, start=start, end=len(said)))
        place, marked = item.end, False
    return said + text[place:], moved


MAX_TOKENS = 800
"""Room for a model that thinks aloud before its answer."""

MAX_CLAIMS = 20
MAX_SOURCE_CHARS = 2000
"""Characters of one source, around the sentence that comes nearest."""

MAX_ANSWER_CHARS = 6000
"""Characters of the answer, in which the claims have their neighbours."""

MODEL_SURE, MODEL_PARTLY = 0.9, 0.7
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
    """Return the model's verdict on each claim of the answer by the prompt `judge_claims`, None
    where it gave none.

    Raises ModelUnavailable.
    """
    asked = claims[:MAX_CLAIMS]
    said = await model.complete(rules, _request(asked, turn), MAX_TOKENS)
    found = parse_labels(said.text, len(asked))
    return [*found, *([None] * (len(claims) - len(asked)))], said.usage


def parse_labels(said: str, count: int) -> list[Judged | None]:
    """What a reply says of claims 1 to `count`: the last JSON object with a label of one counts."""
    best: list[Judged | None] = [None] * count
    for value in json_values(said):
        rows = value if isinstance(value, dict) else None
        found = [_parse_label(rows.get(str(n))) for n in range(1, count + 1)] if rows else []
        if any(found):
            best = found
    return best


def _parse_label(value: Any) -> Judged | None:
    if isinstance(value, dict):
        value = value.get("verdict", value.get("label"))
    if not isinstance(value, str):
        return None
    label = _LABELS.get(value.strip().lower().replace("_", " "))
    return None if label is None else (label, MODEL_PARTLY if label == "partly" else MODEL_SURE)


def _request(claims: Sequence[tuple[Sentence, Support]], turn: Turn) -> str:
    """Return the claims with what tells what they are about: the question, the answer that they
    stand in, and the passages that they cite or that come nearest."""
    passages = turn.passages
    near: dict[int, int] = {}
    for _, support in claims:
        if support.source is not None:
            near.setdefault(support.source, support.start)
    cited = {number for sentence, _ in claims for number in sentence.cited}
    for place, passage in enumerate(passages):
        if passage.number in cited:
            near.setdefault(place, 0)
    sources = {}
    for place in sorted(near):
        text = passages[place].text
        first = max(0, min(near[place] - MAX_SOURCE_CHARS // 2, len(text) - MAX_SOURCE_CHARS))
        sources[str(passages[place].number)] = text[first : first + MAX_SOURCE_CHARS]
    stated = {str(n): sentence.text for n, (sentence, _) in enumerate(claims, start=1)}
    answer = turn.answer.text[:MAX_ANSWER_CHARS] if turn.answer else ""
    asked = {"sources": sources, "question": turn.question, "answer": answer, "claims": stated}
    return json.dumps(asked, ensure_ascii=False)
