"""Keeps what was asked and answered."""

from typing import ClassVar

from pydantic import Field

from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.turn import Turn


class Persist(Stage):
    """Stores the conversation block and the statistics; part of the tail, so it always runs."""

    name: ClassVar[str] = "persist"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})

    timeout: float = Field(10.0, gt=0, description="Seconds that the stage may take.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        await kit.history.save(turn)
        return Step(turn)
