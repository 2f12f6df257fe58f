"""What Ragstone does for a person or a program: the one interface behind CLI, HTTP and library.

`local.Ragstone` does it in this process, `remote.Remote` through the server that holds the data
directory. Nothing else restates an operation: `contract` reads the Protocols, and carries what they
declare. The limits of arguments hold for what comes from another process.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from ragstone.core.answer import Usage
from ragstone.core.events import Event
from ragstone.core.filters import Filter, Scalar
from ragstone.core.limits import MAX_TOPICS
from ragstone.core.records import (
    BlockedQuestion,
    Collection,
    Document,
    GuardDecision,
    ModelCheck,
    Report,
    Topic,
)
from ragstone.core.turn import Ask, Hit, Principal, StageTrace, Turn
from ragstone.ports import CacheFigures, PoolUse, Total, Vectors
from ragstone.service.conversations import ConversationService
from ragstone.service.jobs import JobsService
from ragstone.service.keys import KeyService
from ragstone.service.maintenance import MaintenanceService
from ragstone.service.people import PeopleService
from ragstone.service.readers import ReadersService
from ragstone.service.reading import ChunkId, Path, ReadingService
from ragstone.service.routes import Count, Days, Offset, require_role, route, text
from ragstone.service.settings import SettingsService
from ragstone.service.statistics import FeedbackService, StatisticsService


@dataclass(frozen=True, slots=True)
class Handed:
    """A document that is handed over instead of found in a folder.

    `file` holds its content and is deleted once that is indexed; its ending says what it is.
    `path` is its place in the collection, `source` where it came from, which is not a file.
    `require_role`
    is as in `IngestRequest`. An archive is a folder of its members, unless it is to be a `single`
    document.
    """

    file: str
    path: str
    source: str
    title: str = ""
    modified: float = 0.0
    allowed: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    single: bool = False


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Files and folders to index. `allowed` are those who may read them, within what their folders
    allow; if there are none, a document keeps its readers, and a new one has those of its folder or
    collection. `prune` forgets documents whose file under these is gone, and with `hold` not where
    that would be most of them. Where `only` names places below them, nothing else is looked at, and
    only their documents go. `by` is who hands them over, None for the operator: what that one may
    not read is not replaced. `metadata` is that of every document, and counts more than what is
    said of it elsewhere. With `skip_copies`, a new file is passed over whose content the collection
    has in another document, if all who could read it may read that one."""

    paths: tuple[str, ...] = ()
    collection: str = "default"
    tenant: str = "default"
    allowed: tuple[str, ...] = ()
    prune: bool = False
    handed: tuple[Handed, ...] = ()
    by: Principal | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    hold: bool = False
    skip_copies: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "IngestRequest":
        """The request that `asdict` made `data` of, which may have been JSON meanwhile."""
        handed = [
            Handed(**{**item, "allowed": tuple(item["allowed"])}) for item in data.get("handed", ())
        ]
        lists = {name: tuple(data.get(name, ())) for name in ("paths", "allowed", "only")}
        by = data.get("by")
        whose = _principal(by) if by else None
        return cls(**{**data, **lists, "handed": tuple(handed), "by": whose})


def _principal(data: Mapping[str, Any]) -> Principal:
    reach = data.get("collections")
    lists = {
        "groups": tuple(data["groups"]),
        "collections": None if reach is None else tuple(reach),
    }
    return Principal(**{**data, **lists})


@dataclass(frozen=True, slots=True)
class FileFailure:
    """One file that could not be indexed, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file with the content of another document, by the paths of both; `skipped` where it was
    passed over for that."""

    path: str
    original: str
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """Files in the given folders that are no documents: their ending, or what they are, such as
    "hidden" or "no ending"."""

    kind: str
    files: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest or rebuild is; the last one of a job has `finished`.

    `files` counts files seen so far, of `total` (None while still counting). `chunks` have been
    written by keyword, `embedded` of them also have their vectors, and so have those of the
    `waiting` ones that the collection had before. `phase` is what goes on now; "building" is
    making the index fast to search, of which nobody knows how long it takes.
    `failed` are the first files that failed, `more_failed` is how many others did: the first
    1,000 are told at the end, and each that was handed over. The documents of a collection say it
    of all. Of the `indexed`, `added` are new, and of `rights` the readers alone are others. `held`
    were not pruned (`IngestRequest.hold`). `copies` are the first of the new or changed files whose
    content is also in another document that who hands them over may read, `more_copies` is how many
    others are; only who began the job is told.
    `notes` are sentences for the user. `seconds` since the job began, `eta` seconds to go, None
    if unknown. `questions` were thought of by the chat model, which took `usage`. A job that was
    cut off counts what it did before too.
    """

    job: str
    phase: Literal["reading", "embedding", "building", "done"] = "reading"
    files: int = 0
    total: int | None = None
    indexed: int = 0
    unchanged: int = 0
    pruned: int = 0
    failed: tuple[FileFailure, ...] = ()
    chunks: int = 0
    embedded: int = 0
    pages: int = 0
    seconds: float = 0.0
    eta: float | None = None
    notes: tuple[str, ...] = ()
    finished: bool = False
    error: str = ""
    skipped: tuple[Skipped, ...] = ()
    waiting: int = 0
    questions: int = 0
    usage: Usage = Usage()
    more_failed: int = 0
    added: int = 0
    rights: int = 0
    held: int = 0
    copies: tuple[FileCopy, ...] = ()
    more_copies: int = 0

    @property
    def failures(self) -> int:
        """How many files failed."""
        return len(self.failed) + self.more_failed

    @property
    def vectors(self) -> int:
        """How many chunks need vectors, as far as the files are read."""
        return self.chunks + self.waiting

    @property
    def share(self) -> float | None:
        """How much of it is done (0..1), None if unknown: all files are read, and every chunk has
        its vector, before it is 1."""
        if self.finished and not self.error:
            return 1.0
        if not self.total and not self.vectors:
            return None
        read = min(1.0, self.files / self.total) if self.total else 1.0
        ready = min(1.0, self.embedded / self.vectors) if self.vectors else 1.0
        return read * ready


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """A collection as its owner sees it. `pending` chunks still wait for their vectors; `note` is
    a sentence for whoever keeps it, such as that its embedding model no longer fits."""

    collection: Collection
    documents: int
    chunks: int
    failed: int
    pending: int
    note: str = ""

    @property
    def name(self) -> str:
        """The collection's name."""
        return self.collection.name


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The ranked passages of a search, and how they came about.

    `corrected` is the question as it was searched if its spelling was corrected, else empty.
    `notes` are sentences for the reader, such as that vectors are still being made.
    """

    hits: tuple[Hit, ...]
    trace: tuple[StageTrace, ...]
    corrected: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """What `ragstone status` shows. `models` are name and purpose; `jobs` are unfinished ones."""

    version: str
    data: str
    server: str | None
    collections: int
    documents: int
    chunks: int
    failed: int
    answerer: str
    models: dict[str, str]
    jobs: tuple[Progress, ...]
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """The documents of all collections by their status, at most a minute old, and the connections
    to databases of the process that says so."""

    totals: tuple[Total, ...]
    pools: tuple[PoolUse, ...]


Texts = Annotated[Sequence[str], Field(min_length=1)]
Question = Annotated[str, text(20_000)]
Key = Annotated[str, text(100)]
Terms = Annotated[Sequence[str], Field(max_length=MAX_TOPICS, description="Terms or ids.")]


class Service(Protocol):
    """All that can be asked of a Ragstone. Errors are RagstoneErrors, also when remote."""

    @property
    def statistics(self) -> StatisticsService:
        """Statistics: questions, their cost, and traces of single questions."""
        ...

    @property
    def reading(self) -> ReadingService:
        """The texts of documents."""
        ...

    @property
    def readers(self) -> ReadersService:
        """Who may read documents."""
        ...

    @property
    def maintenance(self) -> MaintenanceService:
        """Backups, and the examination of what disagrees."""
        ...

    @property
    def conversations(self) -> ConversationService:
        """The conversations, by room."""
        ...

    @property
    def feedback(self) -> FeedbackService:
        """What people think of answers."""
        ...

    @property
    def settings(self) -> SettingsService:
        """The settings, which can change while it runs."""
        ...

    @property
    def jobs(self) -> JobsService:
        """The background jobs."""
        ...

    @property
    def keys(self) -> KeyService:
        """API keys."""
        ...

    @property
    def people(self) -> PeopleService:
        """People with accounts."""
        ...

    @require_role("reader", guests=True)
    def ask(self, ask: Ask, key: Key = "", after: Offset = 0) -> AsyncGenerator[Event, None]:
        """Answer a question; see `events`. Close the iterator to cancel.

        With a `key` of the caller's own, new for each question, the answer goes on for half a
        minute when the connection breaks: the same call again, with the number of events that came
        as `after`, goes on behind them. Raises UnknownAnswer where it is no longer kept.
        """
        ...

    @require_role("reader", guests=True)
    async def stop(self, principal: Principal, key: Key) -> bool:
        """End the answer of a key at once; whether it went on."""
        ...

    @require_role("reader")
    async def approve(self, principal: Principal, step: Key, approved: bool) -> None:
        """Approve or decline a call of a tool that waits in a question of the principal's, which
        the event `AgentStep` tells of. Raises UnknownApproval where none waits."""
        ...

    @require_role("reader", guests=True)
    async def search(self, ask: Ask) -> SearchResult:
        """The passages that `ask` would be answered from, without answering."""
        ...

    @require_role("reader", guests=True)
    async def suggest(
        self,
        principal: Principal,
        collection: str,
        *,
        cited: Mapping[ChunkId, Offset] | None = None,
        asked: Sequence[Question] = (),
        where: Filter | None = None,
    ) -> list[str]:
        """At most three questions to go on with, about other sections of the documents that hold
        the passages `cited`, each with its place in its document; or to begin with, without any.
        None that was `asked`.

        Each was tried `where` it is to be asked, without a chat model, and is answered from the
        section that it is about. Nothing is kept of that. Raises UnknownCollection.
        """
        ...

    @require_role("reader")
    async def function_calling(self, ask: Ask) -> Turn:
        """The chat model's one reply to what a search finds: an answer, or calls of `ask.tools`,
        which the client makes. Raises InputError without a chat model, ModelUnavailable, Busy."""
        ...

    @require_role("editor")
    def ingest(self, request: IngestRequest) -> AsyncGenerator[Progress, None]:
        """Index files and folders durably; leaving the iterator does not stop the job."""
        ...

    def rebuild(self, tenant: str, collection: str) -> AsyncGenerator[Progress, None]:
        """Index a collection anew with the configured embedding model, then switch to it."""
        ...

    @require_role("reader")
    async def collections(
        self, principal: Principal, *, operator: bool = False
    ) -> list[CollectionSummary]:
        """The collections of the principal's tenant, with what it may read of each; the operator
        reads all."""
        ...

    @require_role("reader")
    async def collection(self, principal: Principal, collection: str) -> CollectionSummary:
        """One of the collections, with what the principal may read of it. Raises
        UnknownCollection."""
        ...

    @require_role("reader")
    async def documents(
        self,
        principal: Principal,
        collection: str,
        *,
        limit: Count = 1000,
        offset: Offset = 0,
        after: str = "",
        named: Sequence[str] | None = None,
        below: Path = "",
        having: Mapping[str, Scalar] | None = None,
        operator: bool = False,
    ) -> list[Document]:
        """The documents of a collection that the principal may read, all for the operator, by path;
        with one of these ids or paths, if any are `named`; in the folder `below` or deeper; and
        `having` these values in their metadata, where one that is in a list counts.

        A page costs what is on it if it begins `after` the last path of the one before it; what
        `offset` leaves out is counted through.
        """
        ...

    @require_role("admin", everywhere=True)
    @route(
        "PATCH",
        "/collections/{name:path}",
        {"name": "new"},
        old=Field(alias="name"),
        new=Field(alias="name", min_length=1, max_length=255, description="The new name."),
    )
    async def rename_collection(self, principal: Principal, old: str, new: str) -> Collection:
        """Call a collection otherwise, at once and in every server. Its documents, settings, jobs
        and keys stay its own, and nothing is indexed anew.

        What was asked before keeps the name of its time. Raises UnknownCollection, Conflict for a
        name that another has, InputError for what is not a name.
        """
        ...

    @require_role("editor")
    async def delete(
        self,
        principal: Principal,
        collection: str,
        paths: Sequence[str] | None = None,
        *,
        operator: bool = False,
    ) -> int:
        """Delete documents by path or id, or the whole collection; how many went.

        A path names a document, or a folder with all below it, as far as the principal may read
        them; the operator deletes any.
        """
        ...

    async def embed(self, texts: Texts, model: str = "") -> tuple[str, Vectors]:
        """The model's name and the vectors (n, dimensions) of texts as passages."""
        ...

    @route("GET", "/topics", "topics", role="admin", keyed=True)
    async def topics(self, tenant: str) -> list[Topic]:
        """The tenant's forbidden topics, by term."""
        ...

    async def put_topics(self, tenant: str, topics: Sequence[Topic]) -> int:
        """Add topics, or replace those of the same term: all or none; how many are new.

        Raises InvalidTopic.
        """
        ...

    @route("POST", "/topics/remove", "removed", role="admin", keyed=True)
    async def remove_topics(self, tenant: str, terms: Terms) -> int:
        """Remove topics by term or id: all or none; how many went. Raises UnknownTopic."""
        ...

    @route(
        "GET",
        "/topics/blocked",
        "blocked",
        role="admin",
        keyed=True,
        limit=Field(100, ge=1, le=10_000),
    )
    async def list_blocked(self, tenant: str, limit: Count) -> list[BlockedQuestion]:
        """The questions that were blocked, the newest first."""
        ...

    @route(
        "POST",
        "/topics/check",
        role="admin",
        keyed=True,
        question=Field(description="What would be asked."),
    )
    async def check_topics(self, tenant: str, question: Question) -> GuardDecision:
        """The guard's ruling on a question, which is not stored for review."""
        ...

    async def cache_figures(self) -> CacheFigures:
        """The statistics of the semantic cache."""
        ...

    async def store_figures(self) -> StoreFigures:
        """How much the stores hold, and how busy the connections to them are."""
        ...

    async def clear_cache(self) -> int:
        """Forget every question; how many went."""
        ...

    async def rebuild_cache(self) -> int:
        """Read the cache anew from where it is stored; how many questions there are."""
        ...

    @require_role("reader")
    async def models(self) -> dict[str, str]:
        """The embedding models that can be asked, each with its purpose."""
        ...

    @require_role("admin", everywhere=True)
    def check_models(self) -> AsyncGenerator[ModelCheck, None]:
        """Try what the chat models have to do: that they are reached, what their servers list,
        streaming, tools, JSON, the window. Takes seconds, and tokens. Raises NoChatModel."""
        ...

    async def overview(self) -> Overview:
        """The content of the data directory, and the models that answer from it."""
        ...

    async def report(self, principal: Principal, days: Days) -> Report:
        """What the principal's tenant asked today (UTC) and on the days before, `days` in all."""
        ...

    async def ready(self) -> dict[str, str]:
        """ "ok" or the error, for each of index, state, models and disk."""
        ...

    async def aclose(self) -> None: ...
