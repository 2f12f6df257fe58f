"""Searches each question of a message that asks several."""

import asyncio
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.core.turn import Subquery, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from ragstone.retrieve.local_search import LocalSearch, interleave_hits, with_search


class SearchSubqueries(Stage):
    """Searches, ranks and judges the hits of every question by itself, but for those that the cache
    knows, so that none drowns in the others."""

    name: ClassVar[str] = "search_subqueries"
    needs: ClassVar[frozenset[str]] = frozenset({"plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})

    timeout: float = Field(120.0, gt=0, description="Seconds that all searches may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if not turn.subqueries:
            return Step(turn, "skipped", "it is one question")
        search = LocalSearch(self.inner, adapters, emit, self.name)
        asked = [subquery for subquery in turn.subqueries if subquery.hits is None]
        done = await asyncio.gather(*(search(turn, item.question) for item in asked))
        found = {item.question: searched for item, searched in zip(asked, done, strict=True)}
        several = tuple(
            _with_hits(subquery, found.get(subquery.question)) for subquery in turn.subqueries
        )
        for searched in done:
            turn = replace(
                with_search(turn, searched),
                usage=turn.usage + searched.usage,
                trace=(*turn.trace, *searched.trace),
                notes=tuple(dict.fromkeys((*turn.notes, *searched.notes))),
            )
        hits = interleave_hits([item.hits or () for item in several])
        said = ", ".join(f"{len(item.hits or ())} for {item.question!r}" for item in several)
        cached = sum(item.cached for item in several)
        return Step(
            replace(turn, hits=hits, subqueries=several),
            f"{len(several)} questions, {cached} from the cache",
            said,
        )


def _with_hits(subquery: Subquery, searched: Turn | None) -> Subquery:
    return replace(subquery, hits=searched.hits) if searched else subquery
