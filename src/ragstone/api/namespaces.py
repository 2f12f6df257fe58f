"""The namespaces of a client: collections, documents, conversations and jobs."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Unpack

from ragstone.api.connection import Session
from ragstone.api.params import AskParams, to_ask
from ragstone.api.sending import send_content
from ragstone.core.caller import Role
from ragstone.core.conversation import ConversationKey, Room, StoredTurn, conversation_key
from ragstone.core.errors import (
    DocumentError,
    InputError,
    RagstoneError,
    UnknownCollection,
    UnknownDocument,
    UnknownJob,
)
from ragstone.core.filters import Scalar
from ragstone.core.records import Document
from ragstone.core.sync import SourceRun
from ragstone.service import CollectionSummary, Progress
from ragstone.service.added import find_part
from ragstone.service.conversations import Format
from ragstone.service.jobs import JobState, JobView
from ragstone.service.people import INVITATION_DAYS, Invitation, PersonSession, PersonView
from ragstone.service.readers import FolderRule, ReadersView
from ragstone.service.reading import DocumentText, Facet, Folder
from ragstone.service.sources import SourceKindView, SourcesService, SourceView

MAX_CHARACTERS = 1_000_000
PAGE = 1000
RUN_SECONDS = 0.2
"""How often it is looked how far a run of a source is."""


class _Part:
    def __init__(self, session: Session) -> None:
        self._session = session


class AsyncCollections(_Part):
    """The collections of documents."""

    async def list(self) -> Sequence[CollectionSummary]:
        """Every collection with how many documents and chunks it has."""
        service = await self._session.service()
        return await service.collections(self._session.principal)

    async def get(self, name: str) -> CollectionSummary:
        """One collection. Raises UnknownCollection."""
        for view in await self.list():
            if view.name == name:
                return view
        raise UnknownCollection(name)

    async def rename(self, name: str, new: str) -> CollectionSummary:
        """Call a collection otherwise; nothing is indexed anew.

        Raises UnknownCollection, Conflict for a name that another has.
        """
        service = await self._session.service()
        await service.rename_collection(self._session.principal, name, new)
        return await self.get(new)

    async def readers(self, name: str = "default") -> Sequence[FolderRule]:
        """The folders that have readers of their own; an empty one is the collection. Raises
        UnknownCollection."""
        service = await self._session.service()
        return await service.readers.folders(self._session.principal, name)

    async def set_readers(
        self, readers: Sequence[str], name: str = "default", *, folder: str = ""
    ) -> None:
        """Set the readers of the collection, which may be still to come, or of one `folder`: for
        what is there and what comes. Without `readers` it has none of its own."""
        service = await self._session.service()
        await service.readers.set_folder(self._session.principal, name, folder, readers)

    async def facets(
        self, name: str = "default", *, key: str = "", limit: int = 10
    ) -> Sequence[Facet]:
        """The metadata of the documents by key, or of one `key`: each with its most frequent
        values, at most `limit`, and how many documents have them. Raises UnknownCollection."""
        _check_page(limit, 0)
        service = await self._session.service()
        return await service.reading.facets(self._session.principal, name, key=key, limit=limit)

    async def folders(
        self, name: str = "default", below: str = "", *, limit: int = 1000
    ) -> Sequence[Folder]:
        """The folders of a collection, or those directly in the folder `below`, with how many
        documents each holds, at most `limit`. Raises UnknownCollection."""
        _check_page(limit, 0)
        service = await self._session.service()
        return await service.reading.folders(self._session.principal, name, below, limit)

    async def delete(self, name: str) -> int:
        """Delete a collection with all its documents; how many. Raises UnknownCollection."""
        service = await self._session.service()
        return await service.delete(self._session.principal, name)

    async def rebuild(self, name: str) -> Progress:
        """Index a collection anew with the configured embedding model, while the old index goes on
        answering; how it went. Raises UnknownCollection."""
        service = await self._session.service()
        return await last(service.rebuild(self._session.principal.tenant, name))


class AsyncDocuments(_Part):
    """The documents of a collection. Each has a path, such as `/contracts/lease.pdf`, and an id;
    either names it."""

    async def list(
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
        _check_page(limit, offset)
        service = await self._session.service()
        principal = self._session.principal
        return await service.documents(
            principal,
            collection,
            limit=limit,
            offset=offset,
            after=after,
            below=below,
            having=having,
        )

    async def get(self, path: str, *, collection: str = "default") -> Document:
        """What is known of one document. Raises UnknownDocument, UnknownCollection."""
        service = await self._session.service()
        found = await service.documents(self._session.principal, collection, named=[path])
        if not found:
            raise UnknownDocument(path)
        return found[0]

    async def read(
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
        _check_page(limit, offset)
        service = await self._session.service()
        return await service.reading.read(self._session.principal, collection, path, offset, limit)

    async def picture(self, path: str, picture: str, *, collection: str = "default") -> bytes:
        """A picture of a document by its id (`SourcePicture.id`), drawn anew as PNG or JPEG.

        Raises UnknownPicture, UnknownDocument, UnknownCollection.
        """
        service = await self._session.service()
        found = await service.reading.picture(self._session.principal, collection, path, picture)
        return base64.b64decode(found.base64)

    async def put(
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
        progress = await last(
            send_content(self._session, path, content, collection, title, metadata or {}, allowed)
        )
        for failure in progress.failed:
            raise DocumentError(failure.reason)

    async def readers(
        self, path: str, *, collection: str = "default", admin: bool = False
    ) -> ReadersView:
        """Who may read a document, and why; with `admin` also one that the client itself may not
        read, or that is still to come to this path.

        Raises UnknownDocument, UnknownCollection.
        """
        service = await self._session.service()
        return await service.readers.explain(self._session.principal, collection, path, admin)

    async def set_readers(
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
        service = await self._session.service()
        return await service.readers.give(
            self._session.principal,
            collection,
            readers,
            paths=paths or None,
            below=below,
            having=having,
        )

    async def delete(self, *paths: str, collection: str = "default") -> int:
        """Delete documents, or folders with all below them, from the index; how many. The files
        themselves stay. Raises UnknownDocument, UnknownCollection."""
        service = await self._session.service()
        return await service.delete(self._session.principal, collection, paths)


class AsyncSyncedSources(_Part):
    """What collections are kept in sync with. Methods raise UnknownSource for a name that is
    unknown, and Forbidden for who is not an administrator."""

    async def _find_sources(self) -> SourcesService:
        found: SourcesService = find_part(await self._session.service(), "sources")
        return found

    async def add(
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
        sources = await self._find_sources()
        return await sources.add(
            self._session.principal,
            name,
            kind,
            collection,
            options=options or {},
            every=every,
            cron=cron,
            readers=readers,
            operator=True,
        )

    async def kinds(self) -> Sequence[SourceKindView]:
        """The kinds of sources that there are, with their options."""
        sources = await self._find_sources()
        return await sources.kinds(self._session.principal)

    async def change(
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
        sources = await self._find_sources()
        return await sources.change(
            self._session.principal,
            name,
            every=every,
            cron=cron,
            by_hand=by_hand,
            options=options or {},
            readers=readers,
            operator=True,
        )

    async def list(self) -> Sequence[SourceView]:
        """The sources by name, each with its newest run."""
        sources = await self._find_sources()
        return await sources.list(self._session.principal)

    async def get(self, name: str) -> SourceView:
        """A source with its newest run."""
        sources = await self._find_sources()
        return await sources.show(self._session.principal, name)

    async def sync(
        self, name: str, *, dry: bool = False, accept_removals: bool = False
    ) -> SourceRun:
        """Sync a source now, and wait for it; how it went. `dry` only counts what would be done,
        `accept_removals` also removes what is held back because so much is gone at once."""
        sources = await self._find_sources()
        run = await sources.sync(
            self._session.principal, name, dry=dry, accept_removals=accept_removals
        )
        while run.state == "running":
            await asyncio.sleep(RUN_SECONDS)
            runs = await sources.runs(self._session.principal, name)
            run = next((item for item in runs if item.id == run.id), run)
        return run

    async def runs(self, name: str, *, limit: int = 20) -> Sequence[SourceRun]:
        """The runs of a source, the newest first."""
        _check_page(limit)
        sources = await self._find_sources()
        return await sources.runs(self._session.principal, name, limit)

    async def remove(self, name: str, *, documents: bool = False) -> int:
        """Forget a source, and delete its `documents` if that is said; how many."""
        sources = await self._find_sources()
        return await sources.remove(self._session.principal, name, documents=documents)


class AsyncPeople(_Part):
    """People with accounts, who sign in with a name and a password."""

    async def invite(
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
        service = await self._session.service()
        return await service.people.invite(
            self._session.principal,
            name,
            display=display,
            role=role,
            groups=groups,
            collections=collections,
            days=days,
            same_user=same_user,
        )

    async def list(self) -> Sequence[PersonView]:
        """The accounts by name."""
        service = await self._session.service()
        return await service.people.list(self._session.principal)

    async def get(self, name: str) -> PersonView:
        """An account."""
        service = await self._session.service()
        return await service.people.show(self._session.principal, name, admin=True)

    async def change(
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
        service = await self._session.service()
        return await service.people.change(
            self._session.principal,
            name,
            display=display,
            role=role,
            groups=groups,
            collections=collections,
            all_collections=all_collections,
        )

    async def remove(self, name: str) -> int:
        """Remove an account with its sessions, and revoke the keys of its user; how many."""
        service = await self._session.service()
        return await service.people.remove(self._session.principal, name)

    async def sessions(self, name: str) -> Sequence[PersonSession]:
        """The browsers in which somebody is signed in, the newest first."""
        service = await self._session.service()
        return await service.people.sessions(self._session.principal, name, admin=True)

    async def sign_out(self, name: str, *, session: str = "") -> int:
        """End one session by its id, or all of them; how many."""
        service = await self._session.service()
        return await service.people.sign_out(
            self._session.principal, name, session=session, admin=True
        )

    async def end_second_factor(self, name: str) -> None:
        """Ask somebody for no code of an authenticator any more."""
        service = await self._session.service()
        await service.people.end_second_factor(self._session.principal, name, admin=True)


class AsyncConversations(_Part):
    """What was said in conversations. `conversation` of `ask` begins and continues one; here it is
    called by the same name. Methods raise UnknownRoom for a name that is unknown."""

    async def list(self, *, limit: int = 50, offset: int = 0) -> Sequence[Room]:
        """The conversations, those that went on last first."""
        _check_page(limit, offset)
        service = await self._session.service()
        found = await service.conversations.rooms(
            self._session.principal, limit=limit, offset=offset
        )
        return list(found.rooms)

    async def read(self, name: str, *, limit: int = 50, offset: int = 0) -> Sequence[StoredTurn]:
        """Questions with their answers, the newest first."""
        _check_page(limit, offset)
        service = await self._session.service()
        return await service.conversations.entries(self._conversation_key(name), limit, offset)

    async def rename(self, name: str, title: str) -> str:
        """Give a conversation a title; it, as it is kept. Its name stays."""
        service = await self._session.service()
        return await service.conversations.rename(self._conversation_key(name), title)

    async def export(self, name: str, format: Format = "json") -> str:
        """The whole conversation as text: json or markdown; docx in base64."""
        service = await self._session.service()
        return await service.conversations.export(self._conversation_key(name), format)

    async def delete(self, name: str) -> None:
        """Delete a conversation."""
        service = await self._session.service()
        await service.conversations.delete(self._conversation_key(name))

    def _conversation_key(self, name: str) -> ConversationKey:
        return conversation_key(self._session.principal, name)


class AsyncJobs(_Part):
    """Work in the background: ingests, rebuilds, and questions that need not be answered at once.
    Methods raise UnknownJob for an id that is unknown, JobEnded where it is too late."""

    async def ask(self, question: str, **params: Unpack[AskParams]) -> JobView:
        """Answer a question in the background; the job's `result` has the answer when it is done.

        While the result is kept, the same question is the same job. `params` are those of
        `Client.ask`.
        """
        asked = to_ask(question, self._session.principal, params, AskParams)
        return await (await self._session.service()).jobs.ask(asked)

    async def list(
        self, *, kind: str | None = None, state: JobState | None = None, limit: int = 100
    ) -> Sequence[JobView]:
        """The newest jobs, of one kind or in one state if that is said; without results."""
        _check_page(limit)
        service = await self._session.service()
        return await service.jobs.list(
            self._session.principal.tenant, kind, state, limit, principal=self._session.principal
        )

    async def get(self, id: str) -> JobView:
        """A job as it is now, with its result."""
        service = await self._session.service()
        found = await service.jobs.get(self._session.principal, id)
        if found is None:
            raise UnknownJob(id)
        return found

    async def watch(self, id: str) -> AsyncGenerator[JobView, None]:
        """A job as it is now and whenever it changes, until it has ended."""
        service = await self._session.service()
        async with aclosing(service.jobs.watch(self._session.principal, id)) as views:
            async for view in views:
                yield view

    async def wait(self, id: str) -> JobView:
        """A job when it has ended."""
        async with aclosing(self.watch(id)) as views:
            async for view in views:
                if view.ended:
                    return view
        return await self.get(id)

    async def cancel(self, id: str) -> JobView:
        """End a job; what it did stays."""
        service = await self._session.service()
        return await service.jobs.cancel(self._session.principal, id)

    async def pause(self, id: str) -> JobView:
        """Stop a job until it is resumed."""
        service = await self._session.service()
        return await service.jobs.pause(self._session.principal, id)

    async def resume(self, id: str) -> JobView:
        """Let a paused job go on."""
        service = await self._session.service()
        return await service.jobs.resume(self._session.principal, id)

    async def retry(self, id: str) -> JobView:
        """Queue a failed or cancelled job again."""
        service = await self._session.service()
        return await service.jobs.retry(self._session.principal, id)


async def last(steps: AsyncGenerator[Progress, None]) -> Progress:
    """The last step of a job; raises RagstoneError for what ended it."""
    final = None
    async with aclosing(steps):
        async for step in steps:
            final = step
    if final is None or final.error:
        raise RagstoneError(final.error if final else "The job ended without saying how.")
    return final


def _check_page(limit: int, offset: int = 0) -> None:
    if limit < 0 or offset < 0:
        raise InputError("limit and offset count from 0; neither can be negative.")
