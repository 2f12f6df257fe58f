"""The queue of jobs."""

from pydantic import Field

from ragstone.ports.jobs import PARTS
from ragstone.settings.section import Section

HELPED_PARTS = 1
"""Parts of other processes' ingests, files to read or chunks to embed, that one process does at a
time while it changes no collection itself: two would take its processors from its questions."""

OTHERS = {"delete": 2, "source": 4, "webhook": 4}
"""Jobs at a time of kinds without a setting, where it is not one: a rebuild and an evaluation take
all of a machine."""


class JobSettings(Section):
    """What goes on in the background: how much at a time, and what happens when it fails."""

    ask: int = Field(
        4, ge=1, le=1000, description="Asynchronous questions that one process answers at a time."
    )
    ingest: int = Field(2, ge=1, le=1000, description="Ingests at a time; one per collection.")

    def concurrency(self, kind: str) -> int:
        """Jobs of this kind that one process runs at a time."""
        given = {"ask": self.ask, "ingest": self.ingest, **dict.fromkeys(PARTS, HELPED_PARTS)}
        return given.get(kind, OTHERS.get(kind, 1))
