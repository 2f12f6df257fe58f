"""Which stages, in which order: the algorithm of each level.

`basic` searches by meaning only and answers directly; `standard` searches by meaning and words.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ragstone.errors import ConfigError
from ragstone.settings import RagSettings
from ragstone.stage import Stage
from ragstone.stages.assemble import Assemble
from ragstone.stages.cite import Cite
from ragstone.stages.fuse import Fuse
from ragstone.stages.generate import Generate
from ragstone.stages.persist import Persist
from ragstone.stages.retrieve import Retrieve
from ragstone.stages.route import Route
from ragstone.turn import Level, Strategy


@dataclass(frozen=True, slots=True)
class Recipe:
    """Stages that a client waits for, and a tail that runs after the last event."""

    stages: tuple[Stage, ...]
    tail: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        given = {"ask"}
        for stage in (*self.stages, *self.tail):
            missing = stage.needs - given
            if missing:
                raise ConfigError(
                    f"The stage {stage.name!r} needs {', '.join(sorted(missing))}, "
                    "which no stage before it gives. Change the order of the recipe."
                )
            given |= stage.gives


def recipes(settings: RagSettings) -> Mapping[Level, Recipe]:
    """The recipe of every level."""
    return {
        "basic": _recipe(settings, strategy="dense", top_k=settings.top_k),
        "standard": _recipe(settings, strategy="hybrid", top_k=settings.top_k),
        "enhanced": _recipe(settings, strategy="hybrid", top_k=2 * settings.top_k),
        "maximum": _recipe(settings, strategy="hybrid", top_k=3 * settings.top_k),
    }


def search_recipes(settings: RagSettings) -> Mapping[Level, Recipe]:
    """The same levels, up to the ranked passages."""
    return {level: Recipe(recipe.stages[:3]) for level, recipe in recipes(settings).items()}


def _recipe(settings: RagSettings, strategy: Strategy, top_k: int) -> Recipe:
    return Recipe(
        stages=(
            Route(
                strategy=strategy,
                top_k=top_k,
                candidates=settings.candidates,
                dense_weight=settings.dense_weight,
                max_question_chars=settings.max_question_chars,
            ),
            Retrieve(),
            Fuse(),
            Assemble(context_tokens=settings.context_tokens),
            Generate(timeout=settings.answer_timeout),
            Cite(),
        ),
        tail=(Persist(),),
    )
