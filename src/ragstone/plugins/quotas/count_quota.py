"""Counts what a question took of chat models."""

from typing import ClassVar

from ragstone.core.turn import Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.plugins.quotas.records import MonthUse
from ragstone.plugins.quotas.service import find_store
from ragstone.ports import Adapters
from ragstone.recipes.stages import AddedStage


class CountQuota(Stage):
    """Adds the tokens and the cost of a question to what its principal, the groups and the tenant
    have used; part of the tail, so failed and cancelled questions count too."""

    name: ClassVar[str] = "count_quota"
    needs: ClassVar[frozenset[str]] = frozenset({"ask"})

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        store, use = find_store(adapters), measure_use(turn, adapters)
        if store is None or not use.tokens:
            return Step(turn, "nothing used")
        await store.add(turn.ask.principal, use)
        return Step(turn, f"{use.tokens:,} tokens")


def measure_use(turn: Turn, adapters: Adapters) -> MonthUse:
    """Return what a question took. Who leaves in the middle of a reply leaves before the model says
    what it took: the sources and the text that had come are counted instead."""
    tokens, answer = turn.usage.total_tokens, turn.answer
    recalled = turn.recalled is not None and turn.recalled.content == "answer"
    is_asked = adapters.completer is not None and not recalled
    if is_asked and answer and answer.text and answer.finish == "cancelled":
        read = [passage.text for passage in turn.passages]
        tokens += sum(map(adapters.count, [*read, answer.text]))
    return MonthUse(tokens, turn.usage.cost or 0.0)


PLACE = AddedStage(CountQuota, after="persist")
