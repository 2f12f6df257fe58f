"""Makes one ranking of the candidates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ragstone.core.chunk import MADE, Chunk
from ragstone.core.document import STRUCK
from ragstone.core.turn import Hit, RankedList, Turn
from ragstone.engine.stage import Step
from ragstone.language.edition_names import asks_what_was
from ragstone.language.language import detect
from ragstone.language.words import content_word_set
from ragstone.ports import Adapters
from ragstone.retrieve.fusion import fuse
from ragstone.retrieve.penalties import score_share
from ragstone.retrieve.searching import across_languages, foreign_weight
from ragstone.retrieve.searching import weights as base

FEW = 0.1
"""The share of passages in other languages up to which those in the question's keep their scores:
there they are no translations of each other."""

FOREIGN = 0.9
"""Share of the score that a passage in another language than the question keeps: of two that
answer equally, the one in the question's language comes first."""


@dataclass(frozen=True, slots=True)
class ListFusion:
    """Fuses the lists, raises chunks whose title speaks of the question, and lowers kinds that
    rarely answer."""

    rrf_k: int
    """Damping of ranks where lists are fused by rank."""
    title_boost: float
    """Share added to the score when the title says it all."""

    async def run(self, turn: Turn, adapters: Adapters) -> Step:
        """The part of the stage `retrieve` that does so."""
        plan = turn.plan
        weights = replace(base(plan, turn.feedback, turn.parts), rrf_k=self.rrf_k)
        scores = fuse(turn.lists, weights)
        reason = f"by {plan.fusion}, meaning {plan.dense_weight:g}, words {1 - plan.dense_weight:g}"
        foreign = _foreign(turn, adapters)
        if foreign and turn.collection:
            share = foreign_weight(turn.queries[0], turn.collection, adapters)
            by_meaning = replace(weights, dense=max(weights.dense, share))
            some = len(foreign) > FEW * len(turn.chunks)
            scores = _across(scores, fuse(turn.lists, by_meaning), foreign, some)
            reason += f"; {len(foreign)} in another language, meaning {share:g}"
        hits = sorted(self._hits(turn, scores), key=lambda hit: (-hit.score, hit.chunk.chunk_id))
        return Step(
            replace(turn, hits=tuple(hits)),
            f"{len(hits)} of {len(turn.chunks)} candidates",
            reason,
        )

    def _hits(self, turn: Turn, scores: Mapping[str, float]) -> Iterable[Hit]:
        dense, bm25 = _best_scores(turn.lists, "dense"), _best_scores(turn.lists, "bm25")
        boost = self.title_boost
        asked_for_past = any(map(asks_what_was, (turn.ask.question, *turn.queries)))
        left_out = MADE if asked_for_past else (*MADE, STRUCK)
        rated = _best_scores(turn.lists, "service")
        asked = content_word_set(" ".join(turn.queries)) if boost else frozenset[str]()
        for chunk_id, score in scores.items():
            chunk = turn.chunks.get(chunk_id)
            if chunk is not None and chunk.kind not in left_out:
                if chunk_id not in rated:
                    score *= score_share(chunk)
                    score *= (1 + boost * _title_coverage(asked, chunk)) / (1 + boost)
                yield Hit(chunk, score, dense.get(chunk_id), bm25.get(chunk_id))


def _foreign(turn: Turn, adapters: Adapters) -> frozenset[str]:
    """The chunks in another language than the question, where the collection's embedder compares
    languages; none where the question's language is unclear."""
    collection = turn.collection
    if collection is None or not across_languages(turn.ask, collection, adapters):
        return frozenset()
    asked = detect(turn.queries[0])
    if not asked:
        return frozenset()
    languages = {id: chunk.language or collection.language for id, chunk in turn.chunks.items()}
    return frozenset(id for id, own in languages.items() if own not in ("", "mul", asked))


def _across(
    scores: Mapping[str, float],
    meant: Mapping[str, float],
    foreign: frozenset[str],
    translated: bool,
) -> dict[str, float]:
    """The scores by words and meaning, those across languages by meaning almost only. If a passage
    in the question's language may have a translation, it gets the better of both, so that it is not
    behind that."""
    return {
        item: FOREIGN * meant[item] if item in foreign else max(score, meant[item] * translated)
        for item, score in scores.items()
    }


def _title_coverage(asked: frozenset[str], chunk: Chunk) -> float:
    """The share of the question's words that the title holds."""
    return len(asked & content_word_set(chunk.title)) / len(asked) if asked else 0.0


def _best_scores(lists: Iterable[RankedList], source: str) -> dict[str, float]:
    """Each chunk's best raw score among the lists of one source."""
    best: dict[str, float] = {}
    for ranked in lists:
        if ranked.source == source:
            for scored in ranked.found:
                best[scored.chunk_id] = max(scored.score, best.get(scored.chunk_id, scored.score))
    return best
