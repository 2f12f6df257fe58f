"""What the reader learns from: a question or a claim beside a passage, and what is true of them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

Place = tuple[int, int]
"""First character, and the one after the last."""


class Verdict(IntEnum):
    """What a passage says of a claim. `NOT` is contradicted or not said, whichever."""

    UNKNOWN = -1
    SUPPORTED = 0
    CONTRADICTED = 1
    NOT_SAID = 2
    NOT = 3


@dataclass(frozen=True, slots=True)
class Example:
    """`text` is a question where `question` is set, else a claim. `answers` is None for a claim.

    `wrong` are the places of a claim that the passage does not bear out: none in a supported claim,
    and None where nobody marked them.
    """

    kind: str
    text: str
    passage: str
    question: bool = False
    title: str = ""
    answers: bool | None = None
    span: Place | None = None
    verdict: Verdict = Verdict.UNKNOWN
    wrong: tuple[Place, ...] | None = None


def answer_with_words(claim: Example, question: str, words: tuple[str, str]) -> Iterator[Example]:
    """Yield the claim asked for and answered with each of `words`, yes and no, where it is known
    which of them is true."""
    if claim.verdict is Verdict.NOT_SAID:
        verdicts = (Verdict.NOT_SAID, Verdict.NOT_SAID)
    elif claim.verdict is Verdict.SUPPORTED:
        verdicts = (Verdict.SUPPORTED, Verdict.CONTRADICTED)
    elif claim.verdict is Verdict.CONTRADICTED:
        verdicts = (Verdict.CONTRADICTED, Verdict.SUPPORTED)
    else:
        return
    for word, verdict in zip(words, verdicts, strict=True):
        text = f"{question} {word}"
        at = len(text) - len(word), len(text)
        wrong = () if verdict is Verdict.SUPPORTED else (at,)
        yield replace(claim, kind="whether", text=text, verdict=verdict, wrong=wrong)


def is_held_out(group: str) -> bool:
    """Tell whether a document belongs to the half that the reader is measured on: by a hash."""
    return hashlib.blake2b(group.encode(), digest_size=2).digest()[0] % 2 == 1
