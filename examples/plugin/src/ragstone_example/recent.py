"""A stage that puts newer documents before older ones where they fit the question about as well."""

import math
import time
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage

DAY = 86_400.0


class Recent(Stage):
    """Adds to the score of passages of new documents."""

    name: ClassVar[str] = "recent"
    needs: ClassVar[frozenset[str]] = frozenset({"hits"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})
    # Without this stage the answer is still right, so a failure is only noted in the trace.
    fails: ClassVar[Literal["open", "closed"]] = "open"
    searches: ClassVar[bool] = True

    weight: float = Field(0.05, ge=0, le=1, description="The most that is added to a score.")
    half_life: float = Field(365.0, gt=0, description="Days after which half of it is left.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        if not turn.hits or not self.weight:
            return Step(turn, "skipped", "there is nothing to raise")
        now = time.time()

        def raised(score: float, modified: float) -> float:
            age = max(0.0, now - modified) / DAY
            return min(1.0, score + self.weight * math.exp2(-age / self.half_life))

        hits = [replace(hit, score=raised(hit.score, hit.chunk.modified)) for hit in turn.hits]
        hits.sort(key=lambda hit: -hit.score)
        moved = sum(a.chunk is not b.chunk for a, b in zip(turn.hits, hits, strict=True))
        return Step(replace(turn, hits=tuple(hits)), f"{moved} of {len(hits)} passages moved")


RECENT = AddedStage(Recent, after="rerank")
