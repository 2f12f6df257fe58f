"""Kinds of jobs that plugins bring."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.core.events import Event
from ragstone.core.turn import Ask
from ragstone.jobs.runner import Work
from ragstone.ports import Adapters
from ragstone.registry import Registry
from ragstone.settings import Settings


class Answering(Protocol):
    """Answers questions (`engine.Engine`)."""

    def events(self, ask: Ask) -> AsyncGenerator[Event, None]: ...


@dataclass(frozen=True, slots=True)
class WorkParts:
    """What the work of a job may be made of."""

    settings: Settings
    adapters: Adapters
    answers: Answering
    serves: bool
    """Whether this process is a server or a worker, rather than a single command."""


ADDED_WORK: Registry[Any] = Registry("ragstone.jobs", "kind of job", {}, makes=object)
"""By the kind of job, made of `WorkParts`: what does a job (`jobs.runner.Work`), or None where this
process does no such jobs."""


def added_work(parts: WorkParts) -> dict[str, Work]:
    """The work of plugins by the kind of job. Raises ConfigError."""
    made = {kind: ADDED_WORK.make(kind, parts) for kind in ADDED_WORK.ours}
    return {kind: work for kind, work in made.items() if work is not None}
