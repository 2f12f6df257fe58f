"""Sources that are kept in sync with a collection: folders, file servers, web sites and others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from ragstone.core.sync import SourceOption, SourceRun
from ragstone.core.turn import Principal
from ragstone.service.readers import Names
from ragstone.service.routes import Count, Seconds, require_role, route, text

SourceName = Annotated[
    str,
    text(100, 1),
    Field(description="The source's name, and the folder of the collection that its items are in."),
]
OptionTexts = Annotated[
    Mapping[Annotated[str, text(100)], Annotated[str, text(4_000)]],
    Field(max_length=50, description="Options of the kind; a secret as env:RAGSTONE_SOURCE_..."),
]
Interval = Annotated[
    Seconds, Field(description="Seconds between two runs, at least 1; none for never by itself.")
]
Cron = Annotated[
    str,
    text(100, 1),
    Field(
        description="When it runs, instead of an interval: a cron expression of five fields, such "
        "as `0 6 * * mon-fri`, by the clock of the server's time zone."
    ),
]


@dataclass(frozen=True, slots=True)
class SourceKindView:
    """A kind of source. Only the server's operator adds one that is `of_server`."""

    name: str
    help: str
    of_server: bool
    options: tuple[SourceOption, ...]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source as its keeper sees it. `readers` are those of items that the source says nothing
    of. It is synced `every` so many seconds, at the times of `cron`, or, without both, only when
    somebody says so. `next_at` is when its next run is due, in seconds since 1970. `last` is its
    newest run."""

    name: str
    kind: str
    collection: str
    options: Mapping[str, str]
    readers: tuple[str, ...]
    every: float | None
    cron: str | None
    next_at: float | None
    last: SourceRun | None = None


class SourcesService(Protocol):
    """The sources of a tenant. To a principal of single collections only those of these exist.
    Methods that name a source raise UnknownSource; all raise StateUnavailable."""

    @require_role("admin")
    @route("POST", "/sources")
    async def add(
        self,
        principal: Principal,
        name: SourceName,
        kind: Annotated[str, text(100, 1)],
        collection: Annotated[str, text(255, 1)] = "default",
        *,
        options: OptionTexts = {},  # noqa: B006
        every: Interval | None = None,
        cron: Cron | None = None,
        readers: Names = (),
        operator: bool = False,
    ) -> SourceView:
        """Keep a collection in sync with a source from now on: the first time at once if there is
        an interval, at the next time of a cron expression. The collection may be still to come.

        Only the server's operator may add a kind that reaches what the server does, and name a
        secret. Raises InputError, Forbidden, Conflict for a name that is taken, and
        SourceUnavailable where the source does not answer.
        """
        ...

    @require_role("admin")
    @route("GET", "/source-kinds", "kinds")
    async def kinds(self, principal: Principal) -> Sequence[SourceKindView]:
        """The kinds of sources that there are, by name, with their options."""
        ...

    @require_role("admin")
    @route("PATCH", "/sources/{name}")
    async def change(
        self,
        principal: Principal,
        name: SourceName,
        *,
        every: Interval | None = None,
        cron: Cron | None = None,
        by_hand: bool = False,
        options: OptionTexts = {},  # noqa: B006
        readers: Names | None = None,
        operator: bool = False,
    ) -> SourceView:
        """Give a source another schedule, where `by_hand` ends the one that it has; other values of
        the `options` that are named, where an empty one takes its option away; other readers. What
        is not said stays.

        With other options or readers its run ends, and another one is due at once. The operator
        alone gives options as in `add`. Raises InputError, Forbidden and SourceUnavailable.
        """
        ...

    @require_role("admin")
    @route("GET", "/sources", "sources")
    async def list(self, principal: Principal) -> Sequence[SourceView]:
        """The sources by name, each with its newest run."""
        ...

    @require_role("admin")
    @route("GET", "/sources/{name}")
    async def show(self, principal: Principal, name: SourceName) -> SourceView:
        """A source with its newest run."""
        ...

    @require_role("admin")
    @route("POST", "/sources/{name}/sync")
    async def sync(
        self,
        principal: Principal,
        name: SourceName,
        *,
        dry: bool = False,
        accept_removals: bool = False,
    ) -> SourceRun:
        """Sync a source now, in the background; the run as it begins. `dry` only counts what would
        be done. `accept_removals` also removes what is held back because so much is gone at once.
        Raises QueueFull."""
        ...

    @require_role("admin")
    @route("GET", "/sources/{name}/runs", "runs")
    async def runs(
        self, principal: Principal, name: SourceName, limit: Count = 20
    ) -> Sequence[SourceRun]:
        """The runs of a source, the newest first; the last hundred are kept."""
        ...

    @require_role("admin")
    @route("DELETE", "/sources/{name}", "removed")
    async def remove(
        self, principal: Principal, name: SourceName, *, documents: bool = False
    ) -> int:
        """Forget a source, and end its run. Its `documents` are deleted too if that is said; how
        many were."""
        ...
