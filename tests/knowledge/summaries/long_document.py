"""Documents of chosen length for tests of trees: each section is one chunk."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragstone.core.chunk import Chunk, SummaryNode, chunk_id
from ragstone.plugins.graph.summaries.tree import excerpt_lines, extractive_tree, node_chunk
from tests.engine.samples import a_chunk

SUBJECTS = ("harbour", "lantern", "granary", "orchard", "foundry", "library", "aqueduct", "market")


def section_text(number: int, again: str = "") -> str:
    subject = SUBJECTS[number // 4 % len(SUBJECTS)]
    return (
        f"The {subject} number {number} was built of stone{again}. "
        f"Every {subject} is kept by the guild of the {subject} in year {number}."
    )


def document(sections: int, name: str = "long", **changes: object) -> list[Chunk]:
    """The chunks of a document of so many sections, which stand two characters apart."""
    chunks: list[Chunk] = []
    start = 0
    for number in range(sections):
        text = section_text(number)
        given = {
            "chunk_id": chunk_id(name, 1, number),
            "document_id": name,
            "path": f"/{name}.md",
            "chunk_index": number,
            "section": (f"Part {number // 4}", f"Section {number}"),
            "start": start,
            **changes,
        }
        chunks.append(a_chunk(text, **given))
        start += len(text) + 2
    return chunks


def vectors(chunks: Sequence[Chunk]) -> NDArray[np.float32]:
    """One direction for each part of four sections."""
    found = np.zeros((len(chunks), 16), np.float32)
    for row, chunk in enumerate(chunks):
        found[row, 0] = 0.1
        found[row, int(chunk.section[0].split()[-1]) % 15 + 1] = 1.0
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def tree(chunks: Sequence[Chunk]) -> list[SummaryNode]:
    return extractive_tree(chunks, vectors(chunks), "test")


def node_chunks(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The tree of a document as the index holds it."""
    return [node_chunk(node, excerpt_lines(node.said, chunks), chunks) for node in tree(chunks)]
