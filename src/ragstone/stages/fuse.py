"""Makes one ranking of the candidates."""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from ragstone.ports import Kit
from ragstone.stage import Emit, Stage, Step
from ragstone.text.fusion import fuse
from ragstone.turn import Hit, RankedList, Turn

PENALTIES = {"glossary": 0.3, "toc": 0.5, "credits": 0.4}
"""Kinds that rarely answer a question, and the share of the score that they lose."""


class Fuse(Stage):
    """Fuses the lists, lowers kinds that rarely answer, drops repeated texts, keeps the best."""

    name: ClassVar[str] = "fuse"
    needs: ClassVar[frozenset[str]] = frozenset({"plan", "lists", "chunks"})
    gives: ClassVar[frozenset[str]] = frozenset({"hits"})

    async def run(self, turn: Turn, kit: Kit, emit: Emit) -> Step:
        ranked = sorted(_hits(turn), key=lambda hit: (-hit.score, hit.chunk.chunk_id))
        distinct = _distinct(ranked)
        hits = tuple(distinct[: turn.plan.top_k])
        return Step(
            replace(turn, hits=hits),
            f"{len(hits)} of {len(turn.chunks)} candidates",
            f"meaning {turn.plan.dense_weight:g}, words {1 - turn.plan.dense_weight:g}"
            if turn.plan.strategy == "hybrid"
            else turn.plan.strategy,
        )


def _hits(turn: Turn) -> Iterable[Hit]:
    dense, bm25 = _best(turn.lists, "dense"), _best(turn.lists, "bm25")
    for chunk_id, score in fuse(turn.lists, turn.plan.dense_weight).items():
        chunk = turn.chunks.get(chunk_id)
        if chunk is not None:
            kept = 1 - PENALTIES.get(chunk.kind, 0.0)
            yield Hit(chunk, score * kept, dense.get(chunk_id), bm25.get(chunk_id))


def _best(lists: Iterable[RankedList], source: str) -> dict[str, float]:
    """Each chunk's best raw score among the lists of one source."""
    best: dict[str, float] = {}
    for ranked in lists:
        if ranked.source == source:
            for scored in ranked.found:
                best[scored.chunk_id] = max(scored.score, best.get(scored.chunk_id, scored.score))
    return best


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """The first hit of every text."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.chunk.text, hit)
    return list(first.values())
