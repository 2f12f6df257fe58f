"""The profiles of the dialects: the numbers that their documents print as defaults.

The documents contradict each other, so each dialect has its own. They are defaults: what the
operator sets counts more. With PROFILE=ragstone all dialects have our defaults, which measured
best (`python -m benchmarks profiles`). Only what differs from ours stands here; what a document's
request has a default for stands in its dialect.
"""

from collections.abc import Mapping
from typing import Any, Literal

Dialect = Literal["chat_core", "pipeline", "rag_v1", "plone", "chats"]

PROFILES: Mapping[Dialect, Mapping[str, Any]] = {
    # chat-core 10.1 and 13.1; the knowledge base's cache keeps its searches for 15 minutes.
    "chat_core": {
        "llm.temperature": 0.2,
        "llm.max_tokens": 10_000,
        "cache.default_ttl_seconds": 900.0,
    },
    # Query pipeline, step 6 and the reference of its configuration: 15 from each search, RRF.
    "pipeline": {
        "rag.candidates": 15,
        "rag.fusion": "ranks",
        "rag.similarity_threshold": 0.4,
    },
    # VoiceHelper, its environment, its Nacos file and the table of its semantic cache.
    "rag_v1": {
        "rag.top_k": 5,
        "rag.fusion": "ranks",
        "rag.hyde_enabled": True,
        "llm.temperature": 0.7,
        "llm.max_tokens": 2000,
        "self_rag.enabled": False,
        "stages.deduplicate.near_duplicate": 0.9,
        "cache.least_likeness": 0.92,
        "cache.default_ttl_seconds": 3600.0,
    },
    # Plone: RAG_TOP_K and RAG_NUM_CANDIDATES; answers are kept for 5 minutes.
    "plone": {"rag.top_k": 5},
    # Pipeline V5, config/settings.py: RRF of 50 candidates, the context filter, 5 passages.
    "chats": {
        "rag.candidates": 50,
        "rag.top_k": 5,
        "rag.fusion": "ranks",
        "rag.similarity_threshold": 0.3,
    },
}
