"""Which stages, in which order: the algorithm of each variant and level, as tables.

A variant is a row of `FORMS`: the names of its stages, of those that run inside another one, and
of its tail. `stages` makes every stage as the settings want it at a level: `basic` searches by
meaning only; `standard` by meaning and words, refines topical questions and reranks; `enhanced`
takes twice the passages with their neighbours, judges its answer and tries again; `maximum` takes
more and searches in rounds too.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ragstone.answer.assemble import OWN_SECONDS, Assemble
from ragstone.answer.generate import Generate
from ragstone.answer.reason import THINKING_SECONDS
from ragstone.answer.rounds import ROUNDS, Rounds
from ragstone.answer.structured import Structured
from ragstone.cache.recall import Recall
from ragstone.conversation.classify import Classify
from ragstone.conversation.contextualize import Contextualize
from ragstone.conversation.converse import Converse
from ragstone.conversation.persist import Persist
from ragstone.core.clock import state_time
from ragstone.core.turn import LEVELS, Ask, Level, Plan
from ragstone.engine.recipe import CallBudget, Recipe
from ragstone.engine.stage import Stage
from ragstone.guard.guard import Guard
from ragstone.recipes.stage_options import with_options
from ragstone.recipes.stages import STAGES, RecipeKey, added_stage_names, with_added
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
from ragstone.verify.check import Check, CheckHeld
from ragstone.verify.cite import Cite
from ragstone.verify.score import Score

LATE_WEIGHT = 0.5
"""What late interaction counts against meaning and words together, in collections that are
searched by it; 0 does not search by it (`python -m benchmarks late_interaction`)."""

RERANKED = 30
"""Candidates that are compared again: so many late interaction compares well within the time of a
search (`python -m benchmarks latency`)."""


def plans(settings: Settings) -> Mapping[Level, Plan]:
    """Return what each level plans for a question."""
    rag = settings.rag
    standard = Plan(
        candidates=rag.candidates,
        top_k=rag.top_k,
        fusion=rag.fusion,
        strategy="hybrid" if rag.use_hybrid_search else "dense",
        dense_weight=rag.meaning,
        feedback=True,
        rerank=rag.rerank,
        reranked=RERANKED,
        min_similarity=rag.similarity_threshold if rag.verification_enabled else 0.0,
        rewrite=rag.rewrite,
        rewrites=rag.rewrites,
        tree=rag.tree,
        late_weight=LATE_WEIGHT,
    )
    enhanced = replace(
        standard, top_k=2 * rag.top_k, reranked=2 * RERANKED, neighbours=1, edges=True
    )
    return {
        "basic": replace(
            standard, strategy="dense", feedback=False, rerank=False, min_similarity=0.0
        ),
        "standard": standard,
        "enhanced": enhanced,
        "maximum": replace(
            enhanced,
            strategy="iterative" if rag.use_hybrid_search else "dense",
            top_k=3 * rag.top_k,
            # The query pipeline document adds HyDE and step-back to complex questions.
            rewrite="combined" if rag.rewrite == "auto" else rag.rewrite,
        ),
    }


AROUND_REPLY = 60.0
"""Seconds that an answer may take besides the chat model's longest reply."""

BUDGETS: Mapping[Level, CallBudget] = {
    "basic": CallBudget(4, 10_000),
    "standard": CallBudget(8, 20_000),
    "enhanced": CallBudget(16, 40_000),
    "maximum": CallBudget(30, 80_000),
}
"""What the work around an answer may take at each level."""

Variant = Literal["plain", "judged", "search", "functions", "tools", "conversation", "structured"]
"""plain answers once, judged tries again until the answer is good enough; search ends with the
ranked passages; functions is a search and one reply that may call the request's functions; tools
lets the chat model gather what it answers from; conversation answers from what was said;
structured writes JSON, which is not recalled, and is checked by the field."""


Names = tuple[str, ...]


EACH: Mapping[str, Names] = {"search_subqueries": ("retrieve", "rerank", "deduplicate", "expand")}
"""What finds the passages of one question."""


@dataclass(frozen=True, slots=True)
class Form:
    """A variant, by the names of stages: a stage that is switched off is left out. `inner` is what
    runs inside a stage, besides `EACH`; `options` are those in which stages differ from the other
    variants'."""

    stages: Names
    tail: Names
    inner: Mapping[str, Names] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


ASKED: Names = ("contextualize", "guard")
UNDERSTOOD: Names = ("classify", "correct", "recall", "route", "rewrite")
FOUND: Names = ("search_subqueries", *EACH["search_subqueries"])
ANSWERED: Names = ("tell_unread", "assemble", "generate", "cite", "check", "score")
KEPT: Names = ("persist",)

SEARCHED: Mapping[str, Mapping[str, Any]] = {
    "guard": {"answers": False},
    "classify": {"answers": False, "asks_model": False},
    "recall": {"answers": False},
    "route": {"sums_up": False},
    "rerank": {"editions": False},
    "deduplicate": {"near_duplicate": 1},
    "expand": {"continues": False},
    "tell_unread": {"answers": False},
}
"""What is typed into a search box is searched, not answered: a forbidden search is an error, as
guidance is not a passage, and equal passages of two documents are two finds."""

WITHOUT_FORM = {"sums_up": False, "reasons": False, "suggests": False}
"""The reply has a form of its own."""

FORMS: Mapping[Variant, Form] = {
    "plain": Form(
        (*ASKED, *UNDERSTOOD, *FOUND, "grade_passages", *ANSWERED),
        KEPT,
        inner={"grade_passages": FOUND},
        # Passages of an answer that is not judged are graded where the plan says so.
        options={"grade_passages": {"always": False}},
    ),
    "judged": Form(
        (*ASKED, *UNDERSTOOD, "rounds"),
        KEPT,
        inner={"rounds": (*FOUND, "grade_passages", *ANSWERED), "grade_passages": FOUND},
        # Nothing leaves before the best answer is known.
        options={"generate": {"holds": True}, "tell_unread": {"holds": True}},
    ),
    "search": Form(
        (*ASKED, *UNDERSTOOD, *FOUND, "tell_unread"),
        KEPT,
        options={**SEARCHED, "persist": {"stores": False}},
    ),
    "functions": Form(
        (*ASKED, *UNDERSTOOD, *FOUND, "tell_unread", "assemble", "generate", "cite"),
        KEPT,
        options={
            **SEARCHED,
            "assemble": WITHOUT_FORM,
            "generate": {
                "holds": False,
                "spares": False,
                "thinks": "never",
                "votes": False,
                "stands_by": False,
            },
        },
    ),
    # Nothing of the next two is recalled, as it depends on more than question and documents; and
    # what tools give is not a document's text, by which it could be foreseen that there is no
    # answer.
    "tools": Form(
        (*ASKED, *(name for name in UNDERSTOOD if name != "recall"), *FOUND, *ANSWERED),
        KEPT,
        options={"generate": {"spares": False}, "tell_unread": {"answers": False}},
    ),
    "conversation": Form((*ASKED, "converse"), KEPT),
    "structured": Form(
        (
            *ASKED,
            *(name for name in UNDERSTOOD if name != "recall"),
            *FOUND,
            "tell_unread",
            "assemble",
            "structured",
            "cite",
            "check",
            "score",
        ),
        KEPT,
        options={"classify": {"answers": False}, "assemble": WITHOUT_FORM},
    ),
}


class Recipes:
    """The recipes that the settings make, each when it is first asked for.

    Raises ConfigError for an option that a stage cannot have. Without rehydration turns from
    before `begun` (s since 1970) are left out.
    """

    def __init__(self, settings: Settings, begun: float | None = None) -> None:
        self._settings = settings
        self._begun = begun
        self._made: dict[tuple[Variant, Level], Recipe] = {}
        self._stages: dict[Level, Mapping[str, Stage]] = {}

    def of(self, variant: Variant, level: Level) -> Recipe:
        """Return the recipe of a variant at a level."""
        known = self._made.get((variant, level))
        if known is None:
            known = self._made[variant, level] = self._recipe(variant, level)
        return known

    def answer_recipe(self, ask: Ask) -> Recipe:
        """Return the recipe that answers this question."""
        if ask.search_type == "gpt":
            return self.of("conversation", ask.level)
        if ask.json is not None:
            return self.of("structured", ask.level)
        if ask.search_type == "pa":
            return self.of("tools", ask.level)
        judges = self.judges(ask.level) if ask.verifies is None else ask.verifies
        return self.of("judged" if judges else "plain", ask.level)

    def search_recipe(self, ask: Ask) -> Recipe:
        """Return the recipe that finds this question's passages."""
        return self.of("search", ask.level)

    def call_recipe(self, ask: Ask) -> Recipe:
        """Return the recipe that lets the chat model call this question's functions."""
        return self.of("functions", ask.level)

    def judges(self, level: Level) -> bool:
        """Tell whether answers of this level are judged unless the request says otherwise."""
        if not self._settings.self_rag.enabled:
            return False
        stages = self.of("judged", level).stages
        return any(isinstance(stage, Rounds) and stage.judges(level) for stage in stages)

    def every(self) -> Iterator[Recipe]:
        """Yield all of them."""
        for variant in FORMS:
            for level in LEVELS:
                yield self.of(variant, level)

    def _recipe(self, variant: Variant, level: Level) -> Recipe:
        form, key = FORMS[variant], RecipeKey(self._settings, level, variant)
        known = self._stages.get(level)
        if known is None:
            known = self._stages[level] = stages(self._settings, level, self._begun)
        options = self._settings.stages
        return Recipe(
            with_options(with_added(_build_stages(form.stages, form, known), key), options),
            with_options(with_added(_build_stages(form.tail, form, known), key), options),
            BUDGETS[level],
        )


def _build_stages(names: Names, form: Form, known: Mapping[str, Stage]) -> tuple[Stage, ...]:
    """Return the stages of these names with the options of a form."""
    made, inner = [], {**EACH, **form.inner}
    for stage in (known[name] for name in names if name in known):
        changes = dict(form.options.get(stage.name, {}))
        if stage.name in inner:
            changes["inner"] = _build_stages(inner[stage.name], form, known)
        made.append(stage.but(**changes))
    return tuple(made)


def stages(settings: Settings, level: Level, begun: float | None = None) -> Mapping[str, Stage]:
    """Return every stage that is switched on, by its name."""
    since = 0.0 if settings.conversation.db_rehydration_enabled else begun or state_time()
    parts = (
        _understanding_stages(settings, level, since),
        _search_stages(settings),
        _answer_stages(settings, level),
        _tail_stages(settings),
    )
    return {stage.name: stage for part in parts for stage in part}


def _understanding_stages(settings: Settings, level: Level, since: float) -> Iterator[Stage]:
    """Yield the stages that read the question, check it, and plan the answer."""
    rag, adaptive, conversation = settings.rag, settings.adaptive, settings.conversation
    decides = settings.llm.decides
    yield Contextualize(
        remembers=conversation.max_history_turns,
        since=since,
        rewriting=conversation.query_rewriting_enabled,
    )
    if rag.forbidden_check_enabled:
        yield guard(settings)
    yield Classify(
        asks_model="intent" in decides,
        asks_documents=level in ROUNDS and "documents" in decides,
        threshold=adaptive.intent_threshold,
    )
    if settings.spelling.enabled:
        yield Correct()
    if settings.cache.enabled:
        yield _recall(settings, level)
    yield Route(plan=plans(settings)[level], asks_model="complexity" in decides, mode=rag.mode)
    yield Rewrite(
        expands=rag.query_expansion_enabled,
        imagines=rag.hyde_enabled,
        adds_terms=rag.keywords_enabled,
        mode=rag.mode,
    )


def _search_stages(settings: Settings) -> Iterator[Stage]:
    """Yield the stages that search, alone or inside stages that search several times."""
    rag, loop = settings.rag, settings.self_rag
    yield SearchSubqueries()
    yield Retrieve(rrf_k=rag.rrf_k, title_boost=rag.title_boost)
    yield Rerank()
    yield Deduplicate()
    yield Expand()
    if rag.verification_enabled:
        yield GradePassages()
    yield Rounds(most=loop.max_iterations, enough=loop.score_threshold / 100)


def _answer_stages(settings: Settings, level: Level) -> Iterator[Stage]:
    """Yield the stages that answer and check."""
    rag, timeout = settings.rag, settings.llm.total_timeout + AROUND_REPLY
    holds = rag.checking in ("hold", "strict")
    yield TellUnread(holds=holds)
    yield Assemble(
        timeout=timeout + OWN_SECONDS,
        context_tokens=rag.context_tokens,
        context_chars=rag.context_chars,
        compression=rag.compression,
        no_answer=rag.no_answer,
        mode=rag.mode,
        reasons=level in ROUNDS,
        layout=rag.prompt_layout,
    )
    yield Generate(
        timeout=THINKING_SECONDS + timeout,
        holds=holds,
        thinks={"maximum": "at length", "enhanced": "always"}.get(level, "asked"),
        tells_thoughts=not holds,
        compares_faqs="faq" in settings.llm.decides,
        stands_by=settings.llm.fallback == "extractive",
    )
    yield Structured(timeout=timeout, holds=holds)
    yield Cite()
    asks = "sentences" in settings.llm.decides
    if rag.checking == "report":
        yield Check(asks_model=asks)
    elif rag.checking != "off":
        yield CheckHeld(asks_model=asks, strict=rag.checking == "strict")
    yield Score()
    yield Converse(timeout=timeout)


def _tail_stages(settings: Settings) -> Iterator[Stage]:
    """Yield the stages that run after the answer."""
    yield Persist(
        ttl=settings.cache.default_ttl_seconds,
        days=settings.statistics.trace_days,
        questions=settings.statistics.questions,
    )


def guard(settings: Settings) -> Guard:
    """Return the check of forbidden topics."""
    rag = settings.rag
    return Guard(
        mode=rag.forbidden_check_mode,
        threshold=rag.forbidden_check_threshold,
        guidance=rag.forbidden_guidance,
    )


def _recall(settings: Settings, level: Level) -> Recall:
    """Return the cache's stage; results of other settings are none of this recipe's."""
    behind = {"server", "cache", "log_level", "ragstone_data", "service"}
    behind |= {"statistics", "log", "telemetry", "dialects", "auth", "limits"}
    added = [(name, STAGES[name].package) for name in added_stage_names()]
    said = (level, settings.model_dump_json(exclude=behind), *added)
    recipe = hashlib.blake2b(repr(said).encode(), digest_size=16).hexdigest()
    own = settings.cache
    return Recall(recipe=recipe, answers=True, mode=own.threshold_mode)
