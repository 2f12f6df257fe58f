"""A search of the documents inside another stage."""

from collections.abc import Sequence
from dataclasses import replace

from ragstone.answer import Usage
from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, attempt
from ragstone.turn import Turn


class LocalSearch:
    """Runs the stages of a search; `inside` names the stage that wants it, for the trace."""

    def __init__(self, stages: Sequence[Stage], kit: Kit, emit: Emit, inside: str) -> None:
        self._stages = stages
        self._kit = kit
        self._emit = emit
        self._inside = inside

    async def __call__(self, turn: Turn, query: str = "") -> Turn:
        """What is found for the turn, or for another query in its place: usage and trace are the
        search's own. Raises what a closed stage failed with."""
        turn = replace(turn, hits=(), usage=Usage(), trace=())
        if query:
            turn = replace(
                turn, question=query, queries=(query,), parts=False, imagined=(), recalled=None
            )
        for stage in self._stages:
            ended = await attempt(stage, turn, self._kit, self._emit)
            turn = ended.step.turn if ended.step else turn
            traced = replace(ended.traced, inside=self._inside)
            turn = replace(turn, trace=(*turn.trace, traced))
            if ended.failure and stage.fails == "closed":
                raise ended.failure
        return turn
