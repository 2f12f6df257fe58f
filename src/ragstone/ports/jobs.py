"""Where jobs are kept, and where the processes that run them see each other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]

QUEUED: State = "queued"
RUNNING: State = "running"
PAUSED: State = "paused"
DONE: State = "done"
FAILED: State = "failed"
CANCELLED: State = "cancelled"
ENDED: tuple[State, ...] = (DONE, FAILED, CANCELLED)
INGEST = "ingest"
"""The kind of job that has parts, and that steps aside for others."""
WRITING = (INGEST, "rebuild", "delete", "graph")
"""Kinds of jobs that change a collection: of these, one at a time goes on in each collection."""
READ_PART, EMBED_PART = "read_part", "embed_part"
PARTS = (READ_PART, EMBED_PART)
"""Kinds of parts of an ingest: files to read, chunks to embed. Nobody submits or sees them."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `worker` is who runs it, `attempts` how often it was begun, of which `failures`
    ended in an error that may pass and `deaths` with the process; it is not begun before `due_at`
    and forgotten at `expires_at`. `part_of` is the id of the job that it is a part of. Times are
    seconds since 1970."""

    id: str
    kind: str
    request: dict[str, Any]
    progress: dict[str, Any]
    state: State
    error: str
    created_at: float
    updated_at: float
    tenant: str = "default"
    user: str = "local"
    groups: Sequence[str] = ()
    collection: str = ""
    priority: int = 0
    attempts: int = 0
    failures: int = 0
    deaths: int = 0
    worker: str = ""
    due_at: float = 0.0
    code: str = ""
    result: dict[str, Any] | None = None
    expires_at: float | None = None
    part_of: str = ""


@dataclass(frozen=True, slots=True)
class NewJob:
    """What is submitted, and whose it is."""

    id: str
    kind: str
    request: dict[str, Any]
    tenant: str = "default"
    user: str = "local"
    groups: tuple[str, ...] = ()
    collection: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class NewPart:
    """A part of a running job, for whichever process takes it."""

    id: str
    kind: str
    request: dict[str, Any]


Unable = Mapping[str, Collection[str]]
"""Jobs of whose parts a process takes none, by the kind of these."""
NOTHING: Unable = {}


class JobStore(Protocol):
    """Keeps jobs. Of all processes that share it, one gets a job; what is said of a job counts
    only while it is that process's. Methods raise StorageFull and StateUnavailable."""

    async def submit(self, new: NewJob, most: int, same: bool = False) -> Job: ...
    async def claim(
        self, worker: str, free: Mapping[str, int], unable: Unable = NOTHING
    ) -> list[Job]: ...
    async def next_due(self, kinds: Collection[str], unable: Unable = NOTHING) -> float | None: ...
    async def is_awaited(self, job: Job, place: bool, begun_too: bool) -> bool: ...
    async def has_unfinished_ingest(self, tenant: str, collection: str) -> bool: ...
    async def list_claimed(self, worker: str) -> dict[str, int]: ...
    async def report(self, job: Job, progress: Mapping[str, Any]) -> None: ...
    async def finish(self, job: Job, state: State, expires_at: float, **values: Any) -> bool: ...
    async def again(
        self, job: Job, due_at: float, error: str, code: str, failed: bool = True
    ) -> bool: ...
    async def release(self, worker: str) -> None: ...
    async def give_back(self, id: str, worker: str) -> None: ...
    async def orphans(self, alive: Collection[str]) -> set[str]: ...
    async def requeue_orphans(
        self, dead: Collection[str], deaths: int, expires_at: float
    ) -> int: ...
    async def move(
        self, id: str, states: Collection[State], state: State, **values: Any
    ) -> Job | None: ...
    async def get(self, id: str) -> Job | None: ...
    async def list_all(
        self, tenant: str, kind: str | None, state: str | None, limit: int, user: str | None = None
    ) -> list[Job]: ...
    async def list_unfinished(self, kinds: Collection[str]) -> list[Job]: ...
    async def counts(self) -> dict[tuple[str, str], int]: ...
    async def forget(self, tenant: str, states: Collection[State], before: float) -> int: ...
    async def sweep(self) -> None: ...
    async def list_paused_kinds(self) -> set[str]: ...
    async def pause_kind(self, kind: str, paused: bool) -> None: ...


class Parts(Protocol):
    """The parts of running jobs. Methods raise StorageFull and StateUnavailable."""

    async def others(self) -> int:
        """Tell how many processes there are besides one."""
        ...

    async def offer(self, job: str, parts: Sequence[NewPart]) -> None:
        """Queue parts of a job, if it is running."""
        ...

    async def list_parts(self, job: str) -> Sequence[Job]:
        """Return the parts of a job, oldest first, without what is requested."""
        ...

    async def withdraw(self, ids: Sequence[str]) -> Collection[str]:
        """Forget parts that nobody works at; which those are."""
        ...

    async def drop(self, job: str) -> None:
        """Forget all parts of a job. Who works at one can neither begin nor publish a version of a
        document any more, and stops soon."""
        ...


class Beats(Protocol):
    """Where processes say that they live. Methods raise StateUnavailable."""

    async def enter(self, worker: str, host: str) -> None: ...
    async def beat(self, worker: str) -> bool: ...
    async def beats(self) -> dict[str, int]: ...
    async def leave(self, *workers: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Interest:
    """What other servers want of an answer: how often they looked for more, and whether somebody
    stopped it."""

    looks: int = 0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known of an answer that another server gives: a digest of its question, a number that
    its server counts up as long as it lives, and what it told, in order."""

    question: str
    beat: int
    told: tuple[str, ...]


class RunningAnswers(Protocol):
    """Answers that go on, by names that nobody can guess. Methods raise StateUnavailable."""

    async def enter(self, questions: Mapping[str, str]) -> set[str]:
        """Make answers known, each with a digest of its question; the names that were free."""
        ...

    async def interest(self, names: Collection[str]) -> dict[str, Interest]:
        """Return what is wanted of these."""
        ...

    async def tell(self, parts: Mapping[str, tuple[int, int, str]], alive: Collection[str]) -> None:
        """Add to what is told of an answer: the events from the first number to before the second,
        as one text. Count up those that live."""
        ...

    async def hear(self, name: str, after: int) -> Heard | None:
        """Look for what was told that holds events from number `after` on, or says that it ended
        there; None where no server gives this answer."""
        ...

    async def stop(self, name: str) -> bool:
        """Ask whoever gives it to end it; whether somebody does."""
        ...

    async def leave(self, names: Collection[str]) -> None:
        """Forget them, and all that was told."""
        ...
