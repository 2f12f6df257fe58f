"""Tasks that several wait for."""

import asyncio
from typing import Any


def has_failed(task: "asyncio.Task[Any]") -> bool:
    """Whether the task ended without a result."""
    return task.done() and (task.cancelled() or task.exception() is not None)
