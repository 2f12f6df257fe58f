"""Stops questions about forbidden topics before anything is searched."""

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.clock import state_time
from ragstone.core.errors import GuardUnavailable, ModelUnavailable, QuestionBlocked
from ragstone.core.events import Token
from ragstone.core.records import BlockedQuestion, GuardDecision, TopicMatch
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step, own_text, prompt_text
from ragstone.guard.asking import Asked, classify_asking, talks_to_the_judge, wants
from ragstone.guard.likeness import CONTEXTUAL
from ragstone.language.json_answer import json_values
from ragstone.language.phrases import normalize
from ragstone.language.unicode import replace_unstorable
from ragstone.ports import Adapters, Completer, Topics

MAX_TOKENS = 600
"""Room for a model that thinks aloud before its answer."""

MAX_CHARS = 4000

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
    """Tell whether a reply blocks; None for nonsense.

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
    """Return the first and last part of a long question: the request is in one of them."""
    if len(question) <= MAX_CHARS:
        return question
    half = MAX_CHARS // 2
    return f"{question[:half]} ... {question[-half:]}"


MAX_SHOWN = 5
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
    """Return the rules applied to topics whose words are there, else to those whose meaning is."""
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
    """Return the model's word; the rules' where it has none, unless they have none either.

    A question that tells the model what to say cannot be let through by it.
    """
    matches = [*findings.named, *findings.alike]
    shown = list({match.topic.id: match for match in reversed(matches)}.values())[::-1]
    try:
        verified = await verify(judge.model, judge.rules, text, shown[:MAX_SHOWN])
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


log = logging.getLogger(__name__)

POLICY = "blocked by policy"
"""All that a client learns: not which topic, nor that there is a list."""


class Guard(Stage):
    """Compares the question, as asked and as understood, with the tenant's forbidden topics.

    A forbidden one is answered with the guidance, or refused if only passages were wanted; it is
    kept for the operator to review. If the check itself breaks, nothing is answered.
    """

    name: ClassVar[str] = "guard"
    needs: ClassVar[frozenset[str]] = frozenset({"ask", "question"})

    mode: Literal["qdrant", "llm"] = Field("llm", description="Who decides: likeness, or a model.")
    threshold: float = Field(0.3, ge=0, le=1, description="Least likeness that is looked at.")
    guidance: str = Field("This is not answered here.", description="What the asker is told.")
    answers: bool = Field(True, description="Whether the guidance is an answer, or else an error.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        topics, tenant = adapters.topics, turn.ask.principal.tenant
        if not await topics.list_all(tenant):
            return Step(turn, "skipped", "no topics")
        every = (turn.question, turn.ask.question, *turn.queries)
        texts = list(dict.fromkeys(" ".join(text.split()) for text in every))
        ruling, usage = await self.decide(texts, tenant, adapters)
        turn = replace(turn, usage=turn.usage + usage)
        if not ruling.blocked:
            return Step(turn, "allowed")
        if turn.ask.keeps:
            await _record_blocked(topics, turn, ruling)
        guidance = await own_text(turn, adapters, "forbidden_guidance") or self.guidance
        if not self.answers:
            raise QuestionBlocked(guidance)
        await emit(Token(guidance))
        answer = GeneratedAnswer(guidance, finish="blocked")
        return Step(replace(turn, answer=answer), "blocked", POLICY, leaves=True)

    async def decide(
        self, texts: list[str], tenant: str, adapters: Adapters
    ) -> tuple[GuardDecision, Usage]:
        """Tell whether any of `texts` is forbidden, by the first that is; they are checked at once.

        Raises GuardUnavailable if one of them cannot be checked and no other one is forbidden.
        """
        judge = None
        if adapters.completer and self.mode == "llm":
            judge = TopicJudge(
                adapters.completer, await prompt_text(adapters, tenant, "guard_verification")
            )
        checks = (
            decide_text(t, tenant, adapters.topics, judge, self.mode, self.threshold) for t in texts
        )
        found = await asyncio.gather(*checks, return_exceptions=True)
        rulings = [item for item in found if not isinstance(item, BaseException)]
        usage = sum((used for _, used in rulings), Usage())
        for ruling, _ in rulings:
            if ruling.blocked:
                return ruling, usage
        for item in found:
            if isinstance(item, BaseException):
                # The message is not logged: it may contain the question.
                log.warning("The check of forbidden topics failed (%s)", type(item).__name__)
                raise GuardUnavailable from item
        return (rulings[0][0] if rulings else GuardDecision(False)), usage


async def _record_blocked(topics: Topics, turn: Turn, ruling: GuardDecision) -> None:
    """Keep the question for review; a store that fails does not let it through."""
    match = ruling.match
    if match is None:
        return
    who = turn.ask.principal
    question = replace_unstorable(turn.ask.question)
    blocked = BlockedQuestion(
        state_time(),
        who.tenant,
        who.user,
        question,
        match.topic.id,
        match.topic.term,
        match.match,
        round(match.score, 3),
        ruling.decided_by,
        replace_unstorable(turn.ask.user_id),
    )
    try:
        await topics.record(blocked)
    except Exception as error:
        log.warning("A blocked question could not be kept for review (%s)", type(error).__name__)
