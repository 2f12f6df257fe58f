"""One turn of a room at a time: the next question waits until the one before is answered and kept.

Within a process a room has a queue, in the order in which the questions came. Where several
processes share the rooms, the one whose turn it is also takes the room's lease in the store. A
lease is not timed by any clock: its holder counts a number up, and whoever sees that number stand
still for `LEASE` seconds takes the lease over, so that no process that died keeps a room.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import Busy, RagstoneError
from ragstone.ports import ConversationStore, Lease

log = logging.getLogger(__name__)

LEASE = 10.0
BEAT = 2.5
LOOK = 0.1, 0.5
"""Seconds between looks at a lease that another process has: the first, and the longest."""

RELEASE_SECONDS = 2.0


@dataclass(slots=True)
class _Line:
    """Who waits for a room, and whoever is in it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    inside: int = 0


class RoomQueue:
    """Lets one turn at a time into a room.

    A question waits at most `wait` seconds, behind at most `most` others; else it is refused with
    Busy. A store that does not answer holds nobody up: the process' own queue still holds.
    """

    def __init__(
        self,
        conversations: ConversationStore | None,
        wait: float = 30.0,
        most: int = 10,
        lease: float = LEASE,
        beat: float = BEAT,
    ) -> None:
        self._conversations = conversations
        self._wait = wait
        self._most = most
        self._lease_seconds = lease
        self._beat_seconds = beat
        self._lines: dict[ConversationKey, _Line] = {}

    def __len__(self) -> int:
        """Count the rooms in which something goes on."""
        return len(self._lines)

    @asynccontextmanager
    async def turn(self, conversation: ConversationKey) -> AsyncIterator[None]:
        """Hold the room; raises Busy."""
        line = self._lines.setdefault(conversation, _Line())
        if line.inside > self._most:
            raise self._busy_error("too many questions of this conversation wait already")
        ends = time.monotonic() + self._wait
        line.inside += 1
        try:
            await self._enter(line)
            try:
                async with self._lease(conversation, ends):
                    yield
            finally:
                line.lock.release()
        finally:
            line.inside -= 1
            if not line.inside:
                del self._lines[conversation]

    async def _enter(self, line: _Line) -> None:
        try:
            async with asyncio.timeout(self._wait):
                await line.lock.acquire()
        except TimeoutError as error:
            raise self._busy_error(
                "another question of this conversation is still answered"
            ) from error

    @asynccontextmanager
    async def _lease(self, conversation: ConversationKey, ends: float) -> AsyncIterator[None]:
        """Hold the room against other processes."""
        conversations = self._conversations
        if conversations is None or not conversations.shared:
            yield
            return
        holder = uuid.uuid4().hex
        beating: asyncio.Task[None] | None = None
        try:
            if await self._take_lease(conversations, conversation, holder, ends):
                beating = asyncio.create_task(
                    self._renew_lease(conversations, conversation, holder)
                )
            yield
        finally:
            if beating is not None:
                beating.cancel()
            # Also where taking it was cut off: the store may have given it all the same.
            with suppress(RagstoneError, TimeoutError):
                async with asyncio.timeout(RELEASE_SECONDS):
                    await conversations.release(conversation, holder)

    async def _take_lease(
        self,
        conversations: ConversationStore,
        conversation: ConversationKey,
        holder: str,
        ends: float,
    ) -> bool:
        """Wait for the lease; False if the store fails. Raises Busy."""
        seen, since, pause = Lease("", -1), time.monotonic(), LOOK[0]
        over: Lease | None = None
        while True:
            try:
                found = await conversations.take(conversation, holder, over)
            except RagstoneError as error:
                log.warning("A room is not held against other processes: %s", error)
                return False
            now = time.monotonic()
            if found.holder == holder:
                return True
            if found != seen:
                seen, since = found, now
            over = seen if now - since >= self._lease_seconds else None
            if now >= ends:
                raise self._busy_error(
                    "another server still answers a question of this conversation"
                )
            await asyncio.sleep(min(pause, self._lease_seconds / 4))
            pause = min(2 * pause, LOOK[1])

    async def _renew_lease(
        self, conversations: ConversationStore, conversation: ConversationKey, holder: str
    ) -> None:
        while True:
            await asyncio.sleep(self._beat_seconds)
            try:
                await conversations.beat(conversation, holder)
            except RagstoneError as error:
                log.warning("The lease of a room could not be renewed: %s", error)

    def _busy_error(self, why: str) -> Busy:
        return Busy(
            f"The conversation is busy: {why}. Wait for the answer, or ask in another room.",
            min(self._wait, 5.0),
        )
