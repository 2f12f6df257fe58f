"""How sure the answer is, and whether the passages were enough for it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from ragstone.core.answer import GeneratedAnswer, Sufficiency
from ragstone.core.turn import Passage, Turn
from ragstone.engine.stage import Emit, Stage, Step
from ragstone.language.words import STOPWORDS, content_word_set, words
from ragstone.ports import Adapters, Claim, EvidenceSource

ENOUGH = 0.6
"""Share of the question's content words from which passages can be sufficient."""

MOST_ASPECTS = 5


def coverage(question: str, texts: Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """The share (0..1) of the question's content words that stand in the texts, and the words that
    do not, as they are asked, neighbours together; 1 for a question without any."""
    held = frozenset[str]().union(*map(content_word_set, texts))
    wanted, missing = 0, 0
    aspects: list[list[str]] = [[]]
    for piece in question.split():
        meant = [word for word in words(piece) if word not in STOPWORDS]
        lacking = [word for word in meant if word not in held]
        wanted += len(meant)
        missing += len(lacking)
        if meant and len(lacking) == len(meant):
            aspects[-1].append(piece.strip(".,;:!?()\"'“”„«»¿¡？。，"))
        elif aspects[-1]:
            aspects.append([])
    named = tuple(dict.fromkeys(" ".join(one) for one in aspects if one))
    return (1 - missing / wanted if wanted else 1.0), named[:MOST_ASPECTS]


class Score(Stage):
    """Confidence is relevance times groundedness, as the query pipeline document has it.

    Relevance is how likely the passages hold the answer, where the answerer knows that, else the
    best likeness of a cited passage to the question. Passages conflict when one says of a cited
    sentence the same with another number, name or negation.
    """

    name: ClassVar[str] = "score"
    needs: ClassVar[frozenset[str]] = frozenset({"answer", "passages"})
    gives: ClassVar[frozenset[str]] = frozenset()
    fails: ClassVar[Literal["open", "closed"]] = "open"

    claims: int = Field(2, ge=0, description="Cited sentences compared with other passages.")
    others: int = Field(4, ge=0, description="Best passages that they are compared with.")

    async def run(self, turn: Turn, adapters: Adapters, emit: Emit) -> Step:
        answer = turn.answer or GeneratedAnswer()
        texts = [f"{p.hit.chunk.heading}\n{p.text}" for p in turn.passages]
        covered, missing = coverage(turn.question, texts)
        conflicts = not answer.refused and await self._conflicts(turn, adapters)
        enough = not answer.refused and not conflicts and covered >= ENOUGH
        found = Sufficiency(enough, round(covered, 4), conflicts, missing)
        answer = replace(answer, confidence=_confidence(turn, answer), sufficiency=found)
        said = f"confidence {answer.confidence_level or 'unknown'}"
        lacks = f"nothing speaks of {', '.join(missing)}" if missing else ""
        return Step(
            replace(turn, answer=answer),
            f"{said}, coverage {covered:.2f}{', conflicts' if conflicts else ''}",
            lacks,
        )

    async def _conflicts(self, turn: Turn, adapters: Adapters) -> bool:
        """Whether another passage contradicts a sentence that supports the answer."""
        found = [v.citation for v in turn.verdicts if v.label == "supported" and v.citation]
        cited = list({one.snippet: one for one in found}.values())[: self.claims]
        if not cited:
            return False
        others = [
            (passage, [Claim(one.snippet) for one in cited if one.number != passage.number])
            for passage in turn.passages[: self.others]
        ]
        supports = await asyncio.gather(
            *(
                adapters.checker.support(claims, [_source(p)], None)
                for p, claims in others
                if claims
            )
        )
        return any(one.conflict for some in supports for one in some)


def _source(passage: Passage) -> EvidenceSource:
    return EvidenceSource(passage.text, passage.hit.chunk.heading)


def _confidence(turn: Turn, answer: GeneratedAnswer) -> float | None:
    """None where neither the answerer nor a likeness says anything."""
    relevance = answer.confidence
    if relevance is None:
        numbers = {citation.number for citation in answer.citations}
        likeness = [p.hit.similarity for p in turn.passages if p.number in numbers]
        relevance = max((one for one in likeness if one is not None), default=None)
    if relevance is None or answer.groundedness_score is None:
        return relevance
    return relevance * answer.groundedness_score
