"""What kinds of chunks that rarely answer a question lose, in every ranking."""

from collections.abc import Mapping

from ragstone.core.chunk import Chunk
from ragstone.core.source import Source

PENALTIES: Mapping[str, float] = {"glossary": 0.3, "toc": 0.5, "credits": 0.4}
"""The share of the score that a kind loses."""


def score_share(chunk: Chunk | Source) -> float:
    """Return the share (0..1) of its score that a chunk, or a source made of it, keeps."""
    return 1 - PENALTIES.get(chunk.kind, 0.0)
