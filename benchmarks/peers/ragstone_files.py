"""Ragstone over files: `python -m benchmarks.peers.ragstone_files QUESTIONS RESULT FILE...`.

Indexes them as `ragstone ingest` does, its own model's work included, then searches and asks, all
with the default settings and without a chat model.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers.pieces import measure_process
from benchmarks.peers.side import DEPTH
from ragstone import Client
from ragstone.core.source import Source


def main() -> None:
    questions, result, *files = map(Path, sys.argv[1:])
    asked = json.loads(questions.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as data, Client(data) as client:
        unread = client.ingest(*files).failed
        found: dict[str, Any] = {"unread": list(unread), **measure_process()}
        found |= {"passages": [], "answers": []}
        for question in asked:
            sources = client.search(question, top_k=DEPTH)
            found["passages"].append([piece_of(source) for source in sources])
            answer = client.ask(question, cache=False)
            cited = [piece_of(source) for source in answer.cited]
            refused = answer.refused
            found["answers"].append({"text": answer.text, "refused": refused, "cited": cited})
    result.write_text(json.dumps(found), encoding="utf-8")


def piece_of(source: Source) -> dict[str, object]:
    """Return the fields of a Piece."""
    return {"text": source.text, "path": source.path, "page": source.page}


if __name__ == "__main__":
    main()
