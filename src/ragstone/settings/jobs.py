"""The queue of jobs."""

from pydantic import Field

from ragstone.ports.jobs import PARTS
from ragstone.settings.section import Section

OTHERS = {"delete": 2}
"""Jobs at a time of kinds without a setting, where it is not one: a rebuild and an evaluation take
all of a machine."""


class JobSettings(Section):
    """What goes on in the background: how much at a time, and what happens when it fails."""

    ask: int = Field(
        4, ge=1, le=1000, description="Asynchronous questions that one process answers at a time."
    )
    ingest: int = Field(2, ge=1, le=1000, description="Ingests at a time; one per collection.")
    parts: int = Field(
        1,
        ge=0,
        le=1000,
        description="Parts of other processes' ingests that one process does at a time, of files "
        "to read and of chunks to embed, while it changes no collection itself; 0 helps nobody.",
    )
    max_queued: int = Field(
        10_000, ge=1, description="Jobs of a kind that may wait; further ones are refused (429)."
    )
    answer_ttl_seconds: float = Field(
        300.0, gt=0, description="Seconds that the answer of an asynchronous question is kept."
    )
    keep_days: float = Field(7.0, gt=0, le=3650, description="Days that other ended jobs are kept.")

    def concurrency(self, kind: str) -> int:
        """Jobs of this kind that one process runs at a time."""
        given = {"ask": self.ask, "ingest": self.ingest, **dict.fromkeys(PARTS, self.parts)}
        return given.get(kind, OTHERS.get(kind, 1))
