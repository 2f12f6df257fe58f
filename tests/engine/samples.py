"""Small turns, hits and passages for tests."""

from typing import Any

from ragstone.core.chunk import Chunk
from ragstone.core.turn import Hit, Passage


def a_chunk(text: str, **changes: Any) -> Chunk:
    given = {
        "chunk_id": f"c-{abs(hash(text))}",
        "document_id": "d1",
        "version": 1,
        "chunk_index": 0,
        "title": "",
        "path": "/d1.txt",
        "tenant": "default",
        "collection": "default",
        "start": 0,
        **changes,
    }
    return Chunk(text=text, end=given["start"] + len(text), **given)


def a_hit(text: str, score: float = 0.9, **changes: Any) -> Hit:
    return Hit(a_chunk(text, **changes), score, dense=score, bm25=score)


def a_passage(number: int, text: str, score: float = 0.9, **changes: Any) -> Passage:
    return Passage(number, text, a_hit(text, score, **changes))
