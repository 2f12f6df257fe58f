"""Chooses the passages that fit the budget and numbers them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ragstone.events import Sources
from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.text.diversity import best_at_the_edges
from ragstone.text.tokens import count, cut
from ragstone.turn import Hit, Passage, Turn


class Assemble(Stage):
    """Takes passages in rank order while they fit; the first is cut rather than dropped."""

    name: ClassVar[str] = "assemble"
    needs: ClassVar[frozenset[str]] = frozenset({"hits"})
    gives: ClassVar[frozenset[str]] = frozenset({"passages"})

    context_tokens: int = Field(3000, ge=1, description="Most tokens of passages in one prompt.")

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        chosen = _fitting(_uncontained(turn.hits), self.context_tokens)
        if turn.plan.edges:
            chosen = best_at_the_edges(chosen)
        passages = tuple(Passage(i, text, hit) for i, (text, hit) in enumerate(chosen, start=1))
        await emit(Sources(passages))
        used = sum(count(passage.text) for passage in passages)
        return Step(
            replace(turn, passages=passages),
            f"{len(passages)} of {len(turn.hits)} passages",
            f"{used} of {self.context_tokens} tokens",
        )


def _uncontained(hits: Sequence[Hit]) -> list[Hit]:
    """Hits without those whose text is part of a better one of the same document."""
    kept: list[Hit] = []
    for hit in hits:
        document = hit.chunk.document_id
        if not any(
            hit.chunk.text in other.chunk.text
            for other in kept
            if other.chunk.document_id == document
        ):
            kept.append(hit)
    return kept


def _fitting(hits: Sequence[Hit], budget: int) -> list[tuple[str, Hit]]:
    chosen: list[tuple[str, Hit]] = []
    left = budget
    for hit in hits:
        tokens = count(hit.chunk.text)
        if tokens <= left:
            chosen.append((hit.chunk.text, hit))
            left -= tokens
        elif not chosen:
            return [(cut(hit.chunk.text, budget), hit)]
    return chosen
