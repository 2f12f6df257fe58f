"""Processes that stand still."""

import os
import signal
import time
from pathlib import Path

from tests.patience import PATIENCE


def stand_still(pid: int) -> None:
    """Stop a process and wait until none of its threads runs: one that runs may still answer."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE
    while any(_runs(stat) for stat in Path(f"/proc/{pid}/task").glob("*/stat")):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _runs(stat: Path) -> bool:
    return stat.read_text().rpartition(")")[2].split()[0] != "T"
