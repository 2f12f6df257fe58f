"""How long tests wait for what must happen. Nothing takes so long, except on a machine that is
busy with much else: a test that ends early proves more than one that measures."""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 300.0


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Whether it comes true in this time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


async def until(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """`wait_for` beside other tasks of the event loop."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        await asyncio.sleep(0.02)
    return False
