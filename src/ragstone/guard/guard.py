"""Stops questions about forbidden topics before anything is searched."""

import asyncio
import logging
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import GeneratedAnswer, Usage
from ragstone.core.clock import state_time
from ragstone.core.errors import GuardUnavailable, QuestionBlocked
from ragstone.core.events import Token
from ragstone.core.records import BlockedQuestion, GuardDecision
from ragstone.core.turn import Turn
from ragstone.engine.prompts import own_text, prompt_text
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.guard.decision import TopicJudge, decide_text
from ragstone.language.unicode import replace_unstorable
from ragstone.ports import Adapters, Topics

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
        """Whether any of `texts` is forbidden, by the first that is; they are checked at once.

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
