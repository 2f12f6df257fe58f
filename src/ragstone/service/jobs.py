"""Jobs: work that continues without its caller, and outlives the process that began it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from ragstone.core.turn import Ask, Principal
from ragstone.service.routes import Count, Seconds, require_role, route, text

JobState = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
EndedState = Literal["done", "failed", "cancelled"]
ENDED: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})
"""States that a job does not leave by itself; a failed or cancelled one can be retried."""

ASK = "ask"
"""The kind of an asynchronous question."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as its owner sees it.

    `progress` holds `share` (0..1, None if unknown) and what the kind of job reports besides;
    `eta` is in seconds to go, None if unknown. `result` is there when the state is done, for as
    long as results of the kind are kept. `error` is the sentence that ended a failed job, or the
    one for which it waits to be tried again, and `code` its code. `attempts` counts how often it
    was begun. `priority` 0 is the highest. Times are seconds since 1970.
    """

    id: str
    kind: str
    state: JobState
    progress: Mapping[str, Any]
    eta: float | None
    result: dict[str, Any] | None
    error: str
    attempts: int
    created_at: float
    updated_at: float
    code: str = ""
    collection: str = ""
    user: str = ""
    priority: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class KindView:
    """A kind of job: how many there are in each state, how many may run at a time in one process,
    and whether none of them is begun until it is resumed."""

    kind: str
    paused: bool
    concurrency: int
    priority: int
    jobs: Mapping[str, int]


Kind = Annotated[str, text(50), Field(description="The kind of the jobs.")]
Priority = Annotated[int, Field(ge=0, le=1_000_000)]


class JobsService(Protocol):
    """Jobs of one Ragstone. A job belongs to the security context that submitted it: tenant, user
    and groups. To anybody else it does not exist; with `admin`, every job of the principal's
    tenant does, but not the result of another's question. A principal of single collections has
    only the jobs of those, and of questions those whose answer was made from no more.

    Errors: UnknownJob for an id that is unknown, someone else's, or forgotten; JobEnded where the
    state of the job does not allow it; QueueFull (429, Retry-After) where too many wait.
    """

    @require_role("reader")
    async def ask(self, ask: Ask) -> JobView:
        """Answer a question in the background. Its id is `ragask_` and a hash of the question, the
        security context, collection, filter and options: while the result is kept, the same
        question is the same job, which is returned as it is, finished perhaps.

        The result has `question`, `answer`, `finish`, `model`, `usage` and what
        `wire.format_answer` has; each of its `sources` also `portal_type`, `chunk_index` and
        `metadata`. It is forgotten, and the job cancelled, when a document of it is gone, or no
        more for who asked.
        """
        ...

    async def submit(
        self,
        kind: str,
        request: Mapping[str, Any],
        *,
        principal: Principal,
        priority: Priority | None = None,
        id: str = "",
    ) -> JobView:
        """Queue a job; without an id of its own, an equal one that has not ended is the same job.
        Raises InputError for a kind that nobody here does."""
        ...

    @require_role("reader")
    async def get(self, principal: Principal, id: str, *, admin: bool = False) -> JobView | None:
        """The job, with its result if that is kept; None if it is unknown to this principal."""
        ...

    @require_role("reader")
    @route(
        "GET",
        "/jobs",
        "jobs",
        kind=Field(max_length=50, description="Only this kind."),
        state=Field(description="Only in this state."),
        limit=Field(ge=1, le=1_000, description="Most jobs to list."),
    )
    async def list(
        self,
        tenant: str,
        kind: str | None = None,
        state: JobState | None = None,
        limit: Count = 100,
        *,
        principal: Principal | None = None,
        admin: bool = False,
    ) -> Sequence[JobView]:
        """The jobs of a tenant, or only those that the principal has, newest first and without
        results."""
        ...

    @require_role("reader")
    async def cancel(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        """End a job; what it did stays. One that runs stops at its next step."""
        ...

    @require_role("reader")
    async def pause(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        """Stop a job until it is resumed; one that runs stops at its next step."""
        ...

    @require_role("reader")
    async def resume(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        """Let a paused job go on."""
        ...

    @require_role("reader")
    async def retry(self, principal: Principal, id: str, *, admin: bool = False) -> JobView:
        """Queue a failed or cancelled job again."""
        ...

    @require_role("reader")
    def watch(
        self, principal: Principal, id: str, *, admin: bool = False
    ) -> AsyncGenerator[JobView, None]:
        """The job as it is now and whenever it changes, until it has ended."""
        ...

    @route("GET", "/jobs/kinds", "kinds")
    async def kinds(self) -> Sequence[KindView]:
        """Every kind of job that is done here."""
        ...

    @route("POST", "/jobs/kinds/{kind}/pause", {"kind": "kind", "paused": True})
    async def pause_kind(self, kind: Kind) -> None:
        """Begin no job of this kind until it is resumed; those that run go on."""
        ...

    @route("POST", "/jobs/kinds/{kind}/resume", {"kind": "kind", "paused": False})
    async def resume_kind(self, kind: Kind) -> None:
        """Begin jobs of this kind again."""
        ...

    @require_role("admin", everywhere=True)
    @route(
        "POST",
        "/jobs/clean",
        "forgotten",
        state=Field(description="Only jobs that ended so."),
        age=Field(description="Seconds since they ended, at least."),
    )
    async def clean(self, tenant: str, state: EndedState | None = None, age: Seconds = 0.0) -> int:
        """Forget ended jobs (of one state) that ended `age` seconds ago or more; how many."""
        ...
