"""What the benchmarks share."""

import os
import sys
from pathlib import Path

RAGSTONE = str(Path(sys.executable).with_name("ragstone"))


def eval_data() -> Path:
    """Return the folder of evaluation sets."""
    place = os.environ.get("RAGSTONE_EVAL_DATA")
    if not place:
        sys.exit("Set RAGSTONE_EVAL_DATA to the folder of evaluation sets.")
    return Path(place)


def resident_mb(pid: int | str = "self") -> float:
    """Return the resident memory of a process, in megabytes."""
    return _status_mb(pid, "VmRSS")


def own_mb(pid: int | str = "self") -> float:
    """Of that, what is not a part of a file: the system cannot take it back when it needs
    memory."""
    return _status_mb(pid, "RssAnon")


def _status_mb(pid: int | str, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no {name}")
