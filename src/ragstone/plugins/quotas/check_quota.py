"""Refuses a question where a quota of who asks is used up, before anything is spent on it."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.clock import state_time
from ragstone.core.errors import QuotaExceeded
from ragstone.core.events import Note
from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.plugins.quotas.records import WARN_AT, describe_use, format_end
from ragstone.plugins.quotas.service import find_store
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage


class CheckQuota(Stage):
    """Ends the question where a quota that counts for who asks is used up, and says so from 80 %
    on. Without a chat model nothing is spent, and nothing refused. As it fails closed, a question
    is not answered either while it cannot be known what was used.
    """

    name: ClassVar[str] = "check_quota"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})
    gives: ClassVar[frozenset[str]] = frozenset({"notes"})
    fails: ClassVar[Literal["open", "closed"]] = "closed"

    timeout: float = Field(10.0, gt=0, description="Seconds that the stage may take.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        store = find_store(adapters)
        if store is None or adapters.completer is None:
            return Step(turn, "skipped", "no chat model is asked")
        found = await store.find(turn.ask.principal)
        if not found:
            return Step(turn, "no quota")
        most = max(found, key=lambda quota: quota.share)
        used = f"{describe_use(most)} are used this month"
        if most.share >= 1:
            raise QuotaExceeded(
                f"{used}. Chat models answer again from {format_end(most)} (UTC), or when an "
                "administrator raises the quota.",
                most.ends_at - state_time(),
            )
        if most.share < WARN_AT:
            return Step(turn, f"{most.share:.0%} used")
        note = f"{used}; it ends on {format_end(most)} (UTC)."
        await emit(Note(self.name, note))
        return Step(replace(turn, notes=(*turn.notes, note)), f"{most.share:.0%} used", note)


PLACE = AddedStage(CheckQuota, before="contextualize")
