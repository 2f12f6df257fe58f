"""A chunk as tests find it."""

from ragstone.core.chunk import Chunk


def chunk(number: int, title: str = "Guide") -> Chunk:
    return Chunk(
        chunk_id=f"c{number}",
        document_id=f"d{number}",
        version=1,
        chunk_index=number,
        text=f"Passage {number}: the answer is 42, as everyone knows.",
        title=title,
        path=f"/docs/{number}.md",
        tenant="default",
        collection="default",
        start=10,
        end=60,
        page=number,
        section=("Part", "Chapter"),
        metadata={"author": "Ünïcode"},
    )
