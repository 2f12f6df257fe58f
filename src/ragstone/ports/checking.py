"""The port that compares what is claimed with what sources say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.core.document import BlockSpan


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """A text that claims are compared with, the title and headings it stands under, and the blocks
    that it consists of, none where they are not known."""

    text: str
    title: str = ""
    blocks: tuple[BlockSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement without markers, and the numbers (from 0) of the sources that it names."""

    text: str
    cited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """How likely (0..1) the sources support a claim, and where: `start` to `end` in the source of
    the number `source`, which is None where nothing could be compared. `contradicted` says that the
    source says otherwise there. `cited` are those by each source that the claim names, in its
    order."""

    probability: float
    source: int | None = None
    start: int = 0
    end: int = 0
    contradicted: bool = False
    cited: tuple["Support", ...] = ()


class Checker(Protocol):
    """Compares claims with sources, without a chat model."""

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource]
    ) -> list[Support]:
        """Return the support of each claim. Raises ModelUnavailable if the reader cannot be
        opened."""
        ...
