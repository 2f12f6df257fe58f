"""The base of every stage: its options are its fields."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from ragstone.core.errors import RagstoneError, StageTimeout
from ragstone.core.events import Event
from ragstone.core.time_limits import Limit, apply_limit
from ragstone.core.turn import StageTrace, Status, Turn
from ragstone.ports import Adapters

log = logging.getLogger(__name__)

Emit = Callable[[Event], Awaitable[None]]

TURN = frozenset(field.name for field in fields(Turn))


async def nowhere(event: Event) -> None:
    """Drop an event that nobody reads."""


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a stage: the new turn, and for the trace its decision and the reason.

    `leaves` says that the turn is as far as it goes: no further stage but the tail runs.
    """

    turn: Turn
    decision: str = ""
    reason: str = ""
    leaves: bool = False


class Stage(BaseModel):
    """One step of a recipe.

    `needs` and `gives` name fields of the Turn; a recipe whose stage needs what no stage before
    it gives is refused at start-up. When `run` raises or exceeds `timeout` seconds, a stage that
    fails `open` leaves the turn as it was, and one that fails `closed` ends the question. Stages
    that follow each other and have `searches` are what only so many questions do at a time, and
    what is left out when the cache knows what they would find. `inner` are stages that this one
    runs itself, by `runner.run_stages`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    gives: ClassVar[frozenset[str]] = frozenset()
    fails: ClassVar[Literal["open", "closed"]] = "closed"
    searches: ClassVar[bool] = False

    timeout_setting: ClassVar[str] = ""
    """The setting of `timeout`, where that is what the answer may take as a whole."""

    timeout: float = Field(30.0, gt=0, description="Seconds that the stage may take.")
    inner: tuple["Stage", ...] = Field((), description="What runs inside it.", exclude=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Refuse at import a name that is not a field of Turn."""
        if wrong := (cls.needs | cls.gives) - TURN:
            raise TypeError(
                f"The stage {cls.__name__} names {', '.join(sorted(wrong))}, which a Turn has not."
            )

    def but(self, **changes: Any) -> Self:
        """The stage with other options; raises pydantic's ValidationError."""
        if not changes:
            return self
        decided = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**decided, **changes})

    def recover(self, turn: Turn, failure: RagstoneError) -> Turn:
        """The turn that goes on when the stage failed."""
        return turn

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        """Do the stage's work on `turn`. Events go to `emit`, which may wait for the client."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StageRun:
    """How a stage's run ended: with a step, or with the failure that its trace names."""

    traced: StageTrace
    step: Step | None = None
    failure: RagstoneError | None = None


async def attempt(stage: Stage, turn: Turn, adapters: Adapters, emit: Emit) -> StageRun:
    """Run a stage within its time.

    Raises only errors that are neither expected nor left open by the stage.
    """
    started = time.perf_counter()
    status: Status = "failed"
    setting = stage.timeout_setting
    narrower = apply_limit(Limit.of(stage.timeout, setting)) if setting else nullcontext()
    try:
        async with asyncio.timeout(stage.timeout) as limit:
            with narrower:
                step = await stage.run(turn, adapters, emit)
    except RagstoneError as error:
        failure = error
    except TimeoutError as error:
        if not limit.expired():
            raise
        status, failure = "timeout", StageTimeout(stage.name, stage.timeout, setting)
        failure.__cause__ = error
    except Exception as error:
        if stage.fails == "closed":
            raise
        log.exception("The %s stage broke; the question goes on without it", stage.name)
        failure = RagstoneError(f"{type(error).__name__} in {stage.name}")
    else:
        seconds = time.perf_counter() - started
        before, after = turn.usage, step.turn.usage
        traced = StageTrace(
            stage.name,
            seconds,
            "done",
            step.decision,
            step.reason,
            calls=after.calls - before.calls,
            tokens=after.total_tokens - before.total_tokens,
        )
        return StageRun(traced, step)
    seconds = time.perf_counter() - started
    return StageRun(StageTrace(stage.name, seconds, status, "", str(failure)), failure=failure)
