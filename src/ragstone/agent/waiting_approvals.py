"""Calls of tools that wait for an approval, in this process alone."""

import asyncio
from collections.abc import Awaitable, Callable

from ragstone.core.errors import UnknownApproval
from ragstone.core.turn import Principal

MOST_WAITING = 1_000
"""Calls that wait at a time; further ones are declined."""

_Key = tuple[str, str, str]


class WaitingApprovals:
    """`ports.Approvals`, by tenant, user and call."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, asyncio.Future[bool]] = {}

    async def decision(
        self, principal: Principal, id: str, seconds: float, ask: Callable[[], Awaitable[None]]
    ) -> bool | None:
        key = _key(principal, id)
        if len(self._waiting) >= MOST_WAITING or key in self._waiting:
            return None
        decided: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[key] = decided
        try:
            async with asyncio.timeout(seconds):
                await ask()
                return await decided
        except TimeoutError:
            return None
        finally:
            del self._waiting[key]

    async def decide(self, principal: Principal, id: str, approved: bool) -> None:
        waiting = self._waiting.get(_key(principal, id))
        if waiting is None or waiting.done():
            raise UnknownApproval
        waiting.set_result(approved)


def _key(principal: Principal, id: str) -> _Key:
    return principal.tenant, principal.user, id
