"""The port of the catalog."""

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.errors import UnknownCollection
from ragstone.core.filters import Scalar
from ragstone.core.readers import FolderReaders
from ragstone.core.records import Collection, Document, DocumentStatus
from ragstone.core.turn import Ask
from ragstone.ports.jobs import Job


@dataclass(frozen=True, slots=True)
class Edition:
    """A collection's visible documents at one moment.

    `stamp` is another one whenever a document has been added, changed, re-permissioned, removed or
    got its vectors, also after a restart. `readers` are names that documents are allowed to:
    principals with the same ones among theirs can read the same.
    """

    stamp: str
    readers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Begun:
    """A version to write. One that is `resumed` may have chunks of a writer that died."""

    version: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What tells, without reading it, that a document's file is still the same: its size and time,
    a hash of what is said about it, and the files that it includes, each with size and time."""

    size: int
    modified: float
    said: str
    included: tuple[tuple[str, int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Total:
    """All documents of this status, of every tenant, and their chunks."""

    status: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class StatusCount:
    """How many documents of this status may be read by these, and their chunks. `answers` says
    whether a version of them does."""

    status: str
    allowed: tuple[str, ...]
    documents: int
    chunks: int = 0
    answers: bool = True


@dataclass(frozen=True, slots=True)
class ValueCount:
    """How many documents that may be read by these have a value of metadata."""

    value: Scalar
    allowed: tuple[str, ...]
    documents: int


class CollectionNames(Protocol):
    """What collections are called, which ids the names stand for now, and who reads documents."""

    async def identity(self, tenant: str, name: str, *, make: bool = True) -> str:
        """Return the id of the collection of this name; if there is none, that of the collection to
        come, made now unless `make` is false, and empty then."""
        ...

    async def names(self, tenant: str, ids: Several[str]) -> Mapping[str, str]:
        """Return the names by id of those that exist or are to come."""
        ...

    async def find_readers(self, document_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return who may read these documents, or could when they were deleted, by id."""
        ...


MAX_COPIES = 20
"""Documents with the same content of which `Catalog.find_copies` tells."""


class Catalog(CollectionNames, Protocol):
    """Collections and documents: what exists, in which version, visible or not.

    A `Document`'s collection is the collection's id.

    A document's new version is written beside the one that answers, and takes over in one
    transaction (`publish`). `snapshot` names the revisions that must not be seen.
    """

    async def collection(self, tenant: str, name: str) -> Collection | None: ...

    async def find_by_id(self, tenant: str, id: str) -> Collection | None:
        """Return the collection of this id."""
        ...

    async def collections(self, tenant: str | None = None) -> list[Collection]:
        """List the collections by tenant and name."""
        ...

    async def put_collection(self, collection: Collection, *, known: bool = False) -> None:
        """Insert a collection, or replace all of it but its name; what it was under another build
        is `unused` then. Raises Conflict for a new one whose name another has, and
        UnknownCollection for a `known` one that has been dropped."""
        ...

    async def rename_collection(self, collection: Collection, name: str) -> Collection:
        """Call the collection otherwise, in all servers at once; all that is its goes with it.

        What waited for a collection of the new name to come ends. Raises UnknownCollection if the
        collection is gone or was renamed, Conflict for a name that another has.
        """
        ...

    async def drop_collection(self, tenant: str, id: str) -> None:
        """Forget the collection, its documents, its revisions and its settings; its index is
        `unused` then. The next one of its name is another one."""
        ...

    async def list_unused(self) -> Sequence[Collection]:
        """Return collections that were dropped, built anew or replaced, as they were: the chunks of
        these builds are to be deleted."""
        ...

    async def forget_dropped(self, unused: Sequence[Collection]) -> None:
        """The chunks of these are gone from the index."""
        ...

    async def document(self, document_id: str) -> Document | None: ...

    async def find_documents(self, document_ids: Sequence[str]) -> Mapping[str, Document]:
        """Return those of these documents that exist, by id."""
        ...

    async def documents(
        self,
        tenant: str,
        collection: str | None = None,
        *,
        status: DocumentStatus | None = None,
        readers: Several[str] | None = None,
        named: Sequence[str] | None = None,
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
        after: str = "",
        limit: int | None = None,
        offset: int = 0,
        skipped: bool = True,
    ) -> list[Document]:
        """By path; of the collection with this id if it is given, allowed to one of `readers`,
        with one of these ids or paths, in the folder `below` or deeper, `having` these values in
        their metadata (`filters.token` says what is equal), and behind the path `after`, from
        which on a page costs what is on it. Without `skipped`, files that are passed over are left
        out."""
        ...

    async def list_unread(
        self, tenant: str, collection: str, readers: Several[str], endings: Several[str]
    ) -> Sequence[Document]:
        """Return files that could not be read, failed or skipped, and of which no version answers:
        those allowed to one of `readers` whose names end so, regardless of case; at most 1,000."""
        ...

    async def folders(
        self, tenant: str, collection: str, readers: Several[str], below: str, limit: int
    ) -> Mapping[str, int]:
        """Return the first folders directly in the folder `below`, which is empty for the
        collection itself, by name; each with how many documents in it or deeper are allowed to one
        of `readers`."""
        ...

    async def ids(
        self, tenant: str, collection: str, readers: Several[str] | None, named: str | None = None
    ) -> list[str]:
        """Return the documents of a collection that are allowed to one of `readers`, None for
        whoever may read them, by path: all, or the one with this id or path and those below it."""
        ...

    async def sources(
        self,
        tenant: str,
        collection: str,
        at: Sequence[str] | None = None,
        below: Sequence[str] = (),
    ) -> Mapping[str, Sequence[str]]:
        """Return the paths of the documents of the collection of this id, by their sources; where
        places are given, of those `at` these, and of those at or `below` these."""
        ...

    async def find_including(
        self, tenant: str, collection: str, files: Sequence[str]
    ) -> Sequence[str]:
        """The sources of the documents that include any of these files, as they last looked."""
        ...

    async def statuses(self, tenant: str, collection: str) -> Sequence[StatusCount]:
        """Tell how many documents of a collection that answer are in which state."""
        ...

    async def counts(
        self, tenant: str, collection: str | None = None
    ) -> Mapping[str, Sequence[StatusCount]]:
        """Tell how many documents of each collection, or of one, are in which state, also those
        that do not answer yet; as of now, where `statuses` is as of the edition. A collection
        without documents is left out."""
        ...

    async def totals(self) -> Sequence[Total]:
        """Return the documents of all collections by their status."""
        ...

    async def metadata_keys(
        self, tenant: str, collection: str
    ) -> Mapping[str, frozenset[tuple[str, ...]]]:
        """Return the keys of the metadata of a collection, each with the readers that the documents
        are allowed to which have it."""
        ...

    async def metadata_values(
        self, tenant: str, collection: str, keys: Several[str]
    ) -> Mapping[str, Sequence[ValueCount]]:
        """Return the texts, numbers and truth values that documents have under these keys. Each
        value of a list counts."""
        ...

    async def begin(self, document: Document) -> int:
        """Open the next version for writing, hidden; the same one again after a crash.

        Returns the number of the version to write, never one that was used before. While another
        version answers, the document's fields go on describing that one. Waits for the searches
        that began before it, so it must not be called inside `snapshot`.
        """
        ...

    async def publish(self, document: Document, version: int) -> None:
        """Make `version` the one that answers and hide the one before, in one transaction."""
        ...

    async def begin_all(
        self, documents: Sequence[Document], part: Job | None = None
    ) -> Sequence[Begun]:
        """`begin` for several documents, in one transaction. Raises JobEnded if it is done for a
        `part` that its worker does not have any more."""
        ...

    async def mark_stopped(self, revisions: Sequence[str]) -> None:
        """Note that nobody writes these any more, which were begun for a part."""
        ...

    async def publish_all(self, documents: Sequence[Document]) -> None:
        """`publish` for several documents, each with its version, in one transaction."""
        ...

    async def in_text(self, tenant: str, collection: str) -> list[str]:
        """Return the ids of the documents with status text."""
        ...

    async def of_content(
        self, tenant: str, collection: str, hashes: Several[str]
    ) -> Mapping[str, Document]:
        """Find for each hash of a content one document that has it and all its vectors."""
        ...

    async def find_copies(
        self, tenant: str, collection: str, hashes: Several[str], readers: Several[str] | None
    ) -> Mapping[str, Sequence[Document]]:
        """For each hash of a content that there is, the first documents by path that answer with it
        and that these `readers` may read, MAX_COPIES at most; None is for all."""
        ...

    async def looks(self, document_ids: Sequence[str]) -> Mapping[str, Look]:
        """Tell how the files of documents looked when they were last hashed, by document."""
        ...

    async def put_looks(self, looks: Mapping[str, Look]) -> None:
        """Keep how the files of these documents look; of documents that are gone, nothing."""
        ...

    async def mark_embedded(self, document_ids: Sequence[str]) -> None:
        """Note that these documents have all their vectors: status text becomes ready."""
        ...

    async def folder_readers(self, tenant: str, collection: str) -> Sequence[FolderReaders]:
        """Return the readers that folders of the collection of this id give to what is in them."""
        ...

    async def put_folder_readers(
        self, tenant: str, collection: str, rules: Sequence[FolderReaders]
    ) -> None:
        """Put these in the place of those of the same folders, by file or not; without readers in
        the place of none. They hold for what is published from now on, and are `unapplied`."""
        ...

    async def list_unapplied_readers(self) -> Sequence[tuple[tuple[str, str], FolderReaders]]:
        """Rules that may not have reached every document yet, each with the tenant and id of its
        collection."""
        ...

    async def mark_readers_applied(
        self, tenant: str, collection: str, rules: Sequence[FolderReaders]
    ) -> None:
        """Note that these have reached every document."""
        ...

    async def give_readers(
        self, document_ids: Sequence[str], own: tuple[str, ...] | None = None, fixed: bool = False
    ) -> None:
        """Give documents readers of their own, `fixed` for those that an administrator set; none
        for those of folder and collection. Without `own` they are resolved anew. In the same
        transaction the documents of which that changes the readers are `withheld`."""
        ...

    async def list_withheld(
        self, limit: int, tenant: str = "", collection: str = ""
    ) -> Sequence[tuple[tuple[str, str], str, tuple[str, ...]]]:
        """Return revisions that answer and are hidden until their chunks have the readers of their
        document: tenant and id of the collection, the revision, these readers."""
        ...

    async def grant(self, given: Mapping[str, tuple[str, ...]]) -> None:
        """Show revisions whose chunks have these readers now, but where their document has others
        by now."""
        ...

    async def fail(self, document: Document, error: str) -> None:
        """Record that the document's newest content could not be indexed, and why.

        A version that answers goes on answering; the one being written is retired.
        """
        ...

    async def fail_all(self, documents: Sequence[Document]) -> None:
        """`fail` for several documents, each with its error, in one transaction. Those that are
        `skipped` stay that."""
        ...

    async def retire(self, document_ids: Sequence[str]) -> None:
        """Forget documents: hidden at once, their chunks to be purged."""
        ...

    async def revisions(self, names: Sequence[str]) -> Set[str]:
        """Return those of these revisions that may have chunks, visible or not."""
        ...

    async def list_retired(
        self, document_ids: Sequence[str] | None = None
    ) -> list[tuple[Collection, str]]:
        """Return the revisions whose chunks are to be deleted, of these documents or of all, each
        with its collection."""
        ...

    async def forget_revisions(self, revisions: Sequence[str]) -> None:
        """The chunks of these revisions are gone from the index."""
        ...

    async def edition(self, tenant: str, collection: str) -> Edition | None:
        """Return what the collection of this id is now; None if there is none."""
        ...

    def snapshot(
        self, collection: Collection | None = None
    ) -> AbstractAsyncContextManager[frozenset[str]]:
        """Return the hidden revisions of a collection, of all without one, for the time of one
        search in it. What other collections hide makes no search longer.

        No revision that was visible on entry is purged before the exit. Raises UnknownCollection
        on entry for a collection that has been dropped.
        """
        ...

    def keep_all(self) -> AbstractAsyncContextManager[None]:
        """Until the exit, what answers on entry stays in the index, though it be replaced, deleted
        or dropped meanwhile. For what takes long: nobody waits for the exit.

        Raises StateUnavailable, on exit too: then it is not known whether that held.
        """
        ...

    async def is_kept(self) -> bool:
        """Tell whether anybody is `keeping`, in any server. Whoever has read what is to be deleted
        asks this before deleting it, and leaves it for later if so."""
        ...

    async def at_index(self, place: str) -> None:
        """Tell the other servers of this state which index this one uses, until it ends."""
        ...

    async def other_index(self) -> bool:
        """Whether a server is there that said another one. It may be the same by another name."""
        ...

    async def drain(self) -> None:
        """Return when every search that began before this call has ended."""
        ...

    def alone(self, tenant: str, collection: str) -> AbstractAsyncContextManager[None]:
        """Return one ingest or rebuild of the collection of this id, there or to come, at a time,
        in all servers; others wait."""
        ...

    async def ready(self) -> None:
        """Raise StateUnavailable unless the store answers."""
        ...


async def need_collection(catalog: Catalog, tenant: str, name: str) -> Collection:
    """Return the collection of a name. Raises UnknownCollection."""
    found = await catalog.collection(tenant, name)
    if found is None:
        raise UnknownCollection(name)
    return found


async def find_collection(catalog: Catalog, ask: Ask) -> Collection | None:
    """Return the collection that is asked, whatever its name is by now."""
    tenant = ask.principal.tenant
    if ask.collection_id:
        return await catalog.find_by_id(tenant, ask.collection_id)
    return await catalog.collection(tenant, ask.collection)
