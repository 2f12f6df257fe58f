"""Which stages, in which order: the algorithm of each level.

`basic` searches by meaning only; `standard` by meaning and words, refines topical questions and
reranks; `enhanced` takes twice the passages with their neighbours; `maximum` searches in rounds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragstone.errors import ConfigError
from ragstone.settings import Settings
from ragstone.stage import Stage
from ragstone.stages.assemble import Assemble
from ragstone.stages.cite import Cite
from ragstone.stages.classify import Classify
from ragstone.stages.contextualize import Contextualize
from ragstone.stages.correct import Correct
from ragstone.stages.expand import Expand
from ragstone.stages.fuse import Fuse
from ragstone.stages.generate import Generate
from ragstone.stages.grade import Grade
from ragstone.stages.guard import Guard
from ragstone.stages.persist import Persist
from ragstone.stages.rerank import Rerank
from ragstone.stages.retrieve import Retrieve
from ragstone.stages.rewrite import Rewrite
from ragstone.stages.route import Route
from ragstone.turn import Level, Plan


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


def recipes(settings: Settings) -> Mapping[Level, Recipe]:
    """The recipe of every level."""
    rag = settings.rag
    standard = Plan(
        candidates=rag.candidates,
        top_k=rag.top_k,
        fusion=rag.fusion,
        dense_weight=rag.dense_weight,
        feedback=rag.feedback,
        rerank=rag.rerank,
        reranked=rag.reranked,
        min_similarity=rag.similarity_threshold,
        rewrite=rag.rewrite,
        rewrites=rag.rewrites,
    )
    enhanced = replace(
        standard,
        top_k=2 * rag.top_k,
        reranked=2 * rag.reranked,
        neighbours=1,
        edges=True,
    )
    plans: Mapping[Level, Plan] = {
        "basic": replace(standard, strategy="dense", feedback=False, rerank=False),
        "standard": standard,
        "enhanced": enhanced,
        "maximum": replace(enhanced, strategy="iterative", top_k=3 * rag.top_k),
    }
    return {level: _recipe(settings, plan) for level, plan in plans.items()}


def search_recipes(settings: Settings) -> Mapping[Level, Recipe]:
    """The same levels, up to the ranked passages: equal passages of two documents are two finds.

    A forbidden search is an error, as guidance is no passage.
    """
    searches = {}
    for level, recipe in recipes(settings).items():
        names = [stage.name for stage in recipe.stages]
        stages = recipe.stages[: names.index(Expand.name) + 1]
        searches[level] = Recipe(tuple(_searching(stage) for stage in stages))
    return searches


def _searching(stage: Stage) -> Stage:
    """The stage as a search needs it: what is typed into a search box is searched, not answered."""
    if isinstance(stage, Grade):
        return Grade(near_duplicate=1)
    if isinstance(stage, Classify):
        return Classify(answers=False, asks_model=False, threshold=stage.threshold)
    return stage.model_copy(update={"answers": False}) if isinstance(stage, Guard) else stage


def guard(settings: Settings) -> Guard:
    """The check of forbidden topics."""
    rag = settings.rag
    return Guard(
        mode=rag.forbidden_check_mode,
        threshold=rag.forbidden_check_threshold,
        guidance=rag.forbidden_guidance,
    )


def _recipe(settings: Settings, plan: Plan) -> Recipe:
    rag = settings.rag
    return Recipe(
        stages=(
            Contextualize(
                max_question_chars=rag.max_question_chars,
                rewriting=settings.conversation.query_rewriting_enabled,
                turns=settings.conversation.rewriting_turns,
            ),
            *([guard(settings)] if rag.forbidden_check_enabled else []),
            Classify(
                asks_model=settings.adaptive.intents == "llm",
                threshold=settings.adaptive.intent_threshold,
            ),
            *([Correct()] if settings.spelling.enabled else []),
            Route(plan=plan, analyzer=settings.adaptive.analyzer),
            Rewrite(),
            Retrieve(),
            Fuse(rrf_k=rag.rrf_k, title_boost=rag.title_boost),
            Rerank(),
            Grade(),
            Expand(),
            Assemble(context_tokens=rag.context_tokens),
            Generate(timeout=rag.answer_timeout),
            Cite(),
        ),
        tail=(Persist(),),
    )
