"""Runs jobs in this process: takes as many from the queue as may run, and sees to their end."""

import asyncio
import contextlib
import logging
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from uuid import uuid4

from ragstone.core.clock import state_time
from ragstone.core.errors import RagstoneError
from ragstone.jobs import ending
from ragstone.jobs.ending import KEEP_SECONDS, Ending, JobAttempt, Progress, Result, StoreTrouble
from ragstone.ports.jobs import INGEST, PARTS, WRITING, Beats, Job, JobStore, Unable


class Others:
    """The other workers, judged by this process's clock alone: the clocks of two machines differ.

    One is dead when its beat has stood still for `timeout` seconds during which this process could
    read it all the time: after an outage of the database nobody is dead, everybody was silent.
    """

    def __init__(
        self, beats: Beats, timeout: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._beats = beats
        self._timeout = timeout
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    async def dead(self) -> set[str]:
        """Look, and say who is dead. Raises StateUnavailable."""
        try:
            beats = await self._beats.beats()
        except RagstoneError:
            self._seen.clear()
            raise
        now = self._clock()
        before, self._seen = self._seen, {}
        for worker, beat in beats.items():
            known = before.get(worker)
            self._seen[worker] = known if known and known[0] == beat else (beat, now)
        return {w for w, (_, since) in self._seen.items() if now - since >= self._timeout}


log = logging.getLogger(__name__)

Report = Callable[[Progress], None]
Work = Callable[[Job, Report], Awaitable[Result]]
"""Does a job and returns its result. It may be run again after any step, and is cancelled to stop
it; what it reports may hold `share` (0..1), `eta` (seconds) and `phase`: while that is "embedding",
others may go first (`JobAttempt.had_turn`)."""

CONCURRENCY = {
    # A question waits for its chat model most of the time; one without a model takes a processor.
    "ask": 4,
    # One collection is changed by one job, and a second one is embedded by turns.
    "ingest": 2,
    "delete": 2,
    "source": 4,
    "webhook": 4,
}
"""Jobs of a kind that one process runs at a time, where it is not one: a rebuild and an evaluation
take all of a machine, and two parts of others' ingests would take the processors from questions."""

WORKER_TIMEOUT = 15.0
"""Seconds after which a silent process is given up and its jobs go to others."""

DEATHS = 25
"""Times that its process may die before a job is given up."""

POLL_SECONDS = 0.5
"""How often jobs from other processes are looked for."""

WATCH_SECONDS = 0.5
"""How often progress is stored, and jobs are looked up that others may have taken away."""
SWEEP_SECONDS = 10.0
UNABLE_SECONDS = 60.0
"""How long a process takes no part of a kind of a job after it could not do one."""
RECOVERY_SECONDS = 1.0
"""Pause after the database did not answer."""


class Runner:
    """Runs the kinds of jobs that `work` does. `start` takes over what dead processes left, `stop`
    leaves what is unfinished to the next. `shared` says that other processes have the same queue.
    """

    def __init__(
        self,
        store: JobStore,
        beats: Beats,
        work: Mapping[str, Work],
        shared: bool = False,
        concurrency: Mapping[str, int] = CONCURRENCY,
    ) -> None:
        self.id = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:8]}"
        self._store = store
        self._beats = beats
        self._work = work
        self._shared = shared
        self._trouble = StoreTrouble()
        self._ending = Ending(store)
        self._others = Others(beats, WORKER_TIMEOUT)
        self._running: dict[str, JobAttempt] = {}
        self._places = {kind: concurrency.get(kind, 1) for kind in work}
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._starting = asyncio.Lock()
        self._loops: list[asyncio.Task[None]] = []
        self._stopping = False
        self._strays: set[str] = set()
        self._attempts: dict[asyncio.Task[None], JobAttempt] = {}
        self._failed_parts: dict[tuple[str, str], float] = {}

    def concurrency(self, kind: str) -> int:
        """Return jobs of this kind that run here at a time."""
        return self._places[kind]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of jobs that are done here, without those of parts."""
        return tuple(kind for kind in self._work if kind not in PARTS)

    async def start(self) -> None:
        """Begin to run jobs, also those that died with an earlier process. Once is enough."""
        async with self._starting:
            if not self._loops and not self._stopping:
                await self._beats.enter(self.id, socket.gethostname())
                await self._requeue_orphans()
                loops = (self._dispatch(), self._watch(), self._run_upkeep())
                self._loops = [asyncio.create_task(loop) for loop in loops]

    def wake(self) -> None:
        """Look at the queue now, as there may be something to begin."""
        self._wake.set()

    def interrupt(self, job: Job) -> bool:
        """Stop the attempt at a cancelled or paused job that `job` says, if it runs here, which is
        returned. A later attempt, of a job that was queued again meanwhile, goes on."""
        running = self._running.get(job.id)
        here = running is not None and running.job.attempts == job.attempts
        if running and here:
            running.take_away()
        self._publish()
        return here

    def is_running(self, job: str) -> bool:
        """Tell whether the job runs here."""
        return job in self._running

    def progress(self, job: str) -> Progress | None:
        """Return the progress of a job that runs here, None for another."""
        running = self._running.get(job)
        return running.progress if running else None

    def check_store(self) -> None:
        """Raise what keeps the store from recording anything of the jobs of this process."""
        if error := self._trouble.persistent_error() or self._ending.trouble.persistent_error():
            raise error

    async def wait_for_change(self, seconds: float) -> None:
        """Wait until something may have changed with a job, `seconds` at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def stop(self) -> None:
        """Interrupt the running jobs; another process continues them."""
        self._stopping = True
        self._ending.stop_insisting()
        async with self._starting:
            pass  # A start that is under way makes the loops that end below.
        # A cancellation is lost where it meets the end of what is awaited (asyncio.wait_for of
        # Python 3.11, which libraries use), so it is repeated.
        while running_loops := [loop for loop in self._loops if not loop.done()]:
            for loop in running_loops:
                loop.cancel()
            await asyncio.wait(running_loops, timeout=0.1)
        await asyncio.gather(*self._loops, return_exceptions=True)
        try:
            await self._store_progress()
        except RagstoneError as error:
            log.warning("How far the running jobs are is not stored: %s", error)
        while self._attempts:
            for running in list(self._attempts.values()):
                running.take_away()
            await self.wait_for_change(0.1)
        if self._loops:
            try:
                await self._store.release(self.id)
                await self._beats.leave(self.id)
            except RagstoneError as error:
                log.warning("The jobs of this process wait until it is missed: %s", error)

    async def _dispatch(self) -> None:
        """Begin jobs as long as there are any and there is room, then wait for either."""
        while True:
            self._wake.clear()
            try:
                begun = await self._begin_some()
                pause = 0.0 if begun else await self._pause()
                self._trouble.report(None)
                if begun:
                    continue
            except RagstoneError as error:
                log.warning("The queue of jobs: %s", error)
                self._trouble.report(error)
                pause = RECOVERY_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    def _unable(self) -> Unable:
        """Return the jobs of which this process could not do a part lately, by the kind of that."""
        since = time.monotonic() - UNABLE_SECONDS
        self._failed_parts = {item: at for item, at in self._failed_parts.items() if at > since}
        return {kind: [id for of, id in self._failed_parts if of == kind] for kind in PARTS}

    async def _begin_some(self) -> bool:
        """Claim as many jobs as there are free places; returns whether one was claimed."""
        free = self._free_places()
        unable = self._unable()
        due = await self._store.next_due(list(free), unable) if free else None
        if due is None or due > state_time():
            return False
        jobs = await self._store.claim(self.id, free, unable)
        for job in jobs:
            if before := self._running.get(job.id):
                before.take_away()  # Another process queued the job again meanwhile.
            self._running[job.id] = running = JobAttempt(job)
            task = asyncio.create_task(self._attempt(running))
            self._attempts[task] = running
            task.add_done_callback(self._attempts.pop)
        self._publish()
        return bool(jobs)

    def _free_places(self) -> dict[str, int]:
        """Tell how many more jobs of each kind may run here, where any may. Whoever has a
        collection to work at helps nobody."""
        busy = [running.job.kind for running in self._running.values()]
        helps = not set(busy) & set(WRITING)
        free = {
            kind: places - busy.count(kind)
            for kind, places in self._places.items()
            if helps or kind not in PARTS
        }
        return {kind: places for kind, places in free.items() if places > 0}

    async def _pause(self) -> float | None:
        """Return the seconds until the queue is looked at again if nothing wakes; None for
        never."""
        free = self._free_places()
        due = await self._store.next_due(list(free), self._unable()) if free else None
        waits = [max(0.01, due - state_time())] if due is not None else []
        if self._shared:
            # At random, so that the workers of several machines do not ask in step.
            waits.append(POLL_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311
        return min(waits, default=None)

    async def _attempt(self, running: JobAttempt) -> None:
        """Run a claimed job and record how it ended."""
        try:
            running.task = asyncio.create_task(self._run_work(running))
            if running.taken:
                running.task.cancel()
            await asyncio.wait([running.task])
            await self._end(running, running.task)
        finally:
            if self._running.get(running.job.id) is running:
                del self._running[running.job.id]
            self._publish()
            self.wake()

    async def _run_work(self, running: JobAttempt) -> Result:
        def report(progress: Progress) -> None:
            running.report(progress)
            self._publish()

        return await self._work[running.job.kind](running.job, report)

    async def _end(self, running: JobAttempt, task: asyncio.Task[Result]) -> None:
        """Record the result of an attempt, unless the job was taken away."""
        if running.taken:
            return
        if running.aside and task.cancelled():
            await self._ending.step_aside(running.job)
        elif task.cancelled():
            await self._ending.record_broken(running.job, asyncio.CancelledError())
        elif error := task.exception():
            job = running.job
            if await self._ending.record_broken(job, error) and job.part_of:
                # What ails this process would ail it with the next part too.
                self._failed_parts[job.kind, job.part_of] = time.monotonic()
        else:
            try:
                await self._ending.record_done(running.job, task.result(), running.progress)
            except Exception as refused:
                await self._ending.record_broken(running.job, refused)

    async def _watch(self) -> None:
        """Store progress, and stop jobs that another process has taken."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self._store_progress()
                await self._let_others_go_first()
                if self._shared:
                    await self._compare()
            except RagstoneError as error:
                log.warning("The jobs of this process cannot be looked up: %s", error)

    async def _store_progress(self) -> None:
        """Store how far the running jobs are."""
        for running in list(self._running.values()):
            if running.progress is not running.stored and running.progress is not None:
                running.stored = running.progress
                await self._store.report(running.job, running.progress)

    async def _let_others_go_first(self) -> None:
        """Have jobs that had their turn step aside for those that wait for them."""
        free = self._free_places()
        for running in list(self._running.values()):
            job, begun_too = running.job, running.had_turn(ending.LONG_TURN_SECONDS)
            if (
                job.kind == INGEST
                and running.had_turn(ending.TURN_SECONDS)
                and not running.aside
                and await self._store.is_awaited(job, job.kind not in free, begun_too)
            ):
                running.step_aside()

    async def _compare(self) -> None:
        """Let go of jobs that the store gave to others, and give back those that nobody runs here:
        the database took a claim, but the answer was lost."""
        before = set(self._running)
        held = await self._store.list_claimed(self.id)
        for id in before & set(self._running):
            if held.get(id) != self._running[id].job.attempts:
                self._running[id].take_away()
        strays = set(held) - before - set(self._running)
        for id in strays & self._strays:
            await self._store.give_back(id, self.id)
            self.wake()
        # Given back only when seen twice: an answer of the database may still be on its way.
        self._strays = strays

    async def _run_upkeep(self) -> None:
        """Send a heartbeat, take over jobs of dead processes, delete expired jobs."""
        swept = 0.0
        while True:
            try:
                if self._shared:
                    await self._keep_alive()
                if time.monotonic() - swept > SWEEP_SECONDS:
                    swept = time.monotonic()
                    await self._store.sweep()
            except RagstoneError as error:
                log.warning("The queue of jobs: %s", error)
            await asyncio.sleep(min(SWEEP_SECONDS, WORKER_TIMEOUT / 5))

    async def _keep_alive(self) -> None:
        if not await self._beats.beat(self.id):
            log.warning("This process was silent for too long; others have its jobs now.")
            for running in self._running.values():
                running.take_away()
            await self._beats.enter(self.id, socket.gethostname())
        await self._requeue_orphans()

    async def _requeue_orphans(self) -> None:
        """Queue again what dead processes had."""
        others = self._others.dead() if self._shared else self._beats.beats()
        dead = set(await others) - {self.id}
        if dead:
            await self._beats.leave(*dead)
        orphaned = await self._store.orphans({self.id, *await self._beats.beats()})
        if orphaned:
            until = state_time() + KEEP_SECONDS
            taken = await self._store.requeue_orphans(orphaned, DEATHS, until)
            log.info("%s jobs of %s dead processes are queued again", taken, len(orphaned))
            self.wake()

    def _publish(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
