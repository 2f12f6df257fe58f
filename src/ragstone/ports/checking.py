"""The port that compares what is claimed with what sources say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragstone.ports.embedding import Embedder


@dataclass(frozen=True, slots=True)
class EvidenceSource:
    """A text that claims are compared with, and the title and headings it stands under."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement without markers, and the numbers (from 0) of the sources that it names. Where
    `by_words` is false, only who reads it can tell: "Is it sold here? Yes."."""

    text: str
    cited: tuple[int, ...] = ()
    by_words: bool = True


@dataclass(frozen=True, slots=True)
class Support:
    """How likely (0..1) the sources support a claim, and where: `start` to `end` in the source of
    the number `source`, which is None where nothing has to do with the claim.

    `conflict` names what the nearest sentence says otherwise (`number`, `name`, `negation`,
    `opposite`, `statement`), empty if nothing; `held` is the share (0..1) of the claim's words that
    the sources have; `most` is the most that the probability may become by another check, less
    than 1 for a number that no source states.
    """

    probability: float
    source: int | None = None
    start: int = 0
    end: int = 0
    conflict: str = ""
    held: float = 0.0
    most: float = 1.0


class Checker(Protocol):
    """Compares claims with sources, without a chat model."""

    async def support(
        self, claims: Sequence[Claim], sources: Sequence[EvidenceSource], embedder: Embedder | None
    ) -> list[Support]:
        """The support of each claim. `embedder` compares meanings where words cannot, as between
        languages; without one such claims are not supported."""
        ...
