"""The asynchronous client, which the plain one in `sync.py` waits for."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias, Unpack

from ragstone.api.answer import Answer, to_answer
from ragstone.api.connection import Connection, Location, Session
from ragstone.api.namespaces import (
    AsyncCollections,
    AsyncConversations,
    AsyncDocuments,
    AsyncJobs,
    AsyncPeople,
    AsyncSyncedSources,
    last,
)
from ragstone.api.params import AskParams, SearchParams, to_ask
from ragstone.api.sending import check_target, send_files
from ragstone.core.errors import InputError, RagstoneError, UnknownOperation, UnreadableDocument
from ragstone.core.events import (
    AgentStep,
    Checked,
    Done,
    Failed,
    Note,
    Rewritten,
    Sources,
    StageEnded,
    StageStarted,
    Thinking,
    Token,
)
from ragstone.core.metadata import check_input_metadata
from ragstone.core.source import Source, hit_sources
from ragstone.core.turn import Ask, Principal
from ragstone.ingest.files import suggest_nearest
from ragstone.service import IngestRequest, Overview, Progress, wire
from ragstone.service.added import describe_absence
from ragstone.service.contract import operations

AnswerEvent: TypeAlias = (
    StageStarted
    | StageEnded
    | Note
    | Thinking
    | Rewritten
    | Sources
    | Token
    | Checked
    | AgentStep
    | Answer
)
"""What a stream yields; the last one is the Answer."""


class AsyncClient:
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
        self._session = Session(Connection(location, key, settings, config))

    async def __aenter__(self) -> Self:
        """Open the data directory, or reach the server."""
        await self._session.service()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client, and every client that `as_user` made of it.

        Jobs that run in this process stop; the next one that opens the data directory goes on with
        them.
        """
        await self._session.connection.aclose()

    def as_user(
        self, user: str, *, groups: Sequence[str] = (), tenant: str = "default"
    ) -> "AsyncClient":
        """This client as another user: it finds only what the user or one of the groups may read.

        It shares the connection. Raises InputError at a server's address: there, the key says who
        asks.
        """
        if self._session.connection.elsewhere:
            raise InputError("At a server, the API key says who asks. Make a key for each user.")
        if not user.strip() or not tenant.strip():
            raise InputError("A user and a tenant need a name.")
        other = AsyncClient.__new__(AsyncClient)
        other._session = Session(self._session.connection, Principal(tenant, user, tuple(groups)))
        return other

    @property
    def collections(self) -> AsyncCollections:
        """The collections of documents."""
        return AsyncCollections(self._session)

    @property
    def documents(self) -> AsyncDocuments:
        """The documents of a collection."""
        return AsyncDocuments(self._session)

    @property
    def sources(self) -> AsyncSyncedSources:
        """What collections are kept in sync with."""
        return AsyncSyncedSources(self._session)

    @property
    def people(self) -> AsyncPeople:
        """People with accounts."""
        return AsyncPeople(self._session)

    @property
    def conversations(self) -> AsyncConversations:
        """What was said in conversations that have a name."""
        return AsyncConversations(self._session)

    @property
    def jobs(self) -> AsyncJobs:
        """Work that goes on in the background, and outlives the process that began it."""
        return AsyncJobs(self._session)

    async def ask(self, question: str, **params: Unpack[AskParams]) -> Answer:
        """The answer to a question; `AskParams` and `SearchParams` say what `params` can be.

        Raises EmptyQuestion, QuestionTooLong, UnknownCollection, Unavailable and others of
        `ragstone.errors`.
        """
        asked = to_ask(question, self._session.principal, params, AskParams)
        async with aclosing(self._events(replace(asked, streams=False))) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise RagstoneError("The answer ended before it was complete.")

    async def stream(
        self, question: str, **params: Unpack[AskParams]
    ) -> AsyncGenerator[AnswerEvent, None]:
        """What happens while a question is answered, piece by piece; the last event is the Answer.

        Leaving the loop cancels the question. Parameters and errors are those of `ask`.
        """
        asked = to_ask(question, self._session.principal, params, AskParams)
        async with aclosing(self._events(asked)) as events:
            async for event in events:
                yield event

    async def _events(self, asked: Ask) -> AsyncGenerator[AnswerEvent, None]:
        service = await self._session.service()
        async with aclosing(service.ask(asked)) as events:
            async for event in events:
                match event:
                    case Done():
                        yield to_answer(event.turn)
                    case Failed():
                        raise event.error
                    case _:
                        yield event

    async def call(self, /, operation: str, **arguments: Any) -> Any:
        """What an operation returns, by its name, such as `graph.show`: those of plugins and other
        packages have no other method here. Arguments are JSON values by their names; who asks is
        this client's user.

        Raises UnknownOperation, InputError for other arguments, and what the operation raises.
        """
        found = operations().get(operation)
        if found is None:
            absent = describe_absence(operation.rpartition(".")[0])
            raise UnknownOperation(f"There is no operation {operation!r}. {absent}")
        service = await self._session.service()
        whose = self._session.principal
        own = {"principal": wire.dump(whose), "tenant": whose.tenant}
        given = arguments | {name: own[name] for name in own.keys() & found.types.keys()}
        result = found.of(service)(**found.load(given))
        return [item async for item in result] if found.streams else await result

    async def approve(self, step: str, approved: bool = True) -> None:
        """Approve or decline a call of a tool: `step` is the `id` of an `AgentStep` that waits.

        Raises UnknownApproval where none waits.
        """
        service = await self._session.service()
        await service.approve(self._session.principal, step, approved)

    async def search(self, question: str, **params: Unpack[SearchParams]) -> list[Source]:
        """The passages that fit words or a question, best first, without an answer.

        `SearchParams` says what `params` can be. Raises what `ask` raises.
        """
        asked = to_ask(question, self._session.principal, params, SearchParams)
        service = await self._session.service()
        return list(hit_sources((await service.search(asked)).hits))

    async def ingest(
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
        return await last(
            self.ingest_steps(
                *paths,
                collection=collection,
                allowed=allowed,
                prune=prune,
                metadata=metadata,
                skip_copies=skip_copies,
            )
        )

    async def ingest_steps(
        self,
        *paths: Location,
        collection: str = "default",
        allowed: Sequence[str] = (),
        prune: bool = False,
        metadata: Mapping[str, Any] | None = None,
        skip_copies: bool = False,
    ) -> AsyncGenerator[Progress, None]:
        """`ingest` step by step, up to ten a second; the last one has `finished`.

        Leaving the loop does not stop it: it is a job, and `jobs.cancel` ends it.
        """
        if not paths:
            raise InputError("Name at least one file or folder to index.")
        check_target(collection, allowed)
        found = tuple(_resolve_path(path) for path in paths)
        said = check_input_metadata(metadata or {})
        request = IngestRequest(
            found,
            collection,
            self._session.principal.tenant,
            tuple(allowed),
            prune,
            metadata=said,
            skip_copies=skip_copies,
        )
        async with aclosing(await self._index(request)) as steps:
            async for step in steps:
                yield step
                if step.error:
                    raise RagstoneError(step.error)

    async def _index(self, request: IngestRequest) -> AsyncGenerator[Progress, None]:
        service = await self._session.service()
        if not self._session.connection.elsewhere:
            return service.ingest(request)
        if request.prune:
            raise InputError("Documents are pruned where their files are. Leave out prune.")
        return send_files(self._session, request)

    async def status(self) -> Overview:
        """What is indexed, by which models it is answered, and how much room it takes."""
        return await (await self._session.service()).overview()


def _resolve_path(path: Location) -> str:
    """The path as it means the same in another working directory; raises UnreadableDocument."""
    place = Path(path).expanduser()
    if not place.exists():
        raise UnreadableDocument(f"{path} does not exist. Check the path.{suggest_nearest(place)}")
    return os.path.abspath(place)
