"""The plain client: each of its methods runs the one of the asynchronous client, whose parameters,
result and explanation it has, and waits for it."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping, Sequence
from functools import update_wrapper
from inspect import signature
from types import GenericAlias, TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, get_args

from ragstone.api.client import AsyncClient
from ragstone.api.connection import Location
from ragstone.api.namespaces import (
    AsyncCollections,
    AsyncConversations,
    AsyncDocuments,
    AsyncJobs,
    AsyncPeople,
    AsyncSyncedSources,
)
from ragstone.api.threads import LoopThread, Twin

A = TypeVar("A")
R = TypeVar("R")
P = ParamSpec("P")


def _run(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Twin[A], P], R]:
    def call(twin: Twin[A], /, *args: P.args, **given: P.kwargs) -> R:
        return twin._thread.run(method(twin._inner, *args, **given))

    update_wrapper(call, method)
    return call


def _iterate(
    method: Callable[Concatenate[A, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate[Twin[A], P], Generator[R, None, None]]:
    def call(twin: Twin[A], /, *args: P.args, **given: P.kwargs) -> Generator[R, None, None]:
        return twin._thread.iterate(method(twin._inner, *args, **given))

    update_wrapper(call, method)
    shown: Any = call
    # Otherwise `help` and editors would show an asynchronous generator, which this is not.
    items: Any = GenericAlias(Generator, (*get_args(method.__annotations__["return"]), None))
    shown.__signature__ = signature(method).replace(return_annotation=items)
    return call


class Collections(Twin[AsyncCollections]):
    __doc__ = AsyncCollections.__doc__

    list = _run(AsyncCollections.list)
    get = _run(AsyncCollections.get)
    rename = _run(AsyncCollections.rename)
    readers = _run(AsyncCollections.readers)
    set_readers = _run(AsyncCollections.set_readers)
    facets = _run(AsyncCollections.facets)
    folders = _run(AsyncCollections.folders)
    delete = _run(AsyncCollections.delete)
    rebuild = _run(AsyncCollections.rebuild)


class Documents(Twin[AsyncDocuments]):
    __doc__ = AsyncDocuments.__doc__

    list = _run(AsyncDocuments.list)
    get = _run(AsyncDocuments.get)
    read = _run(AsyncDocuments.read)
    picture = _run(AsyncDocuments.picture)
    put = _run(AsyncDocuments.put)
    readers = _run(AsyncDocuments.readers)
    set_readers = _run(AsyncDocuments.set_readers)
    delete = _run(AsyncDocuments.delete)


class SyncedSources(Twin[AsyncSyncedSources]):
    __doc__ = AsyncSyncedSources.__doc__

    add = _run(AsyncSyncedSources.add)
    kinds = _run(AsyncSyncedSources.kinds)
    change = _run(AsyncSyncedSources.change)
    list = _run(AsyncSyncedSources.list)
    get = _run(AsyncSyncedSources.get)
    sync = _run(AsyncSyncedSources.sync)
    runs = _run(AsyncSyncedSources.runs)
    remove = _run(AsyncSyncedSources.remove)


class People(Twin[AsyncPeople]):
    __doc__ = AsyncPeople.__doc__

    invite = _run(AsyncPeople.invite)
    list = _run(AsyncPeople.list)
    get = _run(AsyncPeople.get)
    change = _run(AsyncPeople.change)
    remove = _run(AsyncPeople.remove)
    sessions = _run(AsyncPeople.sessions)
    sign_out = _run(AsyncPeople.sign_out)
    end_second_factor = _run(AsyncPeople.end_second_factor)


class Conversations(Twin[AsyncConversations]):
    __doc__ = AsyncConversations.__doc__

    list = _run(AsyncConversations.list)
    read = _run(AsyncConversations.read)
    rename = _run(AsyncConversations.rename)
    export = _run(AsyncConversations.export)
    delete = _run(AsyncConversations.delete)


class Jobs(Twin[AsyncJobs]):
    __doc__ = AsyncJobs.__doc__

    ask = _run(AsyncJobs.ask)
    list = _run(AsyncJobs.list)
    get = _run(AsyncJobs.get)
    watch = _iterate(AsyncJobs.watch)
    wait = _run(AsyncJobs.wait)
    cancel = _run(AsyncJobs.cancel)
    pause = _run(AsyncJobs.pause)
    resume = _run(AsyncJobs.resume)
    retry = _run(AsyncJobs.retry)


class Client(Twin[AsyncClient]):
    __doc__ = AsyncClient.__doc__

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

    ask = _run(AsyncClient.ask)
    stream = _iterate(AsyncClient.stream)
    call = _run(AsyncClient.call)
    approve = _run(AsyncClient.approve)
    search = _run(AsyncClient.search)
    ingest = _run(AsyncClient.ingest)
    ingest_steps = _iterate(AsyncClient.ingest_steps)
    status = _run(AsyncClient.status)
