"""Evaluations as jobs of a server: measured in the background, the figures are the result."""

import math
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragstone.core.errors import InputError
from ragstone.core.faults import describe_fault
from ragstone.jobs.runner import Report, Work
from ragstone.local.added import WorkParts
from ragstone.ports.jobs import Job

Evaluate = Callable[..., Awaitable[Mapping[str, float | None]]]


class EvaluationRequest(BaseModel):
    """The request of an evaluation: as `ragstone eval WHAT DIRECTORY --split --limit`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    what: Literal["retrieval", "answers"]
    directory: Path
    split: str = "dev"
    limit: int | None = Field(None, ge=1)


def evaluation_work(parts: WorkParts) -> Work | None:
    """Make the work of evaluations, which measure in a temporary index: of folders on the server's
    machine, so that single commands do none."""
    if not parts.serves:
        return None

    async def evaluate(job: Job, report: Report) -> dict[str, Any]:
        try:
            wanted = EvaluationRequest(**job.request)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise InputError(
                f"This is not an evaluation: {place}: {describe_fault(first)}."
            ) from error
        if not wanted.directory.is_dir():
            raise InputError(f"There is no folder {wanted.directory} on the server's machine.")
        found = await _measure(wanted.what)(
            wanted.directory, parts.settings, wanted.split, limit=wanted.limit
        )
        return {"measures": {name: _finite(value) for name, value in found.items()}}

    return evaluate


def _measure(what: Literal["retrieval", "answers"]) -> Evaluate:
    """Imported only when it is needed: a server starts faster without it."""
    from ragstone.plugins.evaluation import answering, retrieval

    return retrieval.evaluate if what == "retrieval" else answering.evaluate


def _finite(value: float | None) -> float | None:
    """JSON has no NaN."""
    return value if value is None or math.isfinite(value) else None
