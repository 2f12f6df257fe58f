"""The plain client. `make api` writes this file from the asynchronous one: edit that."""

from collections.abc import Generator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from ragstone.api.answer import Answer
from ragstone.api.client import AnswerEvent, AsyncClient
from ragstone.api.connection import Location
from ragstone.api.namespaces import (
    MAX_CHARACTERS,
    PAGE,
    AsyncCollections,
    AsyncConversations,
    AsyncDocuments,
    AsyncJobs,
    AsyncPeople,
    AsyncSyncedSources,
)
from ragstone.api.params import AskParams, SearchParams
from ragstone.api.threads import LoopThread, Twin
from ragstone.core.caller import Role
from ragstone.core.conversation import Room, StoredTurn
from ragstone.core.filters import Scalar
from ragstone.core.records import Document
from ragstone.core.source import Source
from ragstone.core.sync import SourceRun
from ragstone.service import CollectionSummary, Overview, Progress
from ragstone.service.conversations import Format
from ragstone.service.jobs import JobState, JobView
from ragstone.service.people import INVITATION_DAYS, Invitation, PersonSession, PersonView
from ragstone.service.readers import FolderRule, ReadersView
from ragstone.service.reading import DocumentText, Facet, Folder
from ragstone.service.sources import SourceKindView, SourceView


class Collections(Twin[AsyncCollections]):
    """The collections of documents."""

    def list(self) -> Sequence[CollectionSummary]:
        """Every collection with how many documents and chunks it has."""
        return self._thread.run(self._inner.list())

    def get(self, name: str) -> CollectionSummary:
        """One collection. Raises UnknownCollection."""
        return self._thread.run(self._inner.get(name))

    def rename(self, name: str, new: str) -> CollectionSummary:
        """Call a collection otherwise; nothing is indexed anew.

        Raises UnknownCollection, Conflict for a name that another has.
        """
        return self._thread.run(self._inner.rename(name, new))

    def readers(self, name: str = "default") -> Sequence[FolderRule]:
        """The folders that have readers of their own; an empty one is the collection. Raises
        UnknownCollection."""
        return self._thread.run(self._inner.readers(name))

    def set_readers(
        self, readers: Sequence[str], name: str = "default", *, folder: str = ""
    ) -> None:
        """Set the readers of the collection, which may be still to come, or of one `folder`: for
        what is there and what comes. Without `readers` it has none of its own."""
        return self._thread.run(self._inner.set_readers(readers, name, folder=folder))

    def facets(self, name: str = "default", *, key: str = "", limit: int = 10) -> Sequence[Facet]:
        """The metadata of the documents by key, or of one `key`: each with its most frequent
        values, at most `limit`, and how many documents have them. Raises UnknownCollection."""
        return self._thread.run(self._inner.facets(name, key=key, limit=limit))

    def folders(
        self, name: str = "default", below: str = "", *, limit: int = 1000
    ) -> Sequence[Folder]:
        """The folders of a collection, or those directly in the folder `below`, with how many
        documents each holds, at most `limit`. Raises UnknownCollection."""
        return self._thread.run(self._inner.folders(name, below, limit=limit))

    def delete(self, name: str) -> int:
        """Delete a collection with all its documents; how many. Raises UnknownCollection."""
        return self._thread.run(self._inner.delete(name))

    def rebuild(self, name: str) -> Progress:
        """Index a collection anew with the configured embedding model, while the old index goes on
        answering; how it went. Raises UnknownCollection."""
        return self._thread.run(self._inner.rebuild(name))


class Documents(Twin[AsyncDocuments]):
    """The documents of a collection. Each has a path, such as `/contracts/lease.pdf`, and an id;
    either names it."""

    def list(
        self,
        collection: str = "default",
        *,
        limit: int = PAGE,
        offset: int = 0,
        after: str = "",
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
    ) -> Sequence[Document]:
        """The documents of a collection by path, `limit` of them from `offset` on, or those behind
        the path `after`: in large collections, go on with the last path of the page before. Only
        those in the folder `below` or deeper, and `having` these values in their metadata.

        Raises UnknownCollection.
        """
        return self._thread.run(
            self._inner.list(
                collection, limit=limit, offset=offset, after=after, below=below, having=having
            )
        )

    def get(self, path: str, *, collection: str = "default") -> Document:
        """What is known of one document. Raises UnknownDocument, UnknownCollection."""
        return self._thread.run(self._inner.get(path, collection=collection))

    def read(
        self,
        path: str,
        *,
        collection: str = "default",
        offset: int = 0,
        limit: int = MAX_CHARACTERS,
    ) -> DocumentText:
        """The text of a document as it is indexed: `limit` characters from `offset` on.

        Raises UnknownDocument, UnknownCollection.
        """
        return self._thread.run(
            self._inner.read(path, collection=collection, offset=offset, limit=limit)
        )

    def picture(self, path: str, picture: str, *, collection: str = "default") -> bytes:
        """A picture of a document by its id (`SourcePicture.id`), drawn anew as PNG or JPEG.

        Raises UnknownPicture, UnknownDocument, UnknownCollection.
        """
        return self._thread.run(self._inner.picture(path, picture, collection=collection))

    def put(
        self,
        path: str,
        content: str | bytes,
        *,
        collection: str = "default",
        title: str = "",
        metadata: Mapping[str, Any] | None = None,
        allowed: Sequence[str] = (),
    ) -> None:
        """Index a content that the program has, and wait until it can be searched.

        The ending of `path` says what it is: `/notes/today.md`, `/mail/17.eml`. What was at that
        path is replaced. `metadata` is what `where` compares, `allowed` are those who may read it.

        Raises DocumentError for a content that cannot be read.
        """
        return self._thread.run(
            self._inner.put(
                path,
                content,
                collection=collection,
                title=title,
                metadata=metadata,
                allowed=allowed,
            )
        )

    def readers(
        self, path: str, *, collection: str = "default", admin: bool = False
    ) -> ReadersView:
        """Who may read a document, and why; with `admin` also one that the client itself may not
        read, or that is still to come to this path.

        Raises UnknownDocument, UnknownCollection.
        """
        return self._thread.run(self._inner.readers(path, collection=collection, admin=admin))

    def set_readers(
        self,
        readers: Sequence[str],
        *paths: str,
        collection: str = "default",
        below: str = "",
        having: Mapping[str, Scalar] | None = None,
    ) -> int:
        """Set the readers of documents at once, without reading their files again; how many. They
        are those of these `paths`, or in the folder `below`, and `having` this metadata. Without
        `readers` they have those of their folders and collection again.

        Raises InputError, UnknownDocument, UnknownCollection.
        """
        return self._thread.run(
            self._inner.set_readers(
                readers, *paths, collection=collection, below=below, having=having
            )
        )

    def delete(self, *paths: str, collection: str = "default") -> int:
        """Delete documents, or folders with all below them, from the index; how many. The files
        themselves stay. Raises UnknownDocument, UnknownCollection."""
        return self._thread.run(self._inner.delete(*paths, collection=collection))


class SyncedSources(Twin[AsyncSyncedSources]):
    """What collections are kept in sync with. Methods raise UnknownSource for a name that is
    unknown, and Forbidden for who is not an administrator."""

    def add(
        self,
        name: str,
        kind: str,
        collection: str = "default",
        *,
        options: Mapping[str, str] | None = None,
        every: float | None = None,
        cron: str | None = None,
        readers: Sequence[str] = (),
    ) -> SourceView:
        """Keep a collection in sync with a source: every so many seconds, at the times of `cron`,
        or only when `sync` is called. `readers` are those of items that the source says nothing of.

        Raises InputError, Forbidden, Conflict, SourceUnavailable.
        """
        return self._thread.run(
            self._inner.add(
                name, kind, collection, options=options, every=every, cron=cron, readers=readers
            )
        )

    def kinds(self) -> Sequence[SourceKindView]:
        """The kinds of sources that there are, with their options."""
        return self._thread.run(self._inner.kinds())

    def change(
        self,
        name: str,
        *,
        every: float | None = None,
        cron: str | None = None,
        by_hand: bool = False,
        options: Mapping[str, str] | None = None,
        readers: Sequence[str] | None = None,
    ) -> SourceView:
        """Give a source another schedule, where `by_hand` ends the one that it has; other values of
        the `options` that are named, where an empty one takes its option away; other readers. What
        is not said stays. Other options and readers are taken over by a run that is due at once.

        Raises InputError, Forbidden, SourceUnavailable.
        """
        return self._thread.run(
            self._inner.change(
                name, every=every, cron=cron, by_hand=by_hand, options=options, readers=readers
            )
        )

    def list(self) -> Sequence[SourceView]:
        """The sources by name, each with its newest run."""
        return self._thread.run(self._inner.list())

    def get(self, name: str) -> SourceView:
        """A source with its newest run."""
        return self._thread.run(self._inner.get(name))

    def sync(self, name: str, *, dry: bool = False, accept_removals: bool = False) -> SourceRun:
        """Sync a source now, and wait for it; how it went. `dry` only counts what would be done,
        `accept_removals` also removes what is held back because so much is gone at once."""
        return self._thread.run(self._inner.sync(name, dry=dry, accept_removals=accept_removals))

    def runs(self, name: str, *, limit: int = 20) -> Sequence[SourceRun]:
        """The runs of a source, the newest first."""
        return self._thread.run(self._inner.runs(name, limit=limit))

    def remove(self, name: str, *, documents: bool = False) -> int:
        """Forget a source, and delete its `documents` if that is said; how many."""
        return self._thread.run(self._inner.remove(name, documents=documents))


class People(Twin[AsyncPeople]):
    """People with accounts, who sign in with a name and a password."""

    def invite(
        self,
        name: str,
        *,
        display: str | None = None,
        role: Role | None = None,
        groups: Sequence[str] | None = None,
        collections: Sequence[str] | None = None,
        days: float = INVITATION_DAYS,
        same_user: bool = False,
    ) -> Invitation:
        """Make an account, or invite somebody who has one to choose a new password; the secret of
        the invitation is in this answer alone. `same_user` says that a key or token with the user
        of this name is the same person's. Raises InputError, Conflict, Forbidden."""
        return self._thread.run(
            self._inner.invite(
                name,
                display=display,
                role=role,
                groups=groups,
                collections=collections,
                days=days,
                same_user=same_user,
            )
        )

    def list(self) -> Sequence[PersonView]:
        """The accounts by name."""
        return self._thread.run(self._inner.list())

    def get(self, name: str) -> PersonView:
        """An account."""
        return self._thread.run(self._inner.get(name))

    def change(
        self,
        name: str,
        *,
        display: str | None = None,
        role: Role | None = None,
        groups: Sequence[str] | None = None,
        collections: Sequence[str] | None = None,
        all_collections: bool = False,
    ) -> PersonView:
        """Give an account other rights, which hold at once; what is not said stays. Another role
        ends its sessions. Raises InputError, Forbidden."""
        return self._thread.run(
            self._inner.change(
                name,
                display=display,
                role=role,
                groups=groups,
                collections=collections,
                all_collections=all_collections,
            )
        )

    def remove(self, name: str) -> int:
        """Remove an account with its sessions, and revoke the keys of its user; how many."""
        return self._thread.run(self._inner.remove(name))

    def sessions(self, name: str) -> Sequence[PersonSession]:
        """The browsers in which somebody is signed in, the newest first."""
        return self._thread.run(self._inner.sessions(name))

    def sign_out(self, name: str, *, session: str = "") -> int:
        """End one session by its id, or all of them; how many."""
        return self._thread.run(self._inner.sign_out(name, session=session))

    def end_second_factor(self, name: str) -> None:
        """Ask somebody for no code of an authenticator any more."""
        return self._thread.run(self._inner.end_second_factor(name))


class Conversations(Twin[AsyncConversations]):
    """What was said in conversations. `conversation` of `ask` begins and continues one; here it is
    called by the same name. Methods raise UnknownRoom for a name that is unknown."""

    def list(self, *, limit: int = 50, offset: int = 0) -> Sequence[Room]:
        """The conversations, those that went on last first."""
        return self._thread.run(self._inner.list(limit=limit, offset=offset))

    def read(self, name: str, *, limit: int = 50, offset: int = 0) -> Sequence[StoredTurn]:
        """Questions with their answers, the newest first."""
        return self._thread.run(self._inner.read(name, limit=limit, offset=offset))

    def rename(self, name: str, title: str) -> str:
        """Give a conversation a title; it, as it is kept. Its name stays."""
        return self._thread.run(self._inner.rename(name, title))

    def export(self, name: str, format: Format = "json") -> str:
        """The whole conversation as text: json or markdown; docx in base64."""
        return self._thread.run(self._inner.export(name, format))

    def delete(self, name: str) -> None:
        """Delete a conversation."""
        return self._thread.run(self._inner.delete(name))


class Jobs(Twin[AsyncJobs]):
    """Work in the background: ingests, rebuilds, and questions that need not be answered at once.
    Methods raise UnknownJob for an id that is unknown, JobEnded where it is too late."""

    def ask(self, question: str, **params: Unpack[AskParams]) -> JobView:
        """Answer a question in the background; the job's `result` has the answer when it is done.

        While the result is kept, the same question is the same job. `params` are those of
        `Client.ask`.
        """
        return self._thread.run(self._inner.ask(question, **params))

    def list(
        self, *, kind: str | None = None, state: JobState | None = None, limit: int = 100
    ) -> Sequence[JobView]:
        """The newest jobs, of one kind or in one state if that is said; without results."""
        return self._thread.run(self._inner.list(kind=kind, state=state, limit=limit))

    def get(self, id: str) -> JobView:
        """A job as it is now, with its result."""
        return self._thread.run(self._inner.get(id))

    def watch(self, id: str) -> Generator[JobView, None, None]:
        """A job as it is now and whenever it changes, until it has ended."""
        return self._thread.iterate(self._inner.watch(id))

    def wait(self, id: str) -> JobView:
        """A job when it has ended."""
        return self._thread.run(self._inner.wait(id))

    def cancel(self, id: str) -> JobView:
        """End a job; what it did stays."""
        return self._thread.run(self._inner.cancel(id))

    def pause(self, id: str) -> JobView:
        """Stop a job until it is resumed."""
        return self._thread.run(self._inner.pause(id))

    def resume(self, id: str) -> JobView:
        """Let a paused job go on."""
        return self._thread.run(self._inner.resume(id))

    def retry(self, id: str) -> JobView:
        """Queue a failed or cancelled job again."""
        return self._thread.run(self._inner.retry(id))


class Client(Twin[AsyncClient]):
    """Your documents, to ask and to search.

    `location` is a data directory, or the address of a server (`http://...`); without one, it is
    the data directory that the command line uses. A data directory that a server holds is reached
    through that server, any other is opened in this process. `key` is an API key of the server at
    the address. `settings` are settings by name, such as `{"rag.top_k": 5}`, and `config` is a file
    of settings; both count more than the environment.

    Nothing is opened until the first question, or until the `with` block begins. Close the client
    when it is no longer needed: it holds the data directory.
    """

    def __init__(
        self,
        location: Location | None = None,
        *,
        key: str | None = None,
        settings: Mapping[str, Any] | None = None,
        config: Location | None = None,
    ) -> None:
        self._inner = AsyncClient(location, key=key, settings=settings, config=config)
        self._thread = LoopThread(self._inner.aclose)

    def __enter__(self) -> Self:
        """Open the data directory, or reach the server."""
        self._thread.run(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        self.close()

    def close(self) -> None:
        """Close the client, and every client that `as_user` made of it.

        Jobs that run in this process stop; the next one that opens the data directory goes on with
        them.
        """
        self._thread.close()

    def as_user(
        self, user: str, *, groups: Sequence[str] = (), tenant: str = "default"
    ) -> "Client":
        """This client as another user: it finds only what the user or one of the groups may read.

        It shares the connection. Raises InputError at a server's address: there, the key says who
        asks.
        """
        return Client._wrap(self._inner.as_user(user, groups=groups, tenant=tenant), self._thread)

    @property
    def collections(self) -> Collections:
        """The collections of documents."""
        return Collections._wrap(self._inner.collections, self._thread)

    @property
    def documents(self) -> Documents:
        """The documents of a collection."""
        return Documents._wrap(self._inner.documents, self._thread)

    @property
    def sources(self) -> SyncedSources:
        """What collections are kept in sync with."""
        return SyncedSources._wrap(self._inner.sources, self._thread)

    @property
    def people(self) -> People:
        """People with accounts."""
        return People._wrap(self._inner.people, self._thread)

    @property
    def conversations(self) -> Conversations:
        """What was said in conversations that have a name."""
        return Conversations._wrap(self._inner.conversations, self._thread)

    @property
    def jobs(self) -> Jobs:
        """Work that goes on in the background, and outlives the process that began it."""
        return Jobs._wrap(self._inner.jobs, self._thread)

    def ask(self, question: str, **params: Unpack[AskParams]) -> Answer:
        """The answer to a question; `AskParams` and `SearchParams` say what `params` can be.

        Raises EmptyQuestion, QuestionTooLong, UnknownCollection, Unavailable and others of
        `ragstone.errors`.
        """
        return self._thread.run(self._inner.ask(question, **params))

    def stream(
        self, question: str, **params: Unpack[AskParams]
    ) -> Generator[AnswerEvent, None, None]:
        """What happens while a question is answered, piece by piece; the last event is the Answer.

        Leaving the loop cancels the question. Parameters and errors are those of `ask`.
        """
        return self._thread.iterate(self._inner.stream(question, **params))

    def call(self, operation: str, **arguments: Any) -> Any:
        """What an operation returns, by its name, such as `graph.show`: those of plugins and other
        packages have no other method here. Arguments are JSON values by their names; who asks is
        this client's user.

        Raises UnknownOperation, InputError for other arguments, and what the operation raises.
        """
        return self._thread.run(self._inner.call(operation, **arguments))

    def approve(self, step: str, approved: bool = True) -> None:
        """Approve or decline a call of a tool: `step` is the `id` of an `AgentStep` that waits.

        Raises UnknownApproval where none waits.
        """
        return self._thread.run(self._inner.approve(step, approved))

    def search(self, question: str, **params: Unpack[SearchParams]) -> list[Source]:
        """The passages that fit words or a question, best first, without an answer.

        `SearchParams` says what `params` can be. Raises what `ask` raises.
        """
        return self._thread.run(self._inner.search(question, **params))

    def ingest(
        self,
        *paths: Location,
        collection: str = "default",
        allowed: Sequence[str] = (),
        prune: bool = False,
        metadata: Mapping[str, Any] | None = None,
        skip_copies: bool = False,
    ) -> Progress:
        """Index files and folders, and wait until they can be searched; how it went.

        `allowed` are those who may read them: `*` for everyone, `user:eva`, `group:staff`. Without
        it, documents keep their readers, and new ones are for everyone.
        `metadata` is what `where` compares: texts, numbers, truth values and lists of these; it
        counts more than what files beside the documents say. With
        `prune`, documents are forgotten whose file below the paths is gone. What has not changed is
        skipped. A file that cannot be read is in `failed` of the result; the others are indexed.
        `copies` of it are files with the content of another document; `skip_copies` passes new ones
        over. To a server's address, the files are sent.

        Raises UnreadableDocument for a path that does not exist, EmbeddingMismatch, StorageFull.
        """
        return self._thread.run(
            self._inner.ingest(
                *paths,
                collection=collection,
                allowed=allowed,
                prune=prune,
                metadata=metadata,
                skip_copies=skip_copies,
            )
        )

    def ingest_steps(
        self,
        *paths: Location,
        collection: str = "default",
        allowed: Sequence[str] = (),
        prune: bool = False,
        metadata: Mapping[str, Any] | None = None,
        skip_copies: bool = False,
    ) -> Generator[Progress, None, None]:
        """`ingest` step by step, up to ten a second; the last one has `finished`.

        Leaving the loop does not stop it: it is a job, and `jobs.cancel` ends it.
        """
        return self._thread.iterate(
            self._inner.ingest_steps(
                *paths,
                collection=collection,
                allowed=allowed,
                prune=prune,
                metadata=metadata,
                skip_copies=skip_copies,
            )
        )

    def status(self) -> Overview:
        """What is indexed, by which models it is answered, and how much room it takes."""
        return self._thread.run(self._inner.status())
