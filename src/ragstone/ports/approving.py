"""The port of calls that wait for somebody's approval."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from ragstone.core.turn import Principal


class Approvals(Protocol):
    """Calls of tools that wait until who asked approves or declines them."""

    async def decision(
        self, principal: Principal, id: str, seconds: float, ask: Callable[[], Awaitable[None]]
    ) -> bool | None:
        """What the principal decides within `seconds` about the call of this id, None for nothing.
        `ask` tells it, once the decision can come."""
        ...

    async def decide(self, principal: Principal, id: str, approved: bool) -> None:
        """Approve or decline a call of the principal's; raises UnknownApproval where none waits."""
        ...
