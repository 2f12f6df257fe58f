"""The queue of jobs."""

from pydantic import Field

from ragstone.ports.jobs import PARTS
from ragstone.settings.section import Section


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
    rebuild: int = Field(1, ge=1, le=1000, description="Rebuilds at a time.")
    delete: int = Field(2, ge=1, le=1000, description="Deletions at a time.")
    evaluation: int = Field(1, ge=1, le=1000, description="Evaluations at a time.")
    ask_priority: int = Field(0, ge=0, le=1000, description="Order of questions; 0 goes first.")
    ingest_priority: int = Field(5, ge=0, le=1000, description="Order of ingests.")
    rebuild_priority: int = Field(5, ge=0, le=1000, description="Order of rebuilds.")
    delete_priority: int = Field(5, ge=0, le=1000, description="Order of deletions.")
    evaluation_priority: int = Field(9, ge=0, le=1000, description="Order of evaluations.")
    max_queued: int = Field(
        10_000, ge=1, description="Jobs of a kind that may wait; further ones are refused (429)."
    )
    retries: int = Field(
        3, ge=0, le=100, description="Attempts after one that failed for a passing reason."
    )
    retry_seconds: float = Field(
        2.0, gt=0, description="Pause before the first of them; each further one waits twice that."
    )
    retry_most_seconds: float = Field(300.0, gt=0, description="Longest such pause.")
    deaths: int = Field(
        25, ge=1, description="Times that its process may die before a job is given up."
    )
    answer_ttl_seconds: float = Field(
        300.0, gt=0, description="Seconds that the answer of an asynchronous question is kept."
    )
    keep_days: float = Field(7.0, gt=0, le=3650, description="Days that other ended jobs are kept.")
    worker_timeout: float = Field(
        15.0,
        ge=2,
        le=3600,
        description="Seconds after which a silent process is given up and its jobs go to others.",
    )
    poll_seconds: float = Field(
        0.5, ge=0.05, le=60, description="How often jobs from other processes are looked for."
    )
    delete_at_once: int = Field(
        500, ge=0, description="Documents that are deleted at once; more are deleted as a job."
    )

    def concurrency(self, kind: str) -> int:
        """Jobs of this kind that one process runs at a time; 1 for a kind without a setting."""
        if kind in PARTS:
            return self.parts
        return int(getattr(self, kind, 1))

    def priority(self, kind: str) -> int:
        """The usual priority of this kind."""
        return int(getattr(self, f"{kind}_priority", 5))
