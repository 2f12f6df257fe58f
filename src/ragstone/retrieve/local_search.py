"""A search of the documents inside another stage."""

from collections.abc import Sequence
from dataclasses import replace

from ragstone.core.answer import Usage
from ragstone.core.turn import Turn
from ragstone.engine.runner import run_stages
from ragstone.engine.stage import Emit, Stage
from ragstone.ports import Adapters


class LocalSearch:
    """Runs the stages of a search; `inside` names the stage that wants it, for the trace."""

    def __init__(
        self, stages: Sequence[Stage], adapters: Adapters, emit: Emit, inside: str
    ) -> None:
        self._stages = stages
        self._adapters = adapters
        self._emit = emit
        self._inside = inside

    async def __call__(self, turn: Turn, query: str = "") -> Turn:
        """The result of a search for the turn, or for another query in its place. Usage and trace
        are those of the search. Raises what a closed stage failed with."""
        turn = replace(turn, hits=(), usage=Usage(), trace=())
        if query:
            turn = replace(
                turn, question=query, queries=(query,), parts=False, imagined=(), recalled=None
            )
        return await run_stages(self._stages, turn, self._adapters, self._emit, self._inside)
