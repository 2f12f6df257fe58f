"""What every side does: build its index, ask every question of every variant, write the finds."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

from benchmarks.common import resident_mb
from benchmarks.peers.exported import Exported
from benchmarks.peers.pieces import measure_process

CANDIDATES = 100
"""Chunks that each retriever of a hybrid search gives; Ragstone's default."""

DEPTH = 50
"""Chunks that a hybrid search gives, so that ten different documents are among them."""

VECTORS = "vectors alone"
"""The variant that the first lines of every peer's README build, beside the hybrid ones."""

WARM = 3

Search = Callable[[str], Sequence[str]]
"""The ids of the chunks found for a question, best first."""

Opened = Callable[[Exported], AbstractContextManager[Mapping[str, Search]]]
"""Indexes the chunks and gives the searches by the names of their variants."""


def main(opened: Opened) -> None:
    """`python -m benchmarks.peers.<side> EXPORTED RESULT`."""
    source, result = map(Path, sys.argv[1:])
    data = Exported.read(source)
    started = time.perf_counter()
    with opened(data) as searches:
        built, measured = time.perf_counter() - started, measure_process()
        variants = {name: _ask(search, data) for name, search in searches.items()}
        memory = resident_mb()
    found = {"built": built, "resident_mb": memory, "variants": variants, **measured}
    result.write_text(json.dumps(found), encoding="utf-8")


def _ask(search: Search, data: Exported) -> dict[str, object]:
    """Return the ten best documents for each question, and the usual milliseconds of a search."""
    for question in data.questions[:WARM]:
        search(question)
    rankings, seconds = [], []
    for question in data.questions:
        started = time.perf_counter()
        found = search(question)
        seconds.append(time.perf_counter() - started)
        documents = dict.fromkeys(data.documents[item] for item in found[:DEPTH])
        rankings.append(list(documents)[:10])
    return {"ms": 1000 * median(seconds), "rankings": rankings}
