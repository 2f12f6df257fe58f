"""A search of the documents inside another stage."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from ragstone.core.answer import Usage
from ragstone.core.turn import Hit, Turn
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
                turn,
                question=query,
                queries=(query,),
                parts=False,
                subqueries=(),
                imagined=(),
                recalled=None,
            )
        return await run_stages(self._stages, turn, self._adapters, self._emit, self._inside)


def with_search(turn: Turn, searched: Turn) -> Turn:
    """`turn` with the fields that a search sets, except its hits."""
    return replace(
        turn,
        plan=searched.plan,
        collection=searched.collection or turn.collection,
        lists=searched.lists,
        chunks=searched.chunks,
        encoded=searched.encoded,
        feedback=searched.feedback,
    )


def interleave_hits(searched: Sequence[Sequence[Hit]]) -> tuple[Hit, ...]:
    """Of every search the best, the second best, and so on, so that none is left out where the
    hits are too many; each chunk once."""
    ranked = chain.from_iterable(zip_longest(*searched))
    hits: dict[tuple[str, str], Hit] = {}
    for hit in ranked:
        if hit is not None:
            hits.setdefault((hit.chunk.document_id, hit.chunk.chunk_id), hit)
    return tuple(hits.values())
