"""Every stage by name: ours, and those of other packages with the place that they take."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.agent.cut_short import CutShort
from ragstone.agent.tool_agent import ToolAgent
from ragstone.answer.assemble import Assemble
from ragstone.answer.build_prompt import BuildPrompt
from ragstone.answer.generate import Generate
from ragstone.answer.pre_answer_gate import PreAnswerGate
from ragstone.answer.reason import Reason
from ragstone.answer.rounds import Rounds
from ragstone.answer.structured import Structured
from ragstone.answer.sum_up import SumUp
from ragstone.cache.recall import Recall
from ragstone.cache.remember import Remember
from ragstone.conversation.converse import Converse
from ragstone.conversation.memory import Memory
from ragstone.conversation.persist import Persist
from ragstone.conversation.record_trace import Record
from ragstone.conversation.retrieval_gate import RetrievalGate
from ragstone.core.errors import ConfigError
from ragstone.engine.stage import Stage
from ragstone.guard.guard import Guard
from ragstone.knowledge.comments.ask_comments import AskComments
from ragstone.knowledge.graph.add_related import AddRelated
from ragstone.knowledge.multi_hop import MultiHop
from ragstone.knowledge.summaries.traverse import Traverse
from ragstone.knowledge.tables.ask_tables import Tables
from ragstone.registry import Extension, Registry, summary
from ragstone.retrieve.deduplicate import Deduplicate
from ragstone.retrieve.expand import Expand
from ragstone.retrieve.fuse import Fuse
from ragstone.retrieve.grade_passages import GradePassages
from ragstone.retrieve.rerank import Rerank
from ragstone.retrieve.retrieve import Retrieve
from ragstone.retrieve.search_subqueries import SearchSubqueries
from ragstone.retrieve.subject import Subject
from ragstone.understand.classify import Classify
from ragstone.understand.contextualize import Contextualize
from ragstone.understand.correct import Correct
from ragstone.understand.narrow import Narrow
from ragstone.understand.rewrite import Rewrite
from ragstone.understand.route import Route
from ragstone.verify.check import Check
from ragstone.verify.cite import Cite
from ragstone.verify.score import Score

OURS: tuple[type[Stage], ...] = (
    Memory, Contextualize, Guard, Narrow, Classify, RetrievalGate, Correct, Recall, Route, Rewrite,
    SearchSubqueries, Retrieve, Fuse, Rerank, Subject, MultiHop, Deduplicate, AddRelated, Expand,
    GradePassages, Rounds, ToolAgent, Traverse, SumUp, Assemble, BuildPrompt, AskComments, Tables,
    PreAnswerGate, Reason, Generate, CutShort, Structured, Cite, Check, Score, Converse, Persist,
    Remember, Record,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AddedStage:
    """A stage of another package and its place: after or before the stage of ours that it names, in
    every recipe that has that one. It is made without arguments: its options have defaults."""

    stage: type[Stage]
    after: str = ""
    before: str = ""


STAGES: Registry[AddedStage] = Registry(
    "ragstone.stages",
    "stage",
    {item.name: Extension(item, summary(item)) for item in OURS},
    is_a=AddedStage,
)
"""Stages by their name."""


def with_added(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with those of other packages in their places, also inside stages that run others.

    Raises ConfigError for a stage of another package that is broken or whose name is taken: it may
    be one that no question should be answered without.
    """
    added = [_load_stage(name) for name in STAGES.others]
    if STAGES.refused:
        raise ConfigError(STAGES.refused[0])
    return _insert_added(stages, added) if added else tuple(stages)


def _insert_added(stages: Sequence[Stage], added: Sequence[AddedStage]) -> tuple[Stage, ...]:
    placed: list[Stage] = []
    for stage in stages:
        if stage.inner:
            stage = stage.but(inner=_insert_added(stage.inner, added))
        placed += [item.stage() for item in added if item.before == stage.name]
        placed.append(stage)
        placed += [item.stage() for item in added if item.after == stage.name]
    return tuple(placed)


def _load_stage(name: str) -> AddedStage:
    """The stage of another package that has this name; raises ConfigError."""
    added = STAGES.get(name)
    with STAGES.explain_errors(name):
        if added.stage.name != name:
            raise ValueError(f"its class has the name {added.stage.name!r}")
        if {added.after, added.before} - {item.name for item in OURS} != {""}:
            raise ValueError(
                f"it has no place: after or before is to be one of {', '.join(STAGES.ours)}"
            )
        made = added.stage()
        inspect.signature(made.run).bind("turn", "adapters", "emit")
    return added
