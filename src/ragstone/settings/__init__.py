"""Every setting, read once from the environment and an optional `.env` file.

Nested names are joined with two underscores: `LLM__BASE_URL`, `EMBEDDING__MODEL`. Each field has
a default and a help text; `docs/reference.md` lists them, and a test holds the two together.
"""

from ragstone.settings.access import AuthSettings, LimitSettings
from ragstone.settings.all import Settings, load
from ragstone.settings.models import EmbeddingSettings, LlmSettings, RerankSettings
from ragstone.settings.rag import RagSettings, SelfRagSettings
from ragstone.settings.server import ServerSettings
from ragstone.settings.storage import IndexSettings, IngestSettings, StateSettings
from ragstone.settings.understanding import (
    AdaptiveSettings,
    CacheSettings,
    ConversationSettings,
    SpellingSettings,
)

__all__ = [
    "AdaptiveSettings",
    "AuthSettings",
    "CacheSettings",
    "ConversationSettings",
    "EmbeddingSettings",
    "IndexSettings",
    "IngestSettings",
    "LimitSettings",
    "LlmSettings",
    "RagSettings",
    "RerankSettings",
    "SelfRagSettings",
    "ServerSettings",
    "Settings",
    "SpellingSettings",
    "StateSettings",
    "load",
]
