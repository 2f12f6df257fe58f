"""What every peer makes of files: passages with the page that it would cite."""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MB = 1024
"""Kilobytes of `ru_maxrss` in a megabyte."""


@dataclass(frozen=True)
class Piece:
    """A passage as it is embedded and searched; `page` counts from 1, None where nothing is said
    of it."""

    text: str
    path: str
    page: int | None = None


Read = Callable[[Sequence[Path]], Iterable[Piece]]


def main(variants: Mapping[str, Read]) -> None:
    """`python -m benchmarks.peers.<peer>_files VARIANT RESULT FILE...`: read and split files."""
    variant, result, *names = sys.argv[1:]
    found: dict[str, Any] = {"pieces": [], "unread": {}}
    for file in map(Path, names):
        try:
            found["pieces"] += [asdict(piece) for piece in variants[variant]([file])]
        except Exception as error:  # What a peer cannot read is a finding about it.
            found["unread"][file.name] = f"{type(error).__name__}: {error}"[:200]
    Path(result).write_text(json.dumps(found | measure_process()), encoding="utf-8")


def measure_process() -> dict[str, float]:
    """Processor seconds of this process and of those that it started, and the most memory that one
    of them took, in megabytes."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    seconds = time.process_time() + children.ru_utime + children.ru_stime
    return {"cpu": seconds, "peak_mb": max(own.ru_maxrss, children.ru_maxrss) / MB}
