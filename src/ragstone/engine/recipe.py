"""A recipe: which stages run for a question, in which order.

What the work around an answer may take of a chat model: calls and tokens, for each level.

The answer itself always may be asked for. What is beyond the budget is left out, as where the model
does not answer: the question goes on with what it has.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ragstone.core.answer import Usage
from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.engine.stage import Stage
from ragstone.ports import Adapters, Completer, Said


@dataclass(frozen=True, slots=True)
class CallBudget:
    """Calls, and tokens of prompts and replies together."""

    calls: int
    tokens: int


class BudgetedCompleter:
    """`ports.Completer` for one question."""

    def __init__(self, model: Completer, spent: "_Spent", budget: CallBudget) -> None:
        self.name = model.name
        self._model = model
        self._spent = spent
        self._budget = budget

    @property
    def refusal(self) -> str:
        """Why no further call is made; empty while the budget lasts."""
        most, spent = self._budget, self._spent
        if spent.calls < most.calls and spent.usage.total_tokens < most.tokens:
            return ""
        return f"The level's budget of {most.calls} calls and {most.tokens:,} tokens is spent."

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        if self.refusal:
            raise ModelUnavailable(self.refusal)
        self._spent.calls += 1
        said = await self._model.complete(rules, text, max_tokens, temperature)
        self._spent.usage += said.usage
        return said


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    usage: Usage = Usage()


def within_budget(adapters: Adapters, budget: CallBudget | None) -> Adapters:
    """Return the adapters for one question, whose models keep to its budget."""
    if budget is None or adapters.completer is None:
        return adapters
    spent = _Spent()
    completer = BudgetedCompleter(adapters.completer, spent, budget)
    judge = adapters.evaluator
    return replace(
        adapters, completer=completer, evaluator=judge and BudgetedCompleter(judge, spent, budget)
    )


@dataclass(frozen=True, slots=True)
class Recipe:
    """Stages that a client waits for, a tail that runs after the last event, all at once, and what
    the work around the answer may take of a chat model."""

    stages: tuple[Stage, ...]
    tail: tuple[Stage, ...] = ()
    budget: CallBudget | None = None

    def __post_init__(self) -> None:
        _check_order((*self.stages, *self.tail), {"ask"})


def _check_order(stages: Iterable[Stage], given: set[str]) -> None:
    """Add to `given` what the stages and those inside them give.

    Raises ConfigError for one that needs what nothing before it gives.
    """
    for stage in stages:
        missing = stage.needs - given
        if missing:
            raise ConfigError(
                f"The stage {stage.name!r} needs {', '.join(sorted(missing))}, "
                "which no stage before it gives. Change the order of the recipe."
            )
        _check_order(stage.inner, given)
        given |= stage.gives
