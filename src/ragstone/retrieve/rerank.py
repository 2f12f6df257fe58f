"""Ranks the best candidates a second time, by a closer look at the question."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ragstone.core.turn import Hit, Turn
from ragstone.engine.stage import Emit, Stage, Step, run_part
from ragstone.ports import Adapters, Judgement
from ragstone.retrieve.multi_hop import MultiHop
from ragstone.retrieve.penalties import score_share
from ragstone.retrieve.subject import respect_subject

RERANKER_WEIGHT = 0.7
"""The share of the score for a model that reads question and passage together. The rest stays with
the search, as no model is better on every kind of text; late interaction has a share of its own."""


class Rerank(Stage):
    """Blends the reranker's scores with the fused ones, as much as the reranker trusts itself.

    Then passages about something else than the question names are left out or lowered (`subject`),
    and what the best of the rest name is looked for too (`multi_hop`). Where one of these fails,
    the others do their part.
    """

    name: ClassVar[str] = "rerank"
    needs: ClassVar[frozenset[str]] = frozenset({"hits", "plan", "queries"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits", "left_out"})
    fails: ClassVar[Literal["open", "closed"]] = "open"
    searches: ClassVar[bool] = True

    by: Literal["model", "reader"] = Field("model", description="What compares them.")

    timeout: float = Field(65.0, gt=0, description="Seconds that the stage may take.")
    editions: bool = Field(
        True, description="Whether other editions than the wanted one are left out or lowered."
    )

    seeds: int = Field(
        5, ge=0, le=20, description="The best passages whose names are followed; 0 for none."
    )

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        step = await run_part(self, "reranker", turn, self._compare(turn, adapters))
        work = respect_subject(step.turn, adapters, self.editions)
        ranked = (await run_part(self, "subject", step.turn, work)).turn
        work = self._follow_names(ranked, adapters)
        return replace(step, turn=(await run_part(self, "multi_hop", ranked, work)).turn)

    async def _follow_names(self, turn: Turn, adapters: Adapters) -> Step:
        return await MultiHop(self.seeds).run(turn, adapters)

    async def _compare(self, turn: Turn, adapters: Adapters) -> Step:
        """The step with the scores of the reranker."""
        if not turn.plan.rerank or turn.collection is None or len(turn.hits) < 2:
            return Step(turn, "skipped", "the plan does not ask for it")
        best, rest = turn.hits[: turn.plan.reranked], turn.hits[turn.plan.reranked :]
        reranker = adapters.reranker
        if self.by == "reader" and adapters.reading_reranker is not None:
            reranker = adapters.reading_reranker
        judged = await reranker.judge(
            turn.collection, turn.queries[0], [hit.chunk for hit in best], turn.encoded
        )
        turn = replace(turn, usage=turn.usage + judged.usage)
        if not judged.weight:
            return Step(turn, "skipped", judged.reason)
        hits = (*_blend_scores(best, judged), *_scale_scores(rest, 1 - judged.weight))
        moved = sum(a.chunk is not b.chunk for a, b in zip(turn.hits[:10], hits, strict=False))
        return Step(
            replace(turn, hits=hits),
            f"{len(best)} candidates, {moved} of the first {min(10, len(hits))} moved",
            f"{reranker.name} has {judged.weight:.0%} of the score; {judged.reason}",
        )


def _blend_scores(hits: tuple[Hit, ...], judged: Judgement) -> list[Hit]:
    fused = np.array([hit.score for hit in hits])
    known = ~np.isnan(judged.scores)
    said = np.where(known, judged.scores, fused)
    kept = np.array([score_share(hit.chunk) for hit in hits])
    penalised = np.where(known, judged.scores * kept, fused)
    scores = (1 - judged.weight) * fused + judged.weight * penalised
    blended = [
        replace(hit, score=float(score), rerank=float(own) if sure else None)
        for hit, score, own, sure in zip(hits, scores, said, known, strict=True)
    ]
    return sorted(blended, key=lambda hit: (-hit.score, hit.chunk.chunk_id))


def _scale_scores(hits: tuple[Hit, ...], share: float) -> list[Hit]:
    """The hits that were not reranked, with their share of the score."""
    return [replace(hit, score=hit.score * share) for hit in hits]
