"""A recipe: which stages run for a question, in which order."""

from collections.abc import Iterable
from dataclasses import dataclass

from ragstone.core.errors import ConfigError
from ragstone.engine.budget import CallBudget
from ragstone.engine.stage import Stage


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
