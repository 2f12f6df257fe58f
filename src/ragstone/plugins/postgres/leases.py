"""What a server tells the others on the same PostgreSQL while it works, by advisory locks.

A search holds a shared lock of its own. Whoever wants to delete what it may be reading looks up
the locks that are held and waits until those are gone. PostgreSQL drops the locks of a server that
dies. They belong to a session, so nothing that pools transactions may stand between.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from hashlib import blake2b
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.sql import SQL, Literal

from ragstone.core.errors import StateUnavailable, UnknownCollection
from ragstone.core.records import Collection
from ragstone.plugins.postgres.state_errors import explain_error
from ragstone.store.sql.tables.base import storable

T = TypeVar("T")

log = logging.getLogger(__name__)

SEARCHING, WORKING, PRESENT = 1_918_989_426, 1_918_989_427, 1_918_989_428
"""The first key of the locks of searches, of those who change a collection, and of servers."""

KEEPING = 1_918_989_429
"""The first key of the locks of backups, for which nothing is deleted from an index."""

WAITING = 1_918_989_430
"""The first key of the locks of those who have waited for searches long enough."""

KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 6}
"""Packets on a connection where nothing is said for hours, that no firewall forgets it."""

AT_INDEX = 1_918_989_431
"""The first key of the locks by which servers say which index they use."""

PATIENCE = 60.0
"""Seconds after which a search that is waited for has surely been stopped with its whole server:
that one's session is ended, which all its searches find out when they want to use what they found.
A server that lives has ended a search that hangs before, and that one alone."""

ASKED, GIVES_WAY = 0.5, 0.75
"""The shares of that time after which whoever waits says so, and after which a search that runs so
long gives way to it."""

HIDDEN = "SELECT name FROM revisions WHERE state <> 'live'"

OF_COLLECTION = SQL(" AND tenant = {} AND collection = {}")
"""As literals, since a statement with values cannot follow another in one trip. Together with
HIDDEN an index of its own answers it (`tables.documents`): what other collections hide, and what
this one shows, costs nothing."""

UNLESS_THERE = SQL(
    " UNION ALL SELECT NULL WHERE NOT EXISTS "
    "(SELECT FROM collections WHERE tenant = {} AND id = {})"
)
"""Of a collection that was dropped no revision is hidden, and all may still be in its index."""

_HELD = (
    "SELECT pid, objid FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 "
    "AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_TRY_SECONDS = 0.5
LOOK_SECONDS = 1.0
"""How often a search that takes very long looks whether anybody waits for it."""
_Lock = tuple[int, int]


class Leases:
    """One session of one server, made anew when it breaks; what it held is then lost."""

    def __init__(self, parameters: Mapping[str, Any], name: str) -> None:
        self._parameters = parameters
        self._name = name
        self._session: AsyncConnection[Any] | None = None
        self._connecting = asyncio.Lock()
        self._numbers = itertools.count()
        self._works: set[_Lock] = set()
        self._index: int | None = None
        self._ending: set[asyncio.Task[Any]] = set()
        self._watched: dict[int, asyncio.Task[bool]] = {}

    @asynccontextmanager
    async def snapshot(self, collection: Collection | None) -> AsyncIterator[frozenset[str]]:
        """The hidden revisions of a collection, of all without one; none that was visible on entry
        is purged before the exit.

        Raises UnknownCollection for one that has been dropped, and StateUnavailable, on exit too:
        then it is not known whether that held.
        """
        # The second key of an advisory lock is a signed integer of 32 bits.
        number = next(self._numbers) % 2**31
        late = asyncio.get_running_loop().call_later(GIVES_WAY * PATIENCE, self._watch, number)
        taking = asyncio.ensure_future(self._take_lock(number, collection))
        try:
            _, hidden = await asyncio.shield(taking)
            if collection is not None and None in hidden:
                raise UnknownCollection(collection.name)
            yield hidden
        except BaseException:
            self._end(self._release(taking, number))
            raise
        finally:
            late.cancel()
            gave_way = self._unwatch(number)
        if not await asyncio.shield(self._end(self._release(taking, number))):
            why = (
                "The search took so long that what it read may have been deleted since."
                if gave_way
                else f"The connection to {self._name} broke off during the search."
            )
            raise StateUnavailable(f"{why} Try again.")

    def _watch(self, number: int) -> None:
        self._watched[number] = asyncio.create_task(self._give_way(number))

    def _unwatch(self, number: int) -> bool:
        """Tell whether a search that ends now has given way."""
        watching = self._watched.pop(number, None)
        gave_way = watching is not None and watching.done() and watching.result()
        if watching is not None:
            watching.cancel()
        return gave_way

    async def _give_way(self, number: int) -> bool:
        """End the lock of a search that takes very long, as soon as anybody waits for that."""
        try:
            while not await self._list_locks(WAITING):  # noqa: ASYNC110 - held by other servers
                await asyncio.sleep(LOOK_SECONDS)
            log.warning(
                "A search takes over %g s, and others wait: it fails.", PATIENCE * GIVES_WAY
            )
            await self._execute("SELECT pg_advisory_unlock_shared(%s, %s)", (SEARCHING, number))
        except StateUnavailable as error:
            log.info("A search lost its lock with the connection: %s", error)
            return False
        return True

    async def _take_lock(
        self, number: int, collection: Collection | None
    ) -> tuple[AsyncConnection[Any], frozenset[str]]:
        # The lock first: a revision that is hidden after that waits for this search.
        session = await self._open()
        statements = f"SELECT pg_advisory_lock_shared({SEARCHING}, {number}); {HIDDEN}"
        async with self._handle_failure(session):
            if collection is not None:
                key = (collection.tenant, collection.id)
                place = [Literal(storable(item)) for item in key]
                of_key = (item.format(*place) for item in (OF_COLLECTION, UNLESS_THERE))
                statements += "".join(item.as_string(session) for item in of_key)
            cursor = await session.execute(statements.encode())
            cursor.nextset()
            return session, frozenset(name for (name,) in await cursor.fetchall())

    def _end(self, giving_back: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Give a lock back, also if whoever asked for it was cancelled while it was taken."""
        task = asyncio.create_task(giving_back)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def _release(self, taking: "asyncio.Future[Any]", number: int) -> bool:
        """Tell whether the lock was held until now."""
        try:
            session, _ = await taking
            statement = f"SELECT pg_advisory_unlock_shared({SEARCHING}, {number})"
            async with self._handle_failure(session):
                row = await (await session.execute(statement.encode())).fetchone()
                return bool(row and row[0])
        except StateUnavailable:
            return False

    @asynccontextmanager
    async def keep_all(self) -> AsyncIterator[None]:
        """`ports.Catalog`. On a connection of its own: whoever ends the sessions of searches that
        hang does not end this."""
        session = await self._connect(KEEPALIVE)
        try:
            async with self._handle_failure(session):
                await session.execute("SELECT pg_advisory_lock_shared(%s, 0)", (KEEPING,))
            yield
            try:
                async with self._handle_failure(session):
                    await session.execute("SELECT pg_advisory_unlock_shared(%s, 0)", (KEEPING,))
            except StateUnavailable as error:
                raise StateUnavailable(
                    f"The connection to {self._name} that kept what is replaced or deleted "
                    "meanwhile broke off. Try again."
                ) from error
        finally:
            await session.close()

    async def is_kept(self) -> bool:
        """`ports.Catalog`."""
        return bool(await self._list_locks(KEEPING))

    async def drain(self) -> None:
        """Wait until every search now running, in any server, has ended."""
        waited = await self._list_locks(SEARCHING)
        began = time.monotonic()
        until, pause = began + PATIENCE, 0.002
        async with AsyncExitStack() as saying:
            said = False
            while waited:
                await asyncio.sleep(pause)
                # Most searches end within milliseconds, some take seconds.
                pause = min(2 * pause, 0.1)
                waited &= await self._list_locks(SEARCHING)
                if not said and time.monotonic() > began + ASKED * PATIENCE:
                    said = True
                    await saying.enter_async_context(self._announce_waiting())
                if waited and time.monotonic() > until:
                    await self._terminate_sessions({pid for pid, _ in waited})
                    # The server needs a moment to drop the locks of a session that it ended.
                    until += 1.0

    @asynccontextmanager
    async def _announce_waiting(self) -> AsyncIterator[None]:
        """Say to all servers that searches are waited for."""
        await self._execute("SELECT pg_advisory_lock_shared(%s, 0)", (WAITING,))
        try:
            yield
        finally:
            try:
                freed = self._execute("SELECT pg_advisory_unlock_shared(%s, 0)", (WAITING,))
                await asyncio.shield(freed)
            except StateUnavailable as error:
                log.info("A lock went with its connection: %s", error)

    async def _terminate_sessions(self, pids: set[int]) -> None:
        log.warning(
            "Servers that hold searches do not go on; their sessions are ended: %s.", sorted(pids)
        )
        for pid in pids:
            await self._execute("SELECT pg_terminate_backend(%s)", (pid,))

    @asynccontextmanager
    async def alone(self, *key: str) -> AsyncIterator[None]:
        """One holder of `key` at a time in all servers; within this one others must wait first."""
        # Two keys of one hash only wait for each other.
        digest = blake2b("\0".join(key).encode("utf-8", "replace"), digest_size=4).digest()
        lock = WORKING, int.from_bytes(digest, signed=True)
        while not await self._try_lock(lock):  # noqa: ASYNC110 - Nothing tells of a lock that is free.
            await asyncio.sleep(_TRY_SECONDS)
        # Remembered, so that a session that is made anew takes it again.
        self._works.add(lock)
        try:
            yield
        finally:
            self._works.discard(lock)
            try:
                await asyncio.shield(self._execute("SELECT pg_advisory_unlock(%s, %s)", lock))
            except StateUnavailable as error:
                log.info("A lock went with its connection: %s", error)

    async def _try_lock(self, lock: tuple[int, int]) -> bool:
        """Take a lock if nobody has it; one that is given after a cancellation is given back."""
        taking = asyncio.create_task(self._execute("SELECT pg_try_advisory_lock(%s, %s)", lock))
        try:
            [(got,)] = await asyncio.shield(taking)
        except asyncio.CancelledError:
            self._end(self._give_back(taking, lock))
            raise
        return bool(got)

    async def _give_back(self, taking: "asyncio.Task[list[Any]]", lock: tuple[int, int]) -> None:
        with suppress(StateUnavailable):
            [(got,)] = await taking
            if got:
                await self._execute("SELECT pg_advisory_unlock(%s, %s)", lock)

    async def is_alone(self) -> bool:
        """Tell whether no other server has the database open."""
        session = await self._open()
        return all(pid == session.info.backend_pid for pid, _ in await self._list_locks(PRESENT))

    async def at_index(self, place: str) -> None:
        """`ports.Catalog`."""
        digest = blake2b(place.encode("utf-8", "replace"), digest_size=4).digest()
        self._index = int.from_bytes(digest) >> 1
        await self._execute("SELECT pg_advisory_lock_shared(%s, %s)", (AT_INDEX, self._index))

    async def other_index(self) -> bool:
        """`ports.Catalog`."""
        return any(number != self._index for _, number in await self._list_locks(AT_INDEX))

    async def aclose(self) -> None:
        """End the session, and with it everything that it holds."""
        if self._ending:
            await asyncio.wait(self._ending)
        if self._session is not None:
            await self._session.close()

    async def _list_locks(self, kind: int) -> set[_Lock]:
        return {(pid, number) for pid, number in await self._execute(_HELD, (kind,))}

    async def _execute(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        session = await self._open()
        async with self._handle_failure(session):
            return await (await session.execute(statement.encode(), values)).fetchall()

    async def _open(self) -> AsyncConnection[Any]:
        async with self._connecting:
            if self._session is None or self._session.closed:
                session = await self._connect({})
                async with self._handle_failure(session):
                    await session.execute("SELECT pg_advisory_lock_shared(%s, 0)", (PRESENT,))
                    for lock in self._works:
                        await session.execute("SELECT pg_try_advisory_lock(%s, %s)", lock)
                    if self._index is not None:
                        mine = (AT_INDEX, self._index)
                        await session.execute("SELECT pg_advisory_lock_shared(%s, %s)", mine)
                self._session = session
            return self._session

    async def _connect(self, more: Mapping[str, Any]) -> AsyncConnection[Any]:
        try:
            return await AsyncConnection.connect(**{**more, **self._parameters}, autocommit=True)
        except psycopg.Error as error:
            raise explain_error(error, self._name) or error from error

    @asynccontextmanager
    async def _handle_failure(self, session: AsyncConnection[Any]) -> AsyncIterator[None]:
        """Close a session that fails, so that its locks are released."""
        try:
            yield
        except psycopg.Error as error:
            await session.close()
            raise explain_error(error, self._name) or error from error
