"""A Kit for tests of one stage: what that stage uses, and adapters that hold nothing."""

from dataclasses import MISSING, fields
from typing import Any, cast

from ragstone.core.events import Event
from ragstone.core.turn import Turn
from ragstone.engine.stage import Stage, Step
from ragstone.ports import Adapters
from tests.local_checker import local_checker
from tests.memory_store import MemoryTemplates


class NoIntents:
    """`ports.IntentExamples` without examples."""

    def knows(self, language: str) -> bool:
        return False


class NoTopics:
    """`ports.Topics` without any."""

    async def list_all(self, tenant: str) -> list[Any]:
        return []


def a_kit(**parts: Any) -> Adapters:
    needed = (
        field for field in fields(Adapters) if field.default is field.default_factory is MISSING
    )
    empty: dict[str, Any] = dict.fromkeys(item.name for item in needed)
    held = {
        "templates": MemoryTemplates(),
        "checker": local_checker(),
        "intents": NoIntents(),
        "topics": NoTopics(),
    }
    known = {field.name for field in fields(Adapters)}
    added = {name: part for name, part in parts.items() if name not in known}
    given = {name: part for name, part in parts.items() if name in known}
    return Adapters(**cast(Any, {**empty, **held, **given}), added=added)


async def ran(stage: Stage, turn: Turn, **parts: Any) -> tuple[Step, list[Event]]:
    """What the stage returned, and what it emitted."""
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    return await stage.run(turn, a_kit(**parts), emit), events
