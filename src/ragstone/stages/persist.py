"""Keeps what was asked and answered."""

from typing import ClassVar

from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Turn


class Persist(Stage):
    """Stores the conversation block and the statistics; part of the tail, so it always runs."""

    name: ClassVar[str] = "persist"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})

    timeout: float = 10.0

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        if not turn.ask.keeps:
            return Step(turn, "skipped", "the request wants nothing kept")
        await kit.history.save(turn)
        return Step(turn)
