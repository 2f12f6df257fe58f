"""Whether a call of a tool that changes anything may be made: who asked decides."""

import time

from ragstone.core.events import AgentState, AgentStep
from ragstone.core.tool import ToolCall
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit
from ragstone.ports import Approvals

SHOWN_CHARS = 2_000
"""Characters of a call's arguments that are shown."""

NOBODY = "nobody can be asked"
TOO_LATE = "nobody answered in time"
REFUSED = "the user declined it"


class CallReports:
    """Tells what becomes of the calls of one question, and asks where one needs an approval.

    The id of a call is one that nobody can guess; `waited` are the seconds for which calls waited.
    """

    def __init__(self, turn: Turn, approvals: Approvals | None, emit: Emit, seconds: float) -> None:
        self.waited = 0.0
        self._ask = turn.ask
        self._approvals = approvals
        self._emit = emit
        self._seconds = seconds

    async def tell(
        self, call: ToolCall, state: AgentState, said: str = "", seconds: float = 0.0
    ) -> None:
        """Emit the call's step."""
        shown = call.arguments[:SHOWN_CHARS]
        await self._emit(AgentStep(call.id, call.name, state, shown, said, seconds))

    async def objection(self, call: ToolCall) -> str:
        """Tell why the call may not be made; empty if who asked approves it."""
        if self._approvals is None or not self._ask.approves:
            return NOBODY
        started = time.monotonic()

        async def ask() -> None:
            await self.tell(call, "waiting", "It waits for an approval.", self._seconds)

        decided = await self._approvals.decision(self._ask.principal, call.id, self._seconds, ask)
        self.waited += time.monotonic() - started
        if decided is None:
            return TOO_LATE
        return "" if decided else REFUSED
