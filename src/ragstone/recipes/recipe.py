"""Which stages, in which order: the algorithm of each level.

`basic` searches by meaning only; `standard` by meaning and words, refines topical questions and
reranks; `enhanced` takes twice the passages with their neighbours, judges its answer and tries
again; `maximum` takes more and searches in rounds too.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ragstone.agent.tool_agent import ToolAgent
from ragstone.answer.assemble import Assemble
from ragstone.answer.build_prompt import BuildPrompt
from ragstone.answer.cite import Cite
from ragstone.answer.generate import Generate
from ragstone.answer.pre_answer_gate import PreAnswerGate
from ragstone.answer.reason import Reason
from ragstone.answer.rounds import Rounds
from ragstone.answer.voting import Voting
from ragstone.cache.recall import Recall
from ragstone.cache.remember import Remember
from ragstone.conversation.converse import Converse
from ragstone.conversation.memory import Memory
from ragstone.conversation.persist import Persist
from ragstone.conversation.record_trace import Record
from ragstone.conversation.retrieval_gate import RetrievalGate
from ragstone.core.errors import ConfigError
from ragstone.core.turn import Ask, Level, Plan, SearchType
from ragstone.engine.stage import Stage
from ragstone.guard.guard import Guard
from ragstone.recipes.plans import plans
from ragstone.recipes.stage_options import with_options
from ragstone.recipes.stages import STAGES, with_added
from ragstone.retrieve.deduplicate import Deduplicate
from ragstone.retrieve.expand import Expand
from ragstone.retrieve.fuse import Fuse
from ragstone.retrieve.grade_passages import GradePassages
from ragstone.retrieve.rerank import Rerank
from ragstone.retrieve.retrieve import Retrieve
from ragstone.settings import Settings
from ragstone.understand.classify import Classify
from ragstone.understand.contextualize import Contextualize
from ragstone.understand.correct import Correct
from ragstone.understand.rewrite import Rewrite
from ragstone.understand.route import Route
from ragstone.verify.check import Check, CheckHeld
from ragstone.verify.score import Score

ROUNDS: tuple[Level, ...] = ("enhanced", "maximum")
"""Levels whose answers are judged and tried again."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Stages that a client waits for, and a tail that runs after the last event, all at once.

    `judges` says whether the answer is judged and tried again; `other` is the recipe of the same
    level that does the opposite, for requests that want it.
    """

    stages: tuple[Stage, ...]
    tail: tuple[Stage, ...] = ()
    judges: bool = False
    other: "Recipe | None" = None

    def of(self, ask: Ask) -> "Recipe":
        """The recipe for a request."""
        wants = self.judges if ask.verifies is None else ask.verifies
        return self if self.other is None or wants == self.judges else self.other

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
    """The recipe of every level. Raises ConfigError for an option that a stage cannot have."""
    made = {level: _recipe(settings, level, plan) for level, plan in plans(settings).items()}
    return {level: _with_options(recipe, settings) for level, recipe in made.items()}


def _with_options(recipe: Recipe, settings: Settings) -> Recipe:
    """The recipe with the options of stages that the settings name."""
    options = settings.stages
    return replace(
        recipe,
        stages=with_options(with_added(recipe.stages), options),
        tail=with_options(with_added(recipe.tail), options),
        other=_with_options(recipe.other, settings) if recipe.other else None,
    )


def other_recipes(settings: Settings) -> Mapping[SearchType, Mapping[Level, Recipe]]:
    """What is not answered from documents alone: conversations (gpt), and documents with tools
    (pa). Nothing of them is recalled: it depends on more than the question and the documents."""
    talk = Converse(timeout=settings.rag.answer_timeout)
    tail = (Persist(), _record(settings))
    conversation = _with_options(Recipe((*_asked(settings), talk), tail), settings)
    planned = {
        level: _with_options(Recipe(_planned(settings, level, plan), tail), settings)
        for level, plan in plans(settings).items()
    }
    return {"gpt": dict.fromkeys(planned, conversation), "pa": planned}


def _planned(settings: Settings, level: Level, plan: Plan) -> tuple[Stage, ...]:
    """The stages of a question that is answered with tools."""
    before = _understanding(settings, level, plan)
    answering, mcp = _answering(settings, level), settings.mcp
    searching = [stage.name for stage in answering].index(Expand.name) + 1
    act = ToolAgent(
        rounds=mcp.max_rounds,
        calls=mcp.max_calls,
        seconds=mcp.max_seconds,
        tokens=mcp.max_tokens,
        result_chars=mcp.max_result_chars,
        stages=answering[:searching],
    )
    known = tuple(stage for stage in before if not isinstance(stage, Recall))
    # What tools give is no document's text, by which it could be foreseen that there is no answer.
    rest = tuple(stage for stage in answering[searching:] if not isinstance(stage, PreAnswerGate))
    return (*known, act, *rest)


def search_recipes(settings: Settings) -> Mapping[Level, Recipe]:
    """The same levels, up to the ranked passages: equal passages of two documents are two finds.

    A forbidden search is an error, as guidance is no passage.
    """
    searches = {}
    for level, plan in plans(settings).items():
        stages = (*_understanding(settings, level, plan), *_answering(settings, level))
        names = [stage.name for stage in stages]
        ranked = stages[: names.index(Expand.name) + 1]
        searching = Recipe(
            tuple(_searching(stage, settings, level) for stage in ranked), _remember(settings)
        )
        searches[level] = _with_options(searching, settings)
    return searches


def _searching(stage: Stage, settings: Settings, level: Level) -> Stage:
    """The stage as a search needs it: what is typed into a search box is searched, not answered."""
    if isinstance(stage, Deduplicate):
        return Deduplicate(near_duplicate=1)
    if isinstance(stage, Classify):
        return Classify(answers=False, asks_model=False, threshold=stage.threshold)
    if isinstance(stage, RetrievalGate):
        return RetrievalGate(answers=False)
    if isinstance(stage, Recall):
        return _recall(settings, level, answers=False)
    return stage.model_copy(update={"answers": False}) if isinstance(stage, Guard) else stage


def guard(settings: Settings) -> Guard:
    """The check of forbidden topics."""
    rag = settings.rag
    return Guard(
        mode=rag.forbidden_check_mode,
        threshold=rag.forbidden_check_threshold,
        guidance=rag.forbidden_guidance,
    )


def _recall(settings: Settings, level: Level, answers: bool) -> Recall:
    """The cache's stage; results of other settings are none of this recipe's."""
    behind = {"server", "cache", "log_level", "ragstone_data", "db", "service"}
    behind |= {"statistics", "log", "telemetry", "dialects", "plone", "auth", "limits", "jobs"}
    added = [one.package for one in STAGES.others.values()]
    said = (level, answers, settings.model_dump_json(exclude=behind), *added)
    recipe = hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()
    return Recall(recipe=recipe, answers=answers, mode=settings.cache.threshold_mode)


def _remember(settings: Settings) -> tuple[Stage, ...]:
    return (Remember(),) if settings.cache.enabled else ()


def _check(settings: Settings) -> tuple[Stage, ...]:
    """The verdicts on the answer, if they are wanted."""
    rag = settings.rag
    asks = rag.checking_judge == "llm"
    match rag.checking:
        case "off":
            return ()
        case "report":
            return (Check(asks_model=asks),)
        case mode:
            return (CheckHeld(asks_model=asks, strict=mode == "strict"),)


def _recipe(settings: Settings, level: Level, plan: Plan) -> Recipe:
    before, answering = _understanding(settings, level, plan), _answering(settings, level)
    tail = (Persist(), *_remember(settings), _record(settings))
    plain = Recipe((*before, *answering), tail)
    judged = Recipe((*before, _rounds(settings, answering)), tail, judges=True)
    if settings.self_rag.enabled and level in ROUNDS:
        return replace(judged, other=plain)
    return replace(plain, other=judged)


def _record(settings: Settings) -> Record:
    """The stage that keeps traces."""
    kept = settings.statistics
    return Record(days=kept.trace_days, questions=kept.questions)


def _understanding(settings: Settings, level: Level, plan: Plan) -> tuple[Stage, ...]:
    """What happens to the question before anything is searched."""
    rag, adaptive = settings.rag, settings.adaptive
    return (
        *_asked(settings),
        Classify(asks_model=adaptive.intents == "llm", threshold=adaptive.intent_threshold),
        RetrievalGate(asks_model=level in ROUNDS and settings.self_rag.need == "llm"),
        *([Correct()] if settings.spelling.enabled else []),
        *([_recall(settings, level, answers=True)] if settings.cache.enabled else []),
        Route(plan=plan, analyzer=adaptive.analyzer, mode=rag.mode, max_top_k=rag.max_top_k),
        Rewrite(expands=rag.query_expansion_enabled, imagines=rag.hyde_enabled),
    )


def _asked(settings: Settings) -> tuple[Stage, ...]:
    """What is asked, and whether it may be."""
    rag, conversation = settings.rag, settings.conversation
    return (
        Memory(
            turns=conversation.max_history_turns,
            since=0.0 if conversation.db_rehydration_enabled else time.time(),
        ),
        Contextualize(
            max_question_chars=rag.max_question_chars,
            rewriting=conversation.query_rewriting_enabled,
            rewriting_by=conversation.rewriting_by,
            turns=conversation.rewriting_turns,
        ),
        *([guard(settings)] if rag.forbidden_check_enabled else []),
    )


def _answering(settings: Settings, level: Level) -> tuple[Stage, ...]:
    """Searching, answering and checking."""
    rag, ensemble = settings.rag, settings.ensemble
    holds = rag.checking in ("hold", "strict")
    voting = Voting(ensemble.samples, ensemble.temperature, ensemble.concurrency, ensemble.seconds)
    return (
        Retrieve(),
        Fuse(rrf_k=rag.rrf_k, title_boost=rag.title_boost),
        Rerank(),
        Deduplicate(),
        Expand(),
        Assemble(
            context_tokens=rag.context_tokens,
            context_chars=rag.context_chars,
            compression=rag.compression,
        ),
        BuildPrompt(
            no_answer=rag.no_answer,
            mode=rag.mode,
            reasons=level in ROUNDS,
            suggests=rag.suggestions,
            refuse_below=rag.refuse_below,
        ),
        PreAnswerGate(faq=rag.faq_direct, refuse_below=rag.refuse_before_model, holds=holds),
        Reason(
            reasons=level in ROUNDS,
            extended=level == "maximum",
            tokens=settings.self_rag.reasoning_tokens,
            holds=holds,
        ),
        Generate(
            timeout=rag.answer_timeout,
            holds=holds,
            votes=level == "maximum" and ensemble.configured,
            voting=voting,
        ),
        Cite(),
        *_check(settings),
        Score(),
    )


def _rounds(settings: Settings, stages: tuple[Stage, ...]) -> Rounds:
    """Answering in rounds; nothing leaves before the best answer is known."""
    loop = settings.self_rag
    held = [
        stage.model_copy(update={"holds": True})
        if isinstance(stage, PreAnswerGate | Generate)
        else stage
        for stage in stages
    ]
    if settings.rag.verification_enabled:
        place = [stage.name for stage in held].index(Expand.name) + 1
        held.insert(place, _appraise(settings, held[:place]))
    return Rounds(
        stages=tuple(held),
        most=loop.max_iterations,
        enough=loop.score_threshold / 100,
        seconds=loop.max_seconds,
        tokens=loop.max_tokens,
    )


def _appraise(settings: Settings, searching: Sequence[Stage]) -> GradePassages:
    """The chat model's look at what `searching` found."""
    loop = settings.self_rag
    return GradePassages(
        most=loop.graded_passages,
        enough=loop.retrieval_threshold,
        least=loop.passage_threshold,
        stages=tuple(searching),
    )
