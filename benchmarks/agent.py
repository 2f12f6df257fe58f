"""An agent's scenarios with the scripted chat model and real MCP servers: what happened in each."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from tests.agent.scenarios.play import SCENARIOS, played, title
from tests.agent.scenarios.world import opened


def run() -> Iterator[Row]:
    """Print a line for each scenario; the row counts those in which everything held."""
    held = asyncio.run(_play())
    yield Row(
        f"agent: {len(SCENARIOS)} scenarios, good and bad, that end as they must",
        held,
        least=len(SCENARIOS),
    )


async def _play() -> int:
    held = 0
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder)) as world:
            for number, scenario in enumerate(SCENARIOS, 1):
                try:
                    happened = await played(scenario, world)
                    held += 1
                except Exception as error:
                    happened = f"FAILED: {type(error).__name__}: {error}"
                line = " ".join(happened.split())
                print(f"| {number} | {title(scenario)} | {line} |", flush=True)
    return held
