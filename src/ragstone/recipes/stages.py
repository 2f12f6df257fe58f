"""Every stage by name: ours, and those of other packages with the place that they take."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragstone.answer.assemble import Assemble
from ragstone.answer.generate import Generate
from ragstone.answer.rounds import Rounds
from ragstone.answer.structured import Structured
from ragstone.cache.recall import Recall
from ragstone.conversation.classify import Classify
from ragstone.conversation.contextualize import Contextualize
from ragstone.conversation.converse import Converse
from ragstone.conversation.persist import Persist
from ragstone.core.errors import ConfigError
from ragstone.core.turn import Level
from ragstone.engine.stage import Stage
from ragstone.guard.guard import Guard
from ragstone.registry import Extension, Registry, summary
from ragstone.retrieve.deduplicate import Deduplicate
from ragstone.retrieve.expand import Expand
from ragstone.retrieve.grade_passages import GradePassages
from ragstone.retrieve.rerank import Rerank
from ragstone.retrieve.retrieve import Retrieve
from ragstone.retrieve.search_subqueries import SearchSubqueries
from ragstone.retrieve.tell_unread import TellUnread
from ragstone.settings import Settings
from ragstone.understand.correct import Correct
from ragstone.understand.rewrite import Rewrite
from ragstone.understand.route import Route
from ragstone.verify.check import Check
from ragstone.verify.cite import Cite
from ragstone.verify.score import Score

OURS: tuple[type[Stage], ...] = (
    Contextualize, Guard, Classify, Correct, Recall, Route, Rewrite,
    SearchSubqueries, Retrieve, Rerank, Deduplicate, Expand,
    GradePassages, Rounds, TellUnread, Assemble,
    Generate, Structured, Cite, Check, Score, Converse, Persist,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RecipeKey:
    """Which recipe a stage is made for."""

    settings: Settings
    level: Level
    variant: str

    @property
    def holds(self) -> bool:
        """Whether nothing of an answer leaves before it is checked, or is known to be the best."""
        return self.variant == "judged" or self.settings.rag.checking in ("hold", "strict")

    @property
    def answers_alone(self) -> bool:
        """Whether the answer is a text from passages that a search found: no tools, no JSON."""
        return self.variant in ("plain", "judged")


@dataclass(frozen=True, slots=True)
class AddedStage:
    """A stage of a plugin or another package and its place: after or before the stage of the core
    that it names, in every recipe that has that one; or around the stages from the first to the
    last that it names, which run inside it, in every recipe whose own stages these are.

    `make` makes it for a recipe, or None for those that do without it; without `make` it is made
    without arguments, so that its options have their defaults.
    """

    stage: type[Stage]
    after: str = ""
    before: str = ""
    around: tuple[str, str] = ("", "")
    make: Callable[[RecipeKey], Stage | None] | None = None

    def stages(self, key: RecipeKey) -> list[Stage]:
        """Return the stage for a recipe, or nothing."""
        made = self.make(key) if self.make else self.stage()
        return [] if made is None else [made]

    def enclose(self, stages: Sequence[Stage], key: RecipeKey) -> Sequence[Stage]:
        """Return the stages of a recipe, with those that this one is around inside of it."""
        names = [stage.name for stage in stages]
        if not {*self.around} <= {*names}:
            return stages
        first, last = names.index(self.around[0]), names.index(self.around[1])
        inner = tuple(stages[first : last + 1])
        outer = [stage.but(inner=inner) for stage in self.stages(key)] or inner
        return (*stages[:first], *outer, *stages[last + 1 :])


STAGES: Registry[AddedStage] = Registry(
    "ragstone.stages",
    "stage",
    {item.name: Extension(item, summary(item)) for item in OURS},
    is_a=AddedStage,
)
"""Stages by their name."""


def added_stage_names() -> list[str]:
    """Return the names of the stages of plugins and other packages."""
    core = {item.name for item in OURS}
    return [name for name in STAGES if name not in core]


def with_added(stages: Sequence[Stage], key: RecipeKey) -> tuple[Stage, ...]:
    """Return the stages with the added ones in their places, also inside stages that run others.

    Raises ConfigError for a stage of another package that is broken or whose name is taken: it may
    be one that no question should be answered without.
    """
    added = [_load_stage(name) for name in added_stage_names()]
    if STAGES.refusals:
        raise ConfigError(STAGES.refusals[0])
    for item in added:
        stages = item.enclose(stages, key)
    return _insert_added(stages, added, key) if added else tuple(stages)


def _insert_added(
    stages: Sequence[Stage], added: Sequence[AddedStage], key: RecipeKey
) -> tuple[Stage, ...]:
    placed: list[Stage] = []
    for stage in stages:
        if stage.inner:
            stage = stage.but(inner=_insert_added(stage.inner, added, key))
        for item in added:
            placed += item.stages(key) if item.before == stage.name else []
        placed.append(stage)
        for item in added:
            placed += item.stages(key) if item.after == stage.name else []
    return tuple(placed)


def _load_stage(name: str) -> AddedStage:
    """Return the added stage of this name; raises ConfigError."""
    added = STAGES.get(name)
    if _checked.get(name) is not added:
        with STAGES.explain_errors(name):
            _check_stage(name, added)
        _checked[name] = added
    return added


_checked: dict[str, AddedStage] = {}
"""What is right, as every recipe asks for it."""


def _check_stage(name: str, added: AddedStage) -> None:
    """Raise ValueError or TypeError for a stage that is not what it is said to be."""
    if added.stage.name != name:
        raise ValueError(f"its class has the name {added.stage.name!r}")
    core = [item.name for item in OURS]
    places = [names for names in ((added.after,), (added.before,), added.around) if any(names)]
    if len(places) != 1 or {*places[0]} - {*core}:
        raise ValueError(
            f"it has no place: after or before is to be one, or around two, of {', '.join(core)}"
        )
    if added.make is None:
        added.stage()
    inspect.signature(added.stage.run).bind("self", "turn", "adapters", "emit")
