"""Records of a Plone site's registry as settings of its collection."""

from typing import Any

from ragstone.core.errors import InputError
from ragstone.plugins.plone.settings import PloneSettings
from ragstone.plugins.plone.visitors import SiteSettings
from ragstone.service.settings import SettingsService
from ragstone.settings import Settings
from ragstone.settings.scope import of_collection

PREFIX = "wcs.backend."
TAKEN = {
    "rag_no_answer_message": f"{PREFIX}rag_no_answer_message",
    "rag_llm_temperature": f"{PREFIX}rag_llm_temperature",
    "rag_llm_max_tokens": f"{PREFIX}rag_llm_max_tokens",
    "rag_boost_bm25": f"{PREFIX}rag_boost_bm25",
    "rag_boost_knn": f"{PREFIX}rag_boost_knn",
    "rag_title_boost_factor": f"{PREFIX}rag_title_boost_factor",
    "rag_score_high_threshold": f"{PREFIX}rag_score_high_threshold",
    "rag_score_medium_threshold": f"{PREFIX}rag_score_medium_threshold",
    "rag_top_k": "RAG_TOP_K",
    "rag_num_candidates": "RAG_NUM_CANDIDATES",
    "rag_max_context_length": "RAG_MAX_CONTEXT_LENGTH",
}
"""The records that a site may set, and the setting's name in Plone's document. The others are the
site's own (its types, its prompt, its message of failures), or the server's (models, chunks)."""


async def put_records(
    service: SettingsService, settings: Settings, given: SiteSettings
) -> dict[str, Any]:
    """Set the records for the site's collection, all or, if one cannot be, none of those with a
    value; raises InputError, InvalidSetting."""
    unknown = sorted(set(given.records) - set(TAKEN))
    if unknown:
        raise InputError(f"records: {unknown[0][:100]!r} is none that a site may set.")
    plone = PloneSettings.of(settings)
    scope, who = of_collection(plone.tenant, plone.collection), "plone"
    values = {TAKEN[item]: value for item, value in given.records.items() if value is not None}
    empty = [TAKEN[item] for item, value in given.records.items() if value is None]
    changed = []
    if values:
        changed += await service.put(scope, values, who)
    if empty:
        changed += await service.unset(scope, empty, who)
    return {"status": "taken", "settings": {item.key: item.value for item in changed}}
