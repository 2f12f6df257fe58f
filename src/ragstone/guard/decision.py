"""Whether one text is about a forbidden topic: by its words, its meaning, rules and a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragstone.core.answer import Usage
from ragstone.core.errors import GuardUnavailable, ModelUnavailable
from ragstone.core.records import GuardDecision, TopicMatch
from ragstone.guard.asking import Asked, asked, talks_to_the_judge, wants
from ragstone.guard.likeness import CONTEXTUAL
from ragstone.guard.verify import Verified, verify
from ragstone.language.phrases import normal
from ragstone.ports import Completer, Topics

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


async def ruled(
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
    form = normal(text)
    [named] = await topics.named(tenant, [form])
    named = [match for match in named if match.score >= threshold]
    if mode == "qdrant":
        best = named or (await topics.alike(tenant, [text], threshold))[0]
        if best:
            return GuardDecision(True, best[0].match, "likeness", best[0]), Usage()
        return GuardDecision(False), Usage()
    rules = asked(form, [match.place for match in named if match.place])
    if named and rules.verdict == "block" and (judge is None or rules.rule == "standalone"):
        return GuardDecision(True, rules.rule, "rules", named[0]), Usage()
    [alike] = await topics.alike(tenant, [text], threshold)
    findings = _findings(form, named, alike, rules)
    if findings is None:
        return GuardDecision(False), Usage()
    if judge is None:
        return _by_rules(findings), Usage()
    return await _by_model(judge, text, form, findings)


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


def _by_rules(findings: _Findings) -> GuardDecision:
    blocked = findings.rules.verdict == "block"
    return GuardDecision(blocked, findings.rules.rule, "rules", findings.match)


async def _by_model(
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
    rules = _by_rules(findings)
    if verified.blocked is None:
        if findings.rules.verdict == "unsure":
            raise GuardUnavailable
        return rules, verified.usage
    if not verified.blocked and rules.blocked and talks_to_the_judge(form):
        return rules, verified.usage
    ruling = GuardDecision(verified.blocked, findings.rules.rule, judge.model.name, findings.match)
    return ruling, verified.usage
