"""The names that other systems' documents give to settings of ours, in one table.

They work in the environment, in a configuration file, and for `ragstone settings`. Our own name
wins over a document's name of the same place, and a document's name further up in the table over
one further down; a warning says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragstone.core.errors import ConfigError

CHAT_CORE, VOICE_HELPER, PLONE, V5 = "chat-core", "VoiceHelper", "Plone", "V5"

PROVIDER = "llm.provider"
OPENAI_KEY, OPENAI_MODEL = "openai.api_key", "openai.model"
OLLAMA_MODEL, OLLAMA_URL = "ollama.model", "ollama.base_url"
DB_HOST, DB_PORT = "db.host", "db.port"
MADE_OF_PARTS = {
    **dict.fromkeys((PROVIDER, OPENAI_KEY, OPENAI_MODEL, OLLAMA_MODEL, OLLAMA_URL), "llm.*"),
    **dict.fromkeys((DB_HOST, DB_PORT), "conversation.url"),
}
"""No settings by themselves: `providers.whole` makes these of them."""


FORMER_STAGES = {"act": "tool_agent", "appraise": "grade_passages", "grade": "deduplicate"}
"""Stages that had another name in version 0.1: their options are still found by it."""


FORMER_KEYS = {
    "rerank.model_path": "rerank.model",
    "llm.model_path": "llm.model",
    "llm_fallback.model_path": "llm_fallback.model",
}
"""Settings that another one has taken over since version 0.1."""


REMOVED = {
    "cache.password": "Write it into CACHE__URL, as redis://:PASSWORD@HOST.",
    "ingest.follow_links": "Give the folders that links lead to as well.",
    "mcp.max_cost": "Limit tokens by quotas instead.",
    "plone.site_id": "Leave the site's id out of paths.",
    "plone.tenant": "The site's documents are those of the tenant 'default'.",
    "state.password": "Set PGPASSWORD, or write it into STATE__URL.",
}
"""Settings that are no more, and what to do instead. Who relied on them is to know at the start."""


def current_key(name: str) -> str:
    """Return the key of a setting as it is named now."""
    if name in FORMER_KEYS:
        return FORMER_KEYS[name]
    first, _, rest = name.partition(".")
    stage, _, option = rest.partition(".")
    return f"stages.{FORMER_STAGES.get(stage, stage)}.{option}" if first == "stages" else name


@dataclass(frozen=True, slots=True)
class Alias:
    """`name` as a document prints it; `key` of our setting, empty where it has no effect, which
    `note` then explains. `how` makes our value of the document's, None where there is nothing to
    set or to say;
    values that `join` become one text, one below the other."""

    name: str
    key: str
    document: str
    how: Callable[[Any], Any] = lambda value: value
    note: str = ""
    joins: bool = False


def _parse_bool(value: Any) -> bool:
    said = str(value).strip().lower()
    if said in ("true", "1", "yes", "on"):
        return True
    if said in ("false", "0", "no", "off"):
        return False
    raise ConfigError(f"{value!r} is neither true nor false.")


def _service(scheme: str) -> Callable[[Any], str]:
    """Return the address of a retrieval service as our index URL."""

    def url(value: Any) -> str:
        text = str(value).strip()
        return f"{scheme}+{text}" if text and "+" not in text.split("://")[0] else text

    return url


def _convert_rewriting(value: Any) -> str:
    return "auto" if _parse_bool(value) else "none"


def _removes(value: Any) -> float | None:
    return None if _parse_bool(value) else 1.0


def _convert_checking(value: Any) -> str:
    return "report" if _parse_bool(value) else "off"


def _unless_default(*same: str) -> Callable[[Any], Any]:
    """Return a check that drops a value equal to the default."""
    return lambda value: None if str(value).strip().lower() in same else value


def _must_be_true(what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> None:
        if not _parse_bool(value):
            raise ConfigError(f"{what} cannot be turned off.")

    return check


_ENVIRONMENT = (
    Alias("LLM__MAX_COMPLETION_TOKENS", "llm.max_tokens", CHAT_CORE),
    Alias("DB__HOST", DB_HOST, CHAT_CORE),
    Alias("DB__PORT", DB_PORT, CHAT_CORE),
    Alias("KDB__URL", "index.url", CHAT_CORE, _service("kdb")),
    Alias("PORT", "server.port", VOICE_HELPER),
    Alias("WORKERS", "server.workers", VOICE_HELPER),
    Alias("MAX_CONCURRENT_QUERIES", "server.max_concurrent_queries", VOICE_HELPER),
    Alias("LLM_PROVIDER", PROVIDER, VOICE_HELPER),
    Alias("OPENAI_API_KEY", OPENAI_KEY, VOICE_HELPER),
    Alias("OPENAI_MODEL", OPENAI_MODEL, VOICE_HELPER),
    Alias("LLM_TEMPERATURE", "llm.temperature", VOICE_HELPER),
    Alias("LLM_MAX_TOKENS", "llm.max_tokens", VOICE_HELPER),
    Alias("RETRIEVAL_SERVICE_URL", "index.url", VOICE_HELPER, _service("retrieval")),
    Alias("DEFAULT_TOP_K", "rag.top_k", VOICE_HELPER),
    Alias("DEFAULT_MODE", "rag.mode", VOICE_HELPER),
    Alias("ENABLE_QUERY_REWRITING", "rag.rewrite", VOICE_HELPER, _convert_rewriting),
    Alias("HYDE_ENABLED", "rag.hyde_enabled", VOICE_HELPER),
    Alias("MULTI_QUERY_ENABLED", "rag.query_expansion_enabled", VOICE_HELPER),
    Alias("MULTI_QUERY_NUM", "rag.rewrites", VOICE_HELPER),
    Alias("ENABLE_SELF_RAG", "self_rag.enabled", VOICE_HELPER),
    Alias("SELF_RAG_MAX_ITERATIONS", "self_rag.max_iterations", VOICE_HELPER),
    Alias("SELF_RAG_SCORE_THRESHOLD", "self_rag.score_threshold", VOICE_HELPER),
    Alias("EMBEDDING_BASE_URL", "embedding.base_url", PLONE),
    Alias("EMBEDDING_API_KEY", "embedding.api_key", PLONE),
    Alias("EMBEDDING_MODEL", "embedding.model", PLONE),
    Alias("EMBEDDING_DIMENSIONS", "embedding.dimensions", PLONE),
    Alias("LLM_BASE_URL", "llm.base_url", PLONE),
    Alias("LLM_API_KEY", "llm.api_key", PLONE),
    Alias("LLM_MODEL", "llm.model", PLONE),
    Alias("RAG_CHUNK_SIZE", "ingest.chunk_size", PLONE),
    Alias("RAG_CHUNK_OVERLAP", "ingest.chunk_overlap", PLONE),
    Alias("RAG_TOP_K", "rag.top_k", PLONE),
    Alias("RAG_NUM_CANDIDATES", "rag.candidates", PLONE),
    Alias("RAG_MAX_CONTEXT_LENGTH", "rag.context_chars", PLONE),
    Alias("retrieval_initial_k", "rag.candidates", V5),
    Alias("retrieval_final_k", "rag.top_k", V5),
    Alias("relevance_threshold", "rag.similarity_threshold", V5),
    Alias("ollama_model", OLLAMA_MODEL, V5),
    Alias("ollama_base_url", OLLAMA_URL, V5),
    Alias("semantic_confidence_threshold", "adaptive.intent_threshold", V5),
)

_FILE = (
    Alias("db.host", DB_HOST, CHAT_CORE),
    Alias("db.port", DB_PORT, CHAT_CORE),
    Alias("service.version", "", VOICE_HELPER, lambda _: None, "Ragstone says its own version."),
    Alias("llm.provider", PROVIDER, VOICE_HELPER),
    Alias("retrieval.service_url", "index.url", VOICE_HELPER, _service("retrieval")),
    Alias("retrieval.timeout", "index.timeout", VOICE_HELPER),
    Alias("retrieval.default_top_k", "rag.top_k", VOICE_HELPER),
    Alias("retrieval.default_mode", "rag.mode", VOICE_HELPER),
    Alias("query_rewriting.enabled", "rag.rewrite", VOICE_HELPER, _convert_rewriting),
    Alias("query_rewriting.hyde.enabled", "rag.hyde_enabled", VOICE_HELPER),
    Alias(
        "query_rewriting.hyde.fallback_to_original",
        "",
        VOICE_HELPER,
        _must_be_true("Searching for the question itself"),
        "The question itself is always searched too.",
    ),
    Alias("query_rewriting.multi_query.enabled", "rag.query_expansion_enabled", VOICE_HELPER),
    Alias("query_rewriting.multi_query.num_queries", "rag.rewrites", VOICE_HELPER),
    Alias("query_rewriting.query_expansion.enabled", "rag.keywords_enabled", VOICE_HELPER),
    Alias("context.max_tokens", "rag.context_tokens", VOICE_HELPER),
    Alias(
        "context.compression.enabled",
        "",
        VOICE_HELPER,
        _unless_default("true"),
        "Passages are always cut to the budget; rag.compression shortens them further.",
    ),
    Alias(
        "context.compression.strategy",
        "",
        VOICE_HELPER,
        _unless_default("truncate"),
        "The best passages that fit are kept, the first is cut.",
    ),
    Alias(
        "context.deduplication.enabled", "stages.deduplicate.near_duplicate", VOICE_HELPER, _removes
    ),
    Alias("context.deduplication.threshold", "stages.deduplicate.near_duplicate", VOICE_HELPER),
    *(
        Alias(f"prompt.modes.{mode}.{part}", f"prompts.mode.{mode}", VOICE_HELPER, joins=True)
        for mode in ("simple", "advanced", "precise")
        for part in ("system_prompt", "instruction_template")
    ),
    Alias(
        "citation.enabled",
        "",
        VOICE_HELPER,
        _must_be_true("Citing sources"),
        "Answers always cite their sources.",
    ),
    Alias("citation.confidence_threshold", "stages.cite.confidence", VOICE_HELPER),
    Alias("citation.hallucination_detection", "rag.checking", VOICE_HELPER, _convert_checking),
)

RECORD = "wcs.backend.rag_"
"""How the names of the records in Plone's registry begin."""

_RECORDS = (
    Alias(f"{RECORD}system_prompt", "prompts.add_room_system_prompt", PLONE),
    Alias(f"{RECORD}no_answer_message", "rag.no_answer", PLONE),
    Alias(f"{RECORD}llm_temperature", "llm.temperature", PLONE),
    Alias(f"{RECORD}llm_max_tokens", "llm.max_tokens", PLONE),
    Alias(f"{RECORD}boost_bm25", "rag.boost_bm25", PLONE),
    Alias(f"{RECORD}boost_knn", "rag.boost_knn", PLONE),
    Alias(f"{RECORD}title_boost_factor", "rag.title_boost", PLONE),
    Alias(f"{RECORD}score_high_threshold", "stages.deduplicate.high", PLONE),
    Alias(f"{RECORD}score_medium_threshold", "stages.deduplicate.medium", PLONE),
)

ALIASES = (*_ENVIRONMENT, *_FILE, *_RECORDS)
"""Those that count most come first."""
