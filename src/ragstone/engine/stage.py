"""The base of every stage: its options are its fields.

What a stage tells the chat model: the tenant's own prompt, else the shipped one.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from ragstone.core.clock import Limit, apply_limit
from ragstone.core.errors import RagstoneError, StageTimeout
from ragstone.core.events import Event
from ragstone.core.turn import StageTrace, Status, Turn
from ragstone.language.language import detect
from ragstone.language.templates import choose_by_language, fill_places, load_shipped
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
        """Return the stage with other options; raises pydantic's ValidationError."""
        if not changes:
            return self
        decided = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**decided, **changes})

    def require(self, turn: Turn, adapters: Adapters) -> None:
        """Raise what no question of this kind can be answered for, before any stage runs: a stream
        that has begun can no longer be refused by its status."""

    def recover(self, turn: Turn, failure: RagstoneError) -> Turn:
        """Return the turn that goes on when the stage failed."""
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
    limit = _Limits(stage.name, stage.timeout, stage.timeout_setting, stage.fails)
    return await _attempt(limit, stage.run(turn, adapters, emit), turn)


async def run_part(
    stage: Stage,
    name: str,
    turn: Turn,
    work: Awaitable[Step],
    seconds: float = 30.0,
    fails: Literal["open", "closed"] = "open",
) -> Step:
    """Run a part of a stage. If it fails `open`, the stage goes on without it.

    A part that is not skipped is in the trace, inside its stage, with what it cost and decided.

    Args:
        name: What the trace calls the part.
        work: What makes the step of `turn`.
        seconds: What it may take.

    Returns:
        The step of the part. Where that fails or takes too long, one that leaves the turn as it
        was, but for the trace. Raises the error of one that fails `closed`.
    """
    ended = await _attempt(_Limits(name, seconds, fails=fails), work, turn)
    if ended.failure and fails == "closed":
        raise ended.failure
    step = ended.step or Step(turn, ended.traced.status, ended.traced.reason)
    if step.decision == "skipped":
        return step
    traced = replace(ended.traced, inside=stage.name)
    return replace(step, turn=replace(step.turn, trace=(*step.turn.trace, traced)))


@dataclass(frozen=True, slots=True)
class _Limits:
    """What the stage or part of this name may take in seconds, by which setting, and how it
    fails."""

    name: str
    seconds: float
    setting: str = ""
    fails: Literal["open", "closed"] = "open"


async def _attempt(limits: _Limits, work: Awaitable[Step], turn: Turn) -> StageRun:
    started = time.perf_counter()
    status: Status = "failed"
    name, seconds, setting = limits.name, limits.seconds, limits.setting
    narrower = apply_limit(Limit.start(seconds, setting)) if setting else nullcontext()
    try:
        async with asyncio.timeout(seconds) as limit:
            with narrower:
                step = await work
    except RagstoneError as error:
        failure = error
    except TimeoutError as error:
        if not limit.expired():
            raise
        status, failure = "timeout", StageTimeout(name, seconds, setting)
        failure.__cause__ = error
    except Exception as error:
        if limits.fails == "closed":
            raise
        log.exception("The %s stage broke; the question goes on without it", name)
        failure = RagstoneError(f"{type(error).__name__} in {name}")
    else:
        took = time.perf_counter() - started
        before, after = turn.usage, step.turn.usage
        traced = StageTrace(
            name,
            took,
            "done",
            step.decision,
            step.reason,
            calls=after.calls - before.calls,
            prompt_tokens=after.prompt_tokens - before.prompt_tokens,
            completion_tokens=after.completion_tokens - before.completion_tokens,
            cost=None if after.cost is None else after.cost - (before.cost or 0.0),
        )
        return StageRun(traced, step)
    took = time.perf_counter() - started
    return StageRun(StageTrace(name, took, status, "", str(failure)), failure=failure)


async def prompt(turn: Turn, adapters: Adapters, name: str, **values: str) -> str:
    """Return the prompt `name` for this question, in its language where there is one, with its
    places filled."""
    own = await own_text(turn, adapters, name)
    return fill_places(own or load_shipped(name) or "", **values).strip()


async def own_text(turn: Turn, adapters: Adapters, name: str) -> str:
    """Return the text that replaces the shipped prompt `name` for this question, empty for none."""
    own = await own_texts(turn, adapters)
    return choose_by_language(own, name, lambda: detect(turn.question or turn.ask.question))


async def own_texts(turn: Turn, adapters: Adapters) -> Mapping[str, str]:
    """Return all prompts that replace shipped ones for this question's tenant."""
    return await adapters.templates.texts(turn.ask.principal.tenant)


async def prompt_text(adapters: Adapters, tenant: str, name: str) -> str:
    """Return the prompt `name` of a tenant, in no language in particular."""
    own = await adapters.templates.texts(tenant)
    return (own.get(name) or load_shipped(name) or "").strip()
