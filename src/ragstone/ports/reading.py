"""The port that reads a question or a claim together with a passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim, or with `question` a question, beside a passage and the title that it stands
    under."""

    text: str
    passage: str
    title: str = ""
    question: bool = False


@dataclass(frozen=True, slots=True)
class PairReading:
    """What a reader makes of a pair; all are probabilities, 0..1.

    `answers`: that the passage answers the question, and `span` the likeliest place of the answer
    in the passage, None where nothing answers. `supported`, `contradicted` and `not_said` add up
    to 1 and are of the claim. What was not asked for is 0.

    Without `readable` the reader does not know the script, or the claim is too long for it: then
    the claim is not said, and nothing is answered.
    """

    answers: float = 0.0
    span: tuple[int, int] | None = None
    supported: float = 0.0
    contradicted: float = 0.0
    not_said: float = 0.0
    readable: bool = True


class PairReader(Protocol):
    """Says of pairs what a person would who reads the two together."""

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        """Raises ModelUnavailable if the model cannot be opened."""
        ...

    async def aclose(self) -> None:
        """Free the model's memory and its thread."""
        ...
