"""Stores the search and the answer in the cache for the next equal question."""

from typing import ClassVar

from pydantic import Field

from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters, Cache, Kept


class Remember(Stage):
    """Keeps a whole answer and the passages of a question that the cache did not know; part of the
    tail. What was cut off, refused, made while a stage failed, answered by a model that stood by,
    or rejected by its own check is not kept."""

    name: ClassVar[str] = "remember"
    needs: ClassVar[frozenset[str]] = frozenset({"recalled"})

    timeout: float = Field(60.0, gt=0, description="Seconds that the stage may take.")
    ttl: float = Field(300.0, gt=0, description="Seconds that an entry lives after its last use.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        recalled, cache = turn.recalled, adapters.cache
        if not turn.ask.keeps:
            return Step(turn, "skipped", "the request wants nothing kept")
        if any(traced.status in ("failed", "timeout") for traced in turn.trace):
            return Step(turn, "skipped", "a stage failed")
        external = adapters.external_retriever is not None
        if external and turn.collection is not None:
            return Step(turn, "skipped", "the local index stood by for the retrieval service")
        if recalled is not None and turn.subqueries:
            return await self._keep_each(turn, recalled.search_scope, cache, not external)
        if recalled is None or recalled.encoded is None:
            return Step(turn, "skipped", "the cache was not asked")
        kept: list[str] = []
        seconds = turn.seconds
        if recalled.search_scope and _is_searched(turn):
            found = Kept(
                turn.question, hits=turn.hits, seconds=seconds, ttl=self.ttl, renews=not external
            )
            await cache.keep(recalled.search_scope, recalled.encoded.vector, found)
            kept.append("passages")
        wanted = recalled.answer_scope and recalled.content != "answer"
        if wanted and (why := _why_not(turn, adapters)):
            return Step(turn, " and ".join(kept) or "nothing", why)
        if wanted:
            answered = Kept(
                turn.question,
                passages=turn.passages,
                answer=turn.answer,
                verdicts=turn.verdicts,
                seconds=seconds,
                ttl=self.ttl,
            )
            await cache.keep(recalled.answer_scope, recalled.encoded.vector, answered)
            kept.append("answer")
        return Step(turn, " and ".join(kept) or "nothing")

    async def _keep_each(self, turn: Turn, scope: str, cache: Cache, renews: bool) -> Step:
        """Keep what was found for each question of a message that asks several."""
        found = [
            (subquery, subquery.encoded)
            for subquery in turn.subqueries
            if subquery.hits and not subquery.cached
        ]
        kept = [(item, encoded) for item, encoded in found if encoded is not None]
        for item, encoded in kept:
            hits = Kept(
                item.question,
                hits=item.hits or (),
                seconds=turn.seconds,
                ttl=self.ttl,
                renews=renews,
            )
            await cache.keep(scope, encoded.vector, hits)
        return Step(turn, f"passages of {len(kept)} questions" if kept else "nothing")


def _is_searched(turn: Turn) -> bool:
    """Whether the hits come from a complete search for this question."""
    # A search ends with this stage; passages of an agent or a tree come without it.
    return bool(turn.hits) and any(traced.stage == "expand" for traced in turn.trace)


def _why_not(turn: Turn, adapters: Adapters) -> str:
    """Why the answer is not kept; empty if it is."""
    answer = turn.answer
    if answer is None or answer.finish != "stop" or answer.calls or not answer.text.strip():
        return "it is not a whole answer"
    if answer.rejected:
        return "the sources do not support it"
    return "" if answer.model == adapters.answerer.name else "another model stood by"
