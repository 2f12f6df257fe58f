"""The profiles of the dialects: the numbers that their documents print as defaults.

The documents contradict each other, so each dialect has its own. They are defaults: what the
operator sets counts more. With PROFILE=ragstone all dialects have our defaults, which measured
best (`python -m benchmarks profiles`). Only what differs from ours stands here; what a document's
request has a default for stands in its dialect.
"""

from collections.abc import Mapping
from typing import Any, Literal

from ragstone.language.language import NOTHING_FOUND

Dialect = Literal["chat_core", "pipeline", "rag_v1", "plone", "chats"]

WHOLE_SHARE = 1_000_000
"""Tokens of passages: more than the share of any window, which then decides."""

PROFILES: Mapping[Dialect, Mapping[str, Any]] = {
    # chat-core 4.6, 7.4, 10.1, 11.1 and 13.1; the cache keeps searches for 15 minutes. A model that
    # fails is an error there, in step 9 of the query pipeline, and in VoiceHelper's failure paths.
    "chat_core": {
        "llm.temperature": 0.2,
        "llm.max_tokens": 10_000,
        "llm.decides": ["intent", "faq", "sentences"],
        "llm.fallback": "none",
        "cache.default_ttl_seconds": 900.0,
        "stages.recall.external": True,
        "rag.prompt_layout": "references",
        "stages.contextualize.required": True,
        "stages.contextualize.rewriting_by": "llm",
        "stages.contextualize.rules_stand_in": False,
    },
    # Query pipeline, step 6 and the reference of its configuration: 15 from each search, RRF, in
    # which all lists count alike.
    # Step 5 routes by complexity, steps 7 and 8 order and share out the window, step 10 suggests
    # questions, and answers vote at the level maximum; models have their printed temperatures.
    "pipeline": {
        "stages.route.by_complexity": True,
        "rag.candidates": 15,
        "rag.fusion": "ranks",
        "rag.boost_bm25": 1.0,
        "rag.boost_knn": 1.0,
        "rag.similarity_threshold": 0.4,
        "stages.deduplicate.strict": True,
        "rag.context_tokens": WHOLE_SHARE,
        "stages.assemble.edges": True,
        "stages.assemble.suggests": True,
        "stages.generate.votes": True,
        "stages.generate.varies": True,
        "llm.fallback": "none",
    },
    # VoiceHelper, its environment, its Nacos file and the table of its semantic cache.
    "rag_v1": {
        "rag.top_k": 5,
        "rag.fusion": "ranks",
        "rag.boost_bm25": 1.0,
        "rag.boost_knn": 1.0,
        "rag.prompt_layout": "context",
        "rag.hyde_enabled": True,
        "stages.contextualize.rewriting_by": "llm",
        "stages.contextualize.rules_stand_in": False,
        "stages.rewrite.imagines_from": 20,
        "rag.query_expansion_enabled": True,
        "stages.rewrite.only_advanced": True,
        "stages.rewrite.temperature": 0.7,
        "stages.rewrite.parts_temperature": 0.5,
        "stages.route.analyses_preferred": True,
        "stages.route.compares_whole": True,
        "rag.no_answer": NOTHING_FOUND,
        "llm.temperature": 0.7,
        "llm.max_tokens": 2000,
        "llm.fallback": "none",
        "self_rag.enabled": False,
        "stages.rounds.every_level": True,
        "stages.rounds.asks_first": True,
        "stages.deduplicate.near_duplicate": 0.9,
        "stages.recall.least": 0.92,
        "cache.default_ttl_seconds": 3600.0,
        "cache.max_entries": 10_000,
    },
    # Plone: RAG_TOP_K is how many results are returned, whatever is asked; answers are kept for 5
    # minutes, and the thresholds of confidence are of the score.
    "plone": {
        "rag.top_k": 5,
        "stages.route.widens": False,
        "stages.deduplicate.scored": True,
    },
    # Pipeline V5: RRF of 50 candidates, the context filter, a cross-encoder, 5 passages of 4,000
    # tokens; a summary reads every chunk of the chat, complex questions are rewritten, simple ones
    # not.
    "chats": {
        "rag.candidates": 50,
        "stages.route.reranked": 50,
        "stages.rerank.by": "reader",
        "rag.top_k": 5,
        "stages.route.widens": False,
        "rag.context_tokens": 4000,
        "rag.fusion": "ranks",
        "rag.boost_bm25": 1.0,
        "rag.boost_knn": 1.0,
        "rag.similarity_threshold": 0.3,
        "stages.route.rewrites_complex": True,
        "stages.route.sums_up_all": True,
    },
}
