"""Decides how the question will be answered."""

import json
import re
from dataclasses import fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import Field

from ragstone.core.errors import InputError
from ragstone.core.intent import Analysis, Intent, IntentName
from ragstone.core.turn import (
    IN_ORDER,
    PLAIN,
    Ask,
    Level,
    Mode,
    Plan,
    SearchOptions,
    Strategy,
    Turn,
)
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.words import STOPWORDS
from ragstone.ports import Adapters
from ragstone.understand.complexity import analyse_question
from ragstone.understand.document_questions import find_document_list
from ragstone.understand.intents import intent_hints
from ragstone.understand.question_kinds import fold_question

SIMPLE = 3
"""Complexity up to which a question is a plain fact; 6 and 7 are the VoiceHelper document's bounds
for searching with a hypothetical answer, and for searching the question's parts."""

DEMANDING = 6
PARTS = 7

FAST_TOP_K = 5
DEMANDING_TOP_K = 2
"""How many times more passages a demanding question takes, where complexity decides."""

ROUTED: tuple[Level, ...] = ("standard",)
"""Levels whose plan complexity may make smaller; at higher ones it only adds."""

MAX_TOP_K = 1000
"""Most passages that a request may ask for."""

WIDE = 3
"""How many times more candidates a two-stage search takes and compares."""

PRECISE_DENSE = 0.8
"""Meaning's share where the mode is precise, as the chat-core document searches for it."""

Decided = tuple[Plan, str]
"""A plan, and why it is so."""


class Route(Stage):
    """Makes the question's plan: the level's, changed by what the question takes and whether
    accuracy or speed is preferred, unless the request asks otherwise. With `by_complexity` a plain
    fact is searched by meaning alone and a demanding question in every way there is."""

    name: ClassVar[str] = "route"
    needs: ClassVar[frozenset[str]] = frozenset({"question", "intent"})
    gives: ClassVar[frozenset[str]] = frozenset({"plan", "queries", "analysis"})

    plan: Plan = Field(Plan(), description="The level's plan.")
    asks_model: bool = Field(
        False, description="Whether the chat model judges how complex a question is."
    )
    analyses_preferred: bool = Field(
        False, description="Whether it does where the request prefers accuracy or speed."
    )
    compares_whole: bool = Field(
        False,
        description="Whether comparisons and aggregations are searched in other words where "
        "accuracy is preferred, and not in parts.",
    )
    by_complexity: bool = Field(
        False, description="Whether complexity decides, not the level alone."
    )

    reranked: int = Field(0, ge=0, description="Candidates compared again; 0 as the plan says.")

    mode: Mode = Field("simple", description="How it is answered unless the question asks.")

    sums_up: bool = Field(
        True, description="Whether a question for a summary is answered from a whole document."
    )
    sums_up_all: bool = Field(
        False, description="Whether a summary that names no document is of all of them."
    )
    rewrites_complex: bool = Field(
        False, description="Whether auto takes complex questions apart, and simple ones never."
    )
    widens: bool = Field(
        True, description="Whether lists, comparisons and summaries take more passages."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        ask = turn.ask
        asks = self.asks_model or (self.analyses_preferred and ask.prefer is not None)
        # As it was asked: a follow-up that was written out is no harder for that.
        asked = ask.question if self.rewrites_complex else turn.question
        analysis, usage = await analyse_question(turn, adapters, asks, asked)
        plan, why = self._base_plan(ask, analysis, turn.intent)
        if self.widens:
            plan = _with_hints(plan, ask, turn.intent)
        if self.rewrites_complex and plan.rewrite == "auto":
            # A summary reads documents as they stand: no search of it is made better by parts.
            apart = analysis.is_complex and not _has_intent(turn.intent, "summary")
            plan = replace(plan, rewrite="decompose" if apart else "none")
        if ask.top_k is not None:
            _check_range("top_k", ask.top_k, 1, MAX_TOP_K)
            plan = replace(plan, top_k=ask.top_k, candidates=max(plan.candidates, ask.top_k))
        if (ask.mode or self.mode) == "precise":
            plan = replace(plan, dense_weight=PRECISE_DENSE)
        plan = replace(plan, **_requested_options(ask.wanted))
        _check(plan)
        if self.sums_up and not ask.strategy and plan.strategy != "dense":
            plan = self._plan_documents(plan, turn)
        turn = replace(turn, plan=plan, analysis=analysis, usage=turn.usage + usage)
        return Step(
            replace(turn, queries=_queries(turn)),
            f"{plan.strategy}, {plan.top_k} passages",
            f"{why}, complexity {analysis.complexity} by {analysis.by}",
        )

    def _plan_documents(self, plan: Plan, turn: Turn) -> Plan:
        """Return the plan that sums up or lists documents, where the question asks for that."""
        name = find_wanted_document(turn.question, turn.intent)
        whole = self.sums_up_all or (name == "" and wants_everything(turn.question))
        listed = find_document_list(turn.question)
        about = listed.about if listed else ""
        return replace(plan, sums_up=name, sums_up_all=whole, lists_documents=about)

    def _base_plan(self, ask: Ask, analysis: Analysis, intent: Intent | None) -> Decided:
        """Return the plan for a question, before what the request wants in detail."""
        level = replace(self.plan, reranked=self.reranked or self.plan.reranked)
        if ask.strategy:
            smaller = ask.level in ROUTED
            if self.by_complexity and ask.strategy == "fusion":
                plan = _plan_every_way(level, smaller)
            elif self.by_complexity and ask.strategy == "dense" and smaller:
                plan = _plan_by_meaning(level)
            else:
                plan = with_strategy(ask.strategy, level)
            return plan, "the request asks for it"
        if level.strategy == "dense":
            return level, f"level {ask.level}"
        if ask.prefer == "speed":
            return _fast_plan(level, analysis)
        if ask.prefer == "accuracy":
            compares = analysis.comparison or _has_intent(intent, "comparison", "aggregation")
            return _accurate_plan(level, analysis, intent, self.compares_whole and compares)
        if self.by_complexity:
            precise = (ask.mode or self.mode) == "precise"
            # Lists, comparisons and the like need the passages of several places.
            plain = analysis.complexity <= SIMPLE and intent_hints(intent).top_k is None
            return _plan_by_complexity(level, ask.level in ROUTED, analysis, plain, precise)
        return level, f"level {ask.level}"


def _plan_by_complexity(
    level: Plan, smaller: bool, analysis: Analysis, plain: bool, precise: bool
) -> Decided:
    """The query pipeline document's way: every way of searching for a demanding question, the best
    documents first for one that spans several, two stages where precision is wanted, meaning alone
    for a plain fact; the last only where the plan may become `smaller` than the level's."""
    if analysis.complexity >= DEMANDING:
        return replace(_plan_every_way(level, smaller), verifies=True), "a demanding question"
    if analysis.sources or analysis.whole_document:
        return with_strategy("hierarchical", level), "it spans documents"
    if precise:
        return with_strategy("two_stage", level), "precision"
    if plain and smaller:
        return _plan_by_meaning(level), "a plain fact"
    return level, "neither plain nor demanding"


def _plan_every_way(level: Plan, smaller: bool) -> Plan:
    """The plan that also searches other wordings, a broader question and an imagined passage, and
    takes twice the passages of a `smaller` level."""
    top_k = DEMANDING_TOP_K * level.top_k if smaller else level.top_k
    plan = replace(with_strategy("fusion", level), top_k=top_k)
    return replace(plan, rewrite="combined") if plan.rewrite == "auto" else plan


def _plan_by_meaning(level: Plan) -> Plan:
    """The plan of a few passages that are searched by meaning alone."""
    plan = with_strategy("dense", level)
    return replace(plan, top_k=min(plan.top_k, FAST_TOP_K))


def _queries(turn: Turn) -> tuple[str, ...]:
    """Return the question, how it was spelt if that was corrected, and what the conversation adds:
    the correction may be wrong. Of a message that asks several, the questions."""
    if turn.subqueries:
        return turn.queries
    as_spelt = (turn.original,) if turn.original else ()
    return (turn.question, *as_spelt, *turn.queries[1:])


def _with_hints(plan: Plan, ask: Ask, intent: Intent | None) -> Plan:
    """Return the plan with what questions of this kind need: more passages, and different ones."""
    if ask.strategy or ask.prefer == "speed":
        return plan
    hints = intent_hints(intent)
    diversity = max(plan.diversity, hints.diversity)
    return replace(plan, top_k=max(plan.top_k, hints.top_k or 0), diversity=diversity)


def _fast_plan(level: Plan, analysis: Analysis) -> Decided:
    """Search by meaning alone for a plain fact; compare again only if the question demands it."""
    if analysis.complexity <= SIMPLE:
        plan = with_strategy("dense", level)
        return replace(plan, top_k=min(plan.top_k, FAST_TOP_K)), "speed, a plain fact"
    if analysis.complexity < DEMANDING:
        return replace(level, rerank=False, feedback=False), "speed"
    return level, "speed, but a demanding question"


def _accurate_plan(level: Plan, analysis: Analysis, intent: Intent | None, whole: bool) -> Decided:
    """More candidates, compared again; rounds for what one search cannot find. A question that is
    searched `whole` is not taken apart."""
    if level.rewrite == "auto" and analysis.complexity >= DEMANDING:
        parts = analysis.comparison or analysis.complexity >= PARTS
        level = replace(level, rewrite="multi" if whole else "decompose" if parts else "hyde")
    several = analysis.reasoning and analysis.complexity >= PARTS and not whole
    if _has_intent(intent, "multi_hop") or several:
        return with_strategy("iterative", level), "accuracy, several steps"
    return with_strategy("two_stage", level), "accuracy"


def _has_intent(intent: Intent | None, *names: IntentName) -> bool:
    return intent is not None and intent.name in names


def with_strategy(strategy: Strategy, plan: Plan) -> Plan:
    """Return the plan with the strategy and what that needs."""
    plan = replace(plan, strategy=strategy)
    if strategy in PLAIN:
        plan = replace(plan, rerank=False, feedback=False)
    if strategy == "sequential":
        plan = replace(plan, top_k=max(plan.top_k, IN_ORDER))
    if strategy == "two_stage":
        wide = WIDE * plan.candidates
        plan = replace(plan, candidates=wide, reranked=WIDE * plan.reranked)
    return plan


def _check(plan: Plan) -> None:
    """Raise InputError for a number that no search can mean."""
    for option in fields(SearchOptions):
        bounds = option.metadata
        if bounds["most"] is not None:
            _check_range(option.name, getattr(plan, option.name), bounds["least"], bounds["most"])


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"{name} is {value:g}; it must lie between {low:g} and {high:g}.")


def _requested_options(wanted: SearchOptions) -> dict[str, Any]:
    """Return what the request asks for, by the plan's names."""
    names = SearchOptions.__dataclass_fields__
    values = {name: getattr(wanted, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FILE_NAME = re.compile(r"\S+\.[a-z]\w{1,4}\b", re.IGNORECASE)
_CLITIC = re.compile(r"^(?:[dl]|qu|s)['’]", re.IGNORECASE)


def find_wanted_document(question: str, intent: Intent | None) -> str | None:
    """Return the words by which the question names what it wants summed up; empty if it says no
    more than "this document"; None if it wants nothing summed up."""
    plain = fold_question(question)
    summary = intent is not None and intent.name == "summary"
    rest = _FILE_NAME.sub(" ", question)
    asks = any(pattern.search(plain) for pattern in _asks()) or (
        # "What is in minutes.docx?" asks for nothing else of the file.
        rest != question and not _remove_frame(rest)
    )
    if not asks and (not summary or _others().search(plain)):
        return None
    return " ".join(word for word in _remove_frame(question) if word.casefold() not in _every())


def wants_everything(question: str) -> bool:
    """Tell whether a question that wants a summary wants it of all documents."""
    joined = any(word in question for word in _data()["every_joined"])
    return joined or any(word.casefold() in _every() for word in _remove_frame(question))


def _remove_frame(question: str) -> list[str]:
    """Return the words of the question that are not part of the usual ways to ask for a summary."""
    rest = _unspaced_pattern().sub(" ", question)
    found = (_CLITIC.sub("", match.group()) for match in _WORD.finditer(rest))
    return [
        word
        for word in found
        if word.casefold() in _every()
        or (word.casefold() not in _frame() and word.casefold() not in STOPWORDS)
    ]


@cache
def _data() -> dict[str, Any]:
    path = files("ragstone.understand").joinpath("data/summaries.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


@cache
def _asks() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile("|".join(parts)) for parts in _data()["asks"].values())


@cache
def _others() -> re.Pattern[str]:
    """Tell how questions begin that only speak of summaries: "How do I write a summary?"."""
    return re.compile("|".join(_data()["others"]))


@cache
def _frame() -> frozenset[str]:
    return frozenset(word for words in _data()["frame"].values() for word in words.split())


@cache
def _every() -> frozenset[str]:
    """Tell how languages say that all of something is meant."""
    return frozenset(word for words in _data()["every"].values() for word in words.split())


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    """Return words of scripts that part none."""
    words = sorted((*_data()["joined"], *_data()["every_joined"]), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))
