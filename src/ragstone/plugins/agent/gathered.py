"""What an agent has gathered for one question."""

from collections.abc import Sequence
from dataclasses import replace

from ragstone.core.answer import Usage
from ragstone.core.chunk import Chunk
from ragstone.core.tool import ToolCall
from ragstone.core.turn import Hit, StageTrace, Turn
from ragstone.retrieve.local_search import interleave_hits, with_search


class Gathered:
    """Passages of several searches, and what tools returned that is not a passage."""

    def __init__(self, turn: Turn) -> None:
        self.usage = Usage()
        self.trace: list[StageTrace] = []
        self._turn = turn
        self._local: Turn | None = None
        self._searched: list[Sequence[Hit]] = []
        self._outputs: list[Hit] = []
        self._texts = 0

    @property
    def passages(self) -> int:
        """The number of passages found, and of texts that a search returned instead; repeated ones
        count each time."""
        return sum(map(len, self._searched)) + self._texts

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks of all passages found so far."""
        return tuple(hit.chunk for hits in self._searched for hit in hits)

    def add_hits(self, hits: Sequence[Hit]) -> None:
        """Keep the hits of one search, best first."""
        self._searched.append(hits)

    def add_search(self, found: Turn) -> None:
        """Keep the result of a search of the documents, with its usage and trace."""
        self._local = found
        self.usage += found.usage
        self.trace += found.trace
        self.add_hits(found.hits)

    def output(self, call: ToolCall, text: str, searches: bool = False) -> None:
        """Keep what a tool returned as a passage of its own, so that the answer can cite it;
        `searches` says that the tool searches documents."""
        self._texts += searches
        ask = self._turn.ask
        chunk = Chunk(
            chunk_id=f"{call.name}:{len(self._outputs) + 1}",
            document_id=f"tool:{call.name}",
            version=1,
            chunk_index=len(self._outputs),
            text=text,
            title=call.name,
            path=f"/{call.name}",
            tenant=ask.principal.tenant,
            collection=ask.collection,
            start=0,
            end=len(text),
            kind="tool",
        )
        self._outputs.append(Hit(chunk, 1.0))

    def turn(self) -> Turn:
        """Return the turn with everything: the outputs, then of every search the best, the second
        best, and so on, so that no search is left out where the passages are too many."""
        turn = with_search(self._turn, self._local) if self._local else self._turn
        return replace(
            turn,
            hits=(*self._outputs, *interleave_hits(self._searched)),
            usage=turn.usage + self.usage,
            trace=(*turn.trace, *self.trace),
        )
