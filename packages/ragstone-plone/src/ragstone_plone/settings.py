"""The add-on's settings: records of the registry, and what the environment says instead."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from plone.registry.interfaces import IRegistry
from zope.component import queryUtility

from ragstone_plone.interfaces import PREFIX, IRagSettings

SHORTEST_SECRET = 16
TOLD = (
    *("rag_no_answer_message", "rag_llm_temperature", "rag_llm_max_tokens"),
    *("rag_boost_bm25", "rag_boost_knn", "rag_title_boost_factor"),
    *("rag_score_high_threshold", "rag_score_medium_threshold"),
    *("rag_top_k", "rag_num_candidates", "rag_max_context_length"),
)
"""Records that Ragstone is told, and that hold there for the site's collection."""

WHOLE_NUMBERS = ("rag_top_k", "rag_num_candidates", "rag_max_context_length")
"""Of these the document knows the variables `RAG_TOP_K`, ..., which win here too."""


@dataclass(frozen=True)
class RagSettings:
    """What holds now. `told` are the records for Ragstone, None for one that is empty."""

    url: str
    secret: str
    timeout: int
    enabled: bool
    content_types: tuple[str, ...]
    system_prompt: str
    no_answer_message: str
    error_message: str
    told: dict[str, Any]

    @property
    def trouble(self) -> str:
        """Why Ragstone cannot be called; empty if it can."""
        if not self.enabled:
            return "RAG is switched off (rag_enabled)."
        if not self.url.startswith(("http://", "https://")):
            return "The address of Ragstone is not set (ragstone_url)."
        if len(self.secret) < SHORTEST_SECRET:
            return f"The secret has fewer than {SHORTEST_SECRET} characters (ragstone_secret)."
        return ""


def read_settings() -> RagSettings | None:
    """The settings of this site; None where the add-on is not installed."""
    registry = queryUtility(IRegistry)
    if registry is None or f"{PREFIX}.ragstone_url" not in registry:
        return None
    records = registry.forInterface(IRagSettings, check=False, prefix=PREFIX)
    told = {name: _told(name, getattr(records, name)) for name in TOLD}
    return RagSettings(
        url=(_variable("RAGSTONE_URL") or records.ragstone_url or "").rstrip("/"),
        secret=_variable("RAGSTONE_SECRET") or records.ragstone_secret or "",
        timeout=records.ragstone_timeout or 60,
        enabled=_is_on(records.rag_enabled),
        content_types=tuple(records.rag_content_types or ()),
        system_prompt=records.rag_system_prompt or "",
        no_answer_message=records.rag_no_answer_message or "",
        error_message=records.rag_error_message or "The answer could not be made.",
        told=told,
    )


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip()


def _is_on(record: bool | None) -> bool:
    said = _variable("RAG_ENABLED").lower()
    return said in ("true", "1", "yes", "on") if said else bool(record)


def _told(name: str, record: Any) -> Any:
    said = _variable(name.upper()) if name in WHOLE_NUMBERS else ""
    if said.isdecimal():
        return int(said)
    return record if record != "" else None
