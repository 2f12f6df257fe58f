"""Whether one text is about a forbidden topic: by its words, its meaning, rules and a model."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragstone.core.answer import Usage
from ragstone.core.errors import GuardUnavailable, ModelUnavailable
from ragstone.core.records import GuardDecision, TopicMatch
from ragstone.guard.asking import Asked, classify_asking, talks_to_the_judge, wants
from ragstone.guard.likeness import CONTEXTUAL
from ragstone.language.json_answer import json_values
from ragstone.language.phrases import normalize
from ragstone.ports import Completer, Topics

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
    text = json.dumps({"question": _abridge(question), "topics": topics}, ensure_ascii=False)
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


def _abridge(question: str) -> str:
    """The first and last part of a long question: the request is in one of them."""
    if len(question) <= MOST_CHARS:
        return question
    half = MOST_CHARS // 2
    return f"{question[:half]} ... {question[-half:]}"


MOST_SHOWN = 5
"""Topics that the model is told of."""


@dataclass(frozen=True, slots=True)
class TopicJudge:
    """The chat model that is asked, and the prompt that it is asked by."""

    model: Completer
    rules: str


@dataclass(frozen=True, slots=True)
class _Findings:
    """What a text touches, and what the rules say of it. `match` is the topic that counts most."""

    named: Sequence[TopicMatch]
    alike: Sequence[TopicMatch]
    rules: Asked
    match: TopicMatch


async def decide_text(
    text: str,
    tenant: str,
    topics: Topics | None,
    judge: TopicJudge | None,
    mode: Literal["qdrant", "llm"],
    threshold: float,
) -> tuple[GuardDecision, Usage]:
    """Decide on `text`, and what that cost.

    `qdrant`: whatever reaches the threshold is forbidden. `llm`: the rules, and where there is a
    model, its word instead. Raises GuardUnavailable when neither decides.
    """
    if topics is None or not text.strip():
        return GuardDecision(False), Usage()
    form = normalize(text)
    [named] = await topics.find_named(tenant, [form])
    named = [match for match in named if match.score >= threshold]
    if mode == "qdrant":
        best = named or (await topics.alike(tenant, [text], threshold))[0]
        if best:
            return GuardDecision(True, best[0].match, "likeness", best[0]), Usage()
        return GuardDecision(False), Usage()
    rules = classify_asking(form, [match.place for match in named if match.place])
    if named and rules.verdict == "block" and (judge is None or rules.rule == "standalone"):
        return GuardDecision(True, rules.rule, "rules", named[0]), Usage()
    [alike] = await topics.alike(tenant, [text], threshold)
    findings = _findings(form, named, alike, rules)
    if findings is None:
        return GuardDecision(False), Usage()
    if judge is None:
        return _rule_decision(findings), Usage()
    return await _model_decision(judge, text, form, findings)


def _findings(
    form: str, named: Sequence[TopicMatch], alike: Sequence[TopicMatch], rules: Asked
) -> _Findings | None:
    """The rules applied to topics whose words are there, else to those whose meaning is."""
    if named and rules.verdict == "near":
        ids = {match.topic.id for match in named}
        close = any(match.topic.id in ids for match in alike)
        rules = Asked("block" if close else "allow", rules.rule if close else "other context")
    if named and (rules.verdict == "block" or rules.rule in ("method", "definition")):
        return _Findings(named, alike, rules, named[0])
    if alike and alike[0].score >= CONTEXTUAL:
        return _Findings(named, alike, wants(form), alike[0])
    if named:
        return _Findings(named, alike, rules, named[0])
    if alike:
        return _Findings(named, alike, Asked("allow", "weak likeness"), alike[0])
    return None


def _rule_decision(findings: _Findings) -> GuardDecision:
    blocked = findings.rules.verdict == "block"
    return GuardDecision(blocked, findings.rules.rule, "rules", findings.match)


async def _model_decision(
    judge: TopicJudge, text: str, form: str, findings: _Findings
) -> tuple[GuardDecision, Usage]:
    """The model's word; the rules' where it has none, unless they have none either.

    A question that tells the model what to say cannot be let through by it.
    """
    matches = [*findings.named, *findings.alike]
    shown = list({match.topic.id: match for match in reversed(matches)}.values())[::-1]
    try:
        verified = await verify(judge.model, judge.rules, text, shown[:MOST_SHOWN])
    except ModelUnavailable:
        verified = Verified(None, Usage())
    rules = _rule_decision(findings)
    if verified.blocked is None:
        if findings.rules.verdict == "unsure":
            raise GuardUnavailable
        return rules, verified.usage
    if not verified.blocked and rules.blocked and talks_to_the_judge(form):
        return rules, verified.usage
    ruling = GuardDecision(verified.blocked, findings.rules.rule, judge.model.name, findings.match)
    return ruling, verified.usage
