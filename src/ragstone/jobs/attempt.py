"""One attempt at a job that runs in this process."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragstone.ports.jobs import Job

Progress = Mapping[str, Any]
Result = dict[str, Any] | None


@dataclass(slots=True)
class JobAttempt:
    """`progress` is how far it is, `stored` what of that is stored. `taken`: the job is another's
    now, or nobody's."""

    job: Job
    began: float = field(default_factory=time.monotonic)
    task: asyncio.Task[Result] | None = None
    progress: Progress | None = None
    stored: Progress | None = None
    taken: bool = False

    @property
    def id(self) -> str:
        return attempt_id(self.job.id, self.job.created_at, self.job.attempts)

    def report(self, progress: Progress) -> None:
        """Note how far it is, with the time to go where the work does not say that itself."""
        self.progress = _with_eta(progress, time.monotonic() - self.began)

    def take_away(self) -> None:
        """Stop it, and record nothing of it."""
        self.taken = True
        if self.task:
            self.task.cancel()


def attempt_id(job: str, created_at: float, number: int) -> str:
    """Names an attempt: a job that was forgotten and submitted again has other ones."""
    return f"{job}.{round(created_at * 1e6):x}.{number}"


def _with_eta(progress: Progress, seconds: float) -> Progress:
    """Progress with the time to go, at the rate so far. Work that tells the time itself is believed
    also when it does not know it yet."""
    share = progress.get("share")
    if "eta" in progress or not isinstance(share, float) or share <= 0:
        return progress
    return {**progress, "eta": seconds * (1 - min(1.0, share)) / share}
