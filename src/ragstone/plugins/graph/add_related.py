"""Adds what the entity graph leads to: passages two hops from what the question and the best
passages name."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage, RecipeKey
from ragstone.retrieve.searching import visible

CANDIDATES = 50
"""Chunks of the walk among which those are that were not found already."""


class AddRelated(Stage):
    """Adds passages behind those that were found: what the question names leads to them, in two
    hops over what chunks name together. The order of the others stays."""

    name: ClassVar[str] = "add_related"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})
    fails: ClassVar[Literal["open", "closed"]] = "open"
    searches: ClassVar[bool] = True

    most: int = Field(3, ge=1, le=100, description="Passages that are added at most.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if adapters.graph is None or turn.collection is None or not turn.hits:
            return Step(turn, "skipped", "there is nothing to begin at")
        if turn.plan.strategy == "sequential":
            return Step(turn, "skipped", "whole documents are read")
        known = {*(hit.chunk.chunk_id for hit in turn.hits), *turn.left_out}
        async with adapters.catalog.snapshot(turn.collection) as hidden:
            related = await adapters.graph.find_related(
                turn.collection,
                turn.ask.principal.names,
                visible(turn.ask, hidden),
                turn.queries,
                {hit.chunk.chunk_id: hit.score for hit in turn.hits},
                CANDIDATES,
            )
            new = [item for item in related if item.chunk_id not in known][: self.most]
            chunks = await adapters.index.fetch(turn.collection, [item.chunk_id for item in new])
        least = min(hit.score for hit in turn.hits)
        added = tuple(
            Hit(
                replace(chunks[item.chunk_id], collection=turn.collection.name),
                least * item.score / new[0].score,
            )
            for item in new
            if item.chunk_id in chunks
        )
        if not added:
            return Step(turn, "nothing new", f"{len(related)} passages are near in the graph")
        ways = "; ".join(" > ".join(item.path) for item in new if item.path)
        hits = (*turn.hits, *added)
        return Step(replace(turn, hits=hits), f"{len(added)} passages", f"over {ways}")


def _make(key: RecipeKey) -> AddRelated | None:
    return AddRelated() if key.settings.rag.knowledge_graph_enabled else None


PLACE = AddedStage(AddRelated, after="deduplicate", make=_make)
