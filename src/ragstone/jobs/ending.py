"""How an attempt ends: the job is done, tried again later, or failed for good."""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragstone.core.clock import state_time
from ragstone.core.errors import Postponed, RagstoneError, TooManyRequests, Unavailable
from ragstone.ports.jobs import DONE, FAILED, Job, JobStore, State

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
        """Tell whether it may be interrupted to let others go first: it embeds, so that little is
        done again, and has got on with that for so long, and for longer than what came before."""
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


log = logging.getLogger(__name__)

BROKE = "Something broke inside Ragstone; the log says what."
KEEP_SECONDS = 7 * 86_400.0
"""For how long ended jobs are kept: whoever started one looks within a week."""

RETRIES = 3
"""Attempts after one that failed for a passing reason."""

ANSWER_SECONDS = 300.0
"""For how long the answer of an asynchronous question is kept: the five minutes of the Plone
document."""

RETRY_SECONDS, LONGEST_PAUSE = 2.0, 300.0
"""The pause before the first of them; each further one waits twice that, up to the longest."""

INSIST_SECONDS = 1.0
PATIENCE_SECONDS = 10.0
ASIDE_SECONDS = 1.0
"""In which those begin that a job steps aside for."""


class StoreTrouble:
    """What the store of the jobs refuses to record, and for how long."""

    def __init__(self) -> None:
        self._error: RagstoneError | None = None
        self._since = 0.0

    def report(self, error: RagstoneError | None) -> None:
        """The store refused to record something, or took it if `error` is None."""
        if self._error is None:
            self._since = time.monotonic()
        self._error = error

    def persistent_error(self) -> RagstoneError | None:
        """Return the error if nothing could be recorded for PATIENCE_SECONDS."""
        return self._error if time.monotonic() - self._since > PATIENCE_SECONDS else None


class Ending:
    """Records how attempts end, with retries. `trouble` is what keeps it from that.

    After `give_up` it insists no more: what is not recorded then is done again by the next process,
    as after a crash.
    """

    def __init__(self, store: JobStore) -> None:
        self.trouble = StoreTrouble()
        self._store = store
        self._insists = True

    def stop_insisting(self) -> None:
        self._insists = False

    async def record_done(
        self, job: Job, result: dict[str, Any] | None, progress: Mapping[str, Any] | None
    ) -> None:
        """The job is done; its result is kept for as long as its kind's results are."""
        final = {**(progress or {}), "share": 1.0, "eta": 0.0}
        until = self.until(job.kind, DONE)
        await self._record_with_retries(
            lambda: self._store.finish(job, DONE, until, result=result, progress=final, code="")
        )

    async def record_broken(self, job: Job, error: BaseException) -> bool:
        """Record a failed attempt: the job is queued again if that may help, else it has failed.
        False if it was taken away meanwhile."""
        known = _find_raised_error(error)
        if known is None:
            log.error("Job %s (%s) broke", job.id, job.kind, exc_info=error)
        message, code = (known.message, known.code) if known else (BROKE, "error")
        may_pass = known if not job.part_of else None  # Whoever runs the whole does a part then.
        if isinstance(may_pass, Postponed | TooManyRequests) and may_pass.retry:
            # A limit is not a failure: the job waits in the queue until it lets more through.
            due = state_time() + self._backoff(0, may_pass)
            return await self._record_with_retries(
                lambda: self._store.again(job, due, message, code, failed=False)
            )
        if may_pass and may_pass.retry and job.failures < RETRIES:
            due = state_time() + self._backoff(job.failures, may_pass)
            return await self._record_with_retries(
                lambda: self._store.again(job, due, message, code)
            )
        until = self.until(job.kind, FAILED)
        return await self._record_with_retries(
            lambda: self._store.finish(job, FAILED, until, error=message, code=code)
        )

    async def step_aside(self, job: Job) -> None:
        """The job is gone on with when those that wait for it have had their turn."""
        due = state_time() + ASIDE_SECONDS
        await self._record_with_retries(lambda: self._store.again(job, due, "", "", failed=False))

    def until(self, kind: str, state: State) -> float:
        """Tell until when a job that ends now is kept."""
        answered = kind == "ask" and state == DONE
        kept = ANSWER_SECONDS if answered else KEEP_SECONDS
        return state_time() + kept

    def _backoff(self, failures: int, error: RagstoneError) -> float:
        """Return the seconds before the next attempt: doubled each time, spread by half either
        way."""
        # The exponent is bounded because 2.0 ** 1024 is not a number any more.
        pause = min(LONGEST_PAUSE, RETRY_SECONDS * 2.0 ** min(failures, 30))
        waits = (Unavailable, Postponed, TooManyRequests)
        wanted = (error.retry_after or 0.0) if isinstance(error, waits) else 0.0
        return max(wanted, pause * random.uniform(0.5, 1.5))  # noqa: S311

    async def _record_with_retries(self, record: Callable[[], Awaitable[bool]]) -> bool:
        """Record how a job ended, as soon as the database takes it; False if it never does.

        A job that was taken away meanwhile is not recorded: the store refuses.
        """
        while True:
            try:
                recorded = await record()
            except RagstoneError as error:
                log.warning("The end of a job cannot be recorded yet: %s", error)
                self.trouble.report(error)
                if not self._insists:
                    return False
                await asyncio.sleep(INSIST_SECONDS)
            else:
                self.trouble.report(None)
                return recorded


def _find_raised_error(error: BaseException) -> RagstoneError | None:
    """Return the error that was raised on purpose, also from inside a group."""
    if isinstance(error, BaseExceptionGroup):
        found = error.subgroup(RagstoneError)
        return _find_raised_error(found.exceptions[0]) if found else None
    return error if isinstance(error, RagstoneError) else None
