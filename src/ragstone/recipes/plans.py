"""What each level plans for a question."""

from collections.abc import Mapping
from dataclasses import replace

from ragstone.core.turn import Level, Plan
from ragstone.settings import Settings

LATE_WEIGHT = 0.5
"""What late interaction counts against meaning and words together, in collections that are
searched by it; 0 does not search by it (`python -m benchmarks late_interaction`)."""

RERANKED = 30
"""Candidates that are compared again: so many late interaction compares well within the time of a
search (`python -m benchmarks latency`)."""


def plans(settings: Settings) -> Mapping[Level, Plan]:
    """Return what each level plans for a question."""
    rag = settings.rag
    standard = Plan(
        candidates=rag.candidates,
        top_k=rag.top_k,
        fusion=rag.fusion,
        strategy="hybrid" if rag.use_hybrid_search else "dense",
        dense_weight=rag.meaning,
        feedback=True,
        rerank=rag.rerank,
        reranked=RERANKED,
        min_similarity=rag.similarity_threshold if rag.verification_enabled else 0.0,
        rewrite=rag.rewrite,
        rewrites=rag.rewrites,
        tree=rag.tree,
        late_weight=LATE_WEIGHT,
    )
    enhanced = replace(
        standard, top_k=2 * rag.top_k, reranked=2 * RERANKED, neighbours=1, edges=True
    )
    return {
        "basic": replace(
            standard, strategy="dense", feedback=False, rerank=False, min_similarity=0.0
        ),
        "standard": standard,
        "enhanced": enhanced,
        "maximum": replace(
            enhanced,
            strategy="iterative" if rag.use_hybrid_search else "dense",
            top_k=3 * rag.top_k,
            # The query pipeline document adds HyDE and step-back to complex questions.
            rewrite="combined" if rag.rewrite == "auto" else rag.rewrite,
        ),
    }
