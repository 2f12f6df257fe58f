"""A Kit for tests of one stage: only what that stage uses."""

from dataclasses import MISSING
from typing import Any, cast

from ragstone.core.events import Event
from ragstone.core.turn import Turn
from ragstone.engine.stage import Stage, Step
from ragstone.ports import Adapters


def a_kit(**parts: Any) -> Adapters:
    fields = Adapters.__dataclass_fields__.values()
    empty = dict.fromkeys(field.name for field in fields if field.default is MISSING)
    return Adapters(**cast(Any, {**empty, **parts}))


async def ran(stage: Stage, turn: Turn, **parts: Any) -> tuple[Step, list[Event]]:
    """What the stage returned, and what it emitted."""
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    return await stage.run(turn, a_kit(**parts), emit), events
