"""Every setting, read once from the environment and an optional `.env` file.

Nested names are joined with two underscores: `LLM__BASE_URL`, `EMBEDDING__MODEL`. Each field has
a default and a help text; `docs/reference.md` lists them, and a test holds the two together.
"""

from ragstone.settings.all import Settings, load
from ragstone.settings.dialects import DialectSettings
from ragstone.settings.models import EmbeddingSettings, LlmSettings, RerankSettings
from ragstone.settings.plone import PloneSettings
from ragstone.settings.rag import RagSettings, SelfRagSettings
from ragstone.settings.server import ServerSettings
from ragstone.settings.storage import IndexSettings, IngestSettings
from ragstone.settings.understanding import (
    AdaptiveSettings,
    CacheSettings,
    ConversationSettings,
    SpellingSettings,
)

__all__ = [
    "AdaptiveSettings",
    "CacheSettings",
    "ConversationSettings",
    "DialectSettings",
    "EmbeddingSettings",
    "IndexSettings",
    "IngestSettings",
    "LlmSettings",
    "PloneSettings",
    "RagSettings",
    "RerankSettings",
    "SelfRagSettings",
    "ServerSettings",
    "Settings",
    "SpellingSettings",
    "load",
]
