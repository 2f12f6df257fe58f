"""Decides how the question will be answered."""

from dataclasses import replace
from typing import Any, ClassVar

from pydantic import Field

from ragstone.errors import InputError
from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Plan, Strategy, Turn, Wanted

WIDE = 3
"""How many times more candidates a two-stage search takes and compares."""

IN_ORDER = 200
"""Chunks of a document read in order; the budget of tokens keeps fewer."""

LIMITS = (
    ("top_k", 1, 1000),
    ("dense_weight", 0, 1),
    ("min_similarity", 0, 1),
    ("diversity", 0, 1),
    ("neighbours", 0, 10),
)
"""The least and the most of what a request may ask for."""

PLAIN = frozenset({"dense", "bm25", "sequential"})
"""Strategies whose order is left alone."""


class Route(Stage):
    """Makes the question's plan: the level's, unless the request asks otherwise."""

    name: ClassVar[str] = "route"
    needs: ClassVar[frozenset[str]] = frozenset({"question"})
    gives: ClassVar[frozenset[str]] = frozenset({"plan", "queries"})

    plan: Plan = Field(Plan(), description="The level's plan.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        ask = turn.ask
        plan = self.plan
        if ask.strategy:
            plan = _by(ask.strategy, plan)
        if ask.top_k is not None:
            plan = replace(plan, top_k=ask.top_k, candidates=max(plan.candidates, ask.top_k))
        plan = replace(plan, **_given(ask.wanted))
        _check(plan)
        reason = "the request asks for it" if ask.strategy else f"level {ask.level}"
        return Step(
            replace(turn, plan=plan, queries=_queries(turn)),
            f"{plan.strategy}, {plan.top_k} passages",
            reason,
        )


def _queries(turn: Turn) -> tuple[str, ...]:
    """The question, and how it was spelt if that was corrected: the correction may be wrong."""
    return (turn.question, turn.original) if turn.original else (turn.question,)


def _check(plan: Plan) -> None:
    """Raise InputError for a number that no search can mean."""
    for name, low, high in LIMITS:
        value = getattr(plan, name)
        if not low <= value <= high:
            raise InputError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}.")


def _by(strategy: Strategy, plan: Plan) -> Plan:
    """The plan with the strategy's own needs."""
    plan = replace(plan, strategy=strategy)
    if strategy in PLAIN:
        plan = replace(plan, rerank=False, feedback=False)
    if strategy == "sequential":
        plan = replace(plan, top_k=max(plan.top_k, IN_ORDER))
    if strategy == "two_stage":
        wide = WIDE * plan.candidates
        plan = replace(plan, candidates=wide, reranked=WIDE * plan.reranked)
    return plan


def _given(wanted: Wanted) -> dict[str, Any]:
    """What the request asks for, by the plan's names."""
    names = Wanted.__dataclass_fields__
    values = {name: getattr(wanted, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
