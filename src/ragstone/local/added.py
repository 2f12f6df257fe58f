"""What plugins and other packages bring besides stages, tools and commands: adapters, what is made
of documents, operations, and kinds of jobs.

What plugins and packages put round every operation: all ways in call the same service.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

from ragstone.core.events import Event
from ragstone.core.records import Collection
from ragstone.core.turn import Ask
from ragstone.ingest.enricher import Enricher
from ragstone.ingest.pipeline import Pipeline
from ragstone.jobs.runner import Work
from ragstone.local.jobs import LocalJobs
from ragstone.local.removal import Removal
from ragstone.ports import Adapters, ChunkIndex, Embedder, Retriever
from ragstone.ports.state import Directory
from ragstone.registry import Registry
from ragstone.service.contract import Operation, operations
from ragstone.settings import Settings

if TYPE_CHECKING:
    from ragstone.local import Ragstone
    from ragstone.store.sql.database import Database


@dataclass(frozen=True, slots=True)
class AdapterParts:
    """What such an adapter may be made of."""

    settings: Settings
    database: "Database"
    index: ChunkIndex
    embedder: Embedder
    """One of the bundled embedders."""

    retriever: Retriever | None
    """The service that is asked instead of the index, if the settings name one."""


ADDED_ADAPTERS: Registry[Any] = Registry("ragstone.adapters", "adapter", {}, makes=object)
"""By their name in `Adapters.added`, made of `AdapterParts`: the adapter, or None where it cannot
work. An adapter with a method `aclose` is closed with the rest."""


class StateStore:
    """A plugin's store on the state: `make` is the target of its row among the adapters, whose
    `name` it has."""

    name: ClassVar[str]

    def __init__(self, database: "Database") -> None:
        self._database = database

    @classmethod
    def make(cls, parts: AdapterParts) -> Self:
        """Make the store of this process."""
        return cls(parts.database)

    @classmethod
    def of(cls, adapters: Adapters) -> Self:
        """Return the store that `make` has made."""
        store: Self = adapters.added[cls.name]
        return store


@asynccontextmanager
async def open_added(parts: AdapterParts) -> AsyncIterator[dict[str, Any]]:
    """The adapters of plugins and packages by name. Raises ConfigError."""
    async with AsyncExitStack() as stack:
        made = ADDED_ADAPTERS.make_usable(ADDED_ADAPTERS, "It is left out.", parts)
        for adapter in made.values():
            if hasattr(adapter, "aclose"):
                stack.push_async_callback(adapter.aclose)
        yield made


ADDED_DIRECTORIES: Registry[Any] = Registry(
    "ragstone.directories", "directory of people", {}, makes=object
)
"""What knows passwords (`ports.directories.Directory`), made of the settings; None where it is not
set up."""


def added_directories(settings: Settings) -> list[Directory]:
    """Return the directories of plugins and packages. Raises ConfigError."""
    made = ADDED_DIRECTORIES.make_usable(ADDED_DIRECTORIES, "Nobody signs in by it.", settings)
    return [directory for directory in made.values() if directory is not None]


@dataclass(frozen=True, slots=True)
class EnricherParts:
    """What an enricher may be made of."""

    settings: Settings
    adapters: Adapters
    settings_of: Callable[[Collection], Iterable[Settings]]
    """The settings that hold now for questions of a collection, for each dialect."""


ADDED_ENRICHERS: Registry[Any] = Registry("ragstone.enrichers", "enricher", {}, makes=object)
"""What makes something of documents (`ingest.enricher.Enricher`), made of `EnricherParts`; None
where nothing is wanted."""


def added_enrichers(parts: EnricherParts) -> list[Enricher]:
    """Return the enrichers of plugins and packages. Raises ConfigError."""
    made = ADDED_ENRICHERS.make_usable(ADDED_ENRICHERS, "Ingests go on without it.", parts)
    return [enricher for enricher in made.values() if enricher is not None]


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """What operations (`service.added.AddedService`) may be made of."""

    settings: Settings
    adapters: Adapters
    jobs: LocalJobs
    removal: Removal
    pipeline: Pipeline


class Answering(Protocol):
    """Answers questions (`engine.Engine`)."""

    def events(self, ask: Ask) -> AsyncGenerator[Event, None]: ...


@dataclass(frozen=True, slots=True)
class WorkParts:
    """What the work of a job may be made of."""

    settings: Settings
    adapters: Adapters
    answers: Answering
    pipeline: Pipeline
    serves: bool
    """Whether this process is a server or a worker, rather than a single command."""


ADDED_WORK: Registry[Any] = Registry("ragstone.jobs", "kind of job", {}, makes=object)
"""By the kind of job, made of `WorkParts`: what does a job (`jobs.runner.Work`), or None where this
process does no such jobs."""


def added_work(parts: WorkParts) -> dict[str, Work]:
    """Return the work of plugins and packages by the kind of job. Raises ConfigError."""
    made = ADDED_WORK.make_usable(ADDED_WORK, "Such jobs are not done here.", parts)
    return {kind: work for kind, work in made.items() if work is not None}


class Observer(Protocol):
    """Sees operations as they are called."""

    def around(self, operation: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called instead of `call`, which is the same unless it matters here."""
        ...


ADDED_OBSERVERS: Registry[Any] = Registry("ragstone.observers", "observer", {}, makes=object)
"""Observers (`Observer`) by name, made of `ServiceParts`; None where nothing is to be seen."""


def observe(service: "Ragstone", observers: Iterable[Observer]) -> "Ragstone":
    """Return the service, with observers round its operations. What it calls itself is not seen."""
    observers = list(observers)
    if not observers:
        return service
    parts: dict[str, dict[str, Any]] = {"": {}}
    for operation in operations().values():
        method = operation.of(service)
        for observer in observers:
            method = observer.around(operation, method)
        part, _, name = operation.name.rpartition(".")
        parts.setdefault(part, {})[name] = method
    whole = parts.pop("")
    for part, methods in parts.items():
        inner = getattr(service, part)
        whole[part] = _Observed(inner, methods)
        # Syncs that are due the service begins itself; they are seen like those of people.
        if hasattr(inner, "observed"):
            inner.observed = whole[part]
    return cast("Ragstone", _Observed(service, whole))


class _Observed:
    """An object with some of its attributes replaced."""

    def __init__(self, inner: object, instead: dict[str, Any]) -> None:
        self._inner = inner
        self.__dict__.update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
