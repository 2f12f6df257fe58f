"""One attempt at a job that runs in this process."""

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragstone.ports.jobs import Job

TURN_SECONDS, LONG_TURN_SECONDS = 10.0, 60.0
"""How long a job embeds before others may go first that have not begun, and any that wait."""

Progress = Mapping[str, Any]
Result = dict[str, Any] | None


@dataclass(slots=True)
class JobAttempt:
    """`progress` is how far it is, `stored` what of that is stored. `taken`: the job is another's
    now, or nobody's. `aside`: others have their turn now."""

    job: Job
    began: float = field(default_factory=time.monotonic)
    task: asyncio.Task[Result] | None = None
    progress: Progress | None = None
    stored: Progress | None = None
    taken: bool = False
    aside: bool = False
    _embedding_since: float = math.inf
    _embedded_before: object = None

    def report(self, progress: Progress) -> None:
        """Note how far it is, with the time to go where the work does not say that itself."""
        now = time.monotonic()
        self.progress = _with_eta(progress, now - self.began)
        if progress.get("phase") == "embedding" and self._embedding_since > now:
            self._embedding_since, self._embedded_before = now, progress.get("embedded")

    def had_turn(self, seconds: float) -> bool:
        """Whether it may be interrupted to let others go first: it embeds, so that little is done
        again, and has got on with that for so long, and for longer than what came before."""
        got_on = self.progress and self.progress.get("embedded") != self._embedded_before
        read = self._embedding_since - self.began
        return bool(got_on) and time.monotonic() - self._embedding_since > max(seconds, read)

    def step_aside(self) -> None:
        """Stop it, to be gone on with after others."""
        self.aside = True
        if self.task:
            self.task.cancel()

    def take_away(self) -> None:
        """Stop it, and record nothing of it."""
        self.taken = True
        if self.task:
            self.task.cancel()


def _with_eta(progress: Progress, seconds: float) -> Progress:
    """Progress with the time to go, at the rate so far. Work that tells the time itself is believed
    also when it does not know it yet."""
    share = progress.get("share")
    if "eta" in progress or not isinstance(share, float) or share <= 0:
        return progress
    return {**progress, "eta": seconds * (1 - min(1.0, share)) / share}
