"""The strategies that the documents name, and what each means to Ragstone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from ragstone.core.turn import STRATEGIES, Rewriting, Strategy


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a strategy asks for; None leaves it to the plan."""

    strategy: Strategy | None = None
    rewrite: Rewriting | None = None
    verifies: bool | None = None


NAMED: Mapping[str, Wanted] = {
    **{name: Wanted(name) for name in STRATEGIES},
    "dense_only": Wanted("dense"),
    "direct": Wanted("hybrid", "none"),
    "hyde": Wanted("hybrid", "hyde"),
    "lightrag": Wanted("graph"),
    "query_decomposition": Wanted("hybrid", "decompose"),
    "self_rag": Wanted(verifies=True),
}
"""By their names in lower case; the first rows are ours."""


def _check_name(name: str) -> str:
    if name.lower() not in NAMED:
        raise ValueError(f"there is no strategy {name!r}; use one of {', '.join(NAMED)}")
    return name.lower()


StrategyName = Annotated[
    str,
    Field(max_length=50, description="How it is searched; without one that is decided by plan."),
    AfterValidator(_check_name),
]


def find_strategy(strategy: str | None) -> Wanted:
    """Return what a checked name asks for."""
    return NAMED[strategy] if strategy else Wanted()
