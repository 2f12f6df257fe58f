"""Every setting, read once from a file, an optional `.env` file and the environment.

Nested names are joined with two underscores: `LLM__BASE_URL`, `EMBEDDING__MODEL`. Each field has
a default and a help text; `docs/reference.md` lists them, and a test holds the two together. What
can change at run time is changed in the state store: `ragstone.recipes.setting_table`.
"""

from ragstone.settings.access import AuthSettings, LimitSettings
from ragstone.settings.all import Settings
from ragstone.settings.models import (
    EmbeddingSettings,
    LlmSettings,
    ReaderSettings,
    RerankSettings,
    StandbySettings,
)
from ragstone.settings.origin import Origin
from ragstone.settings.rag import (
    AdaptiveSettings,
    CacheSettings,
    ConversationSettings,
    RagSettings,
    SelfRagSettings,
    SpellingSettings,
)
from ragstone.settings.read import load
from ragstone.settings.server import (
    DialectSettings,
    LogSettings,
    ServerSettings,
    StatisticsSettings,
    TelemetrySettings,
)
from ragstone.settings.storage import IndexSettings, IngestSettings, StateSettings

__all__ = [
    "AdaptiveSettings",
    "AuthSettings",
    "CacheSettings",
    "ConversationSettings",
    "DialectSettings",
    "EmbeddingSettings",
    "IndexSettings",
    "IngestSettings",
    "LimitSettings",
    "LlmSettings",
    "LogSettings",
    "Origin",
    "RagSettings",
    "ReaderSettings",
    "RerankSettings",
    "SelfRagSettings",
    "ServerSettings",
    "Settings",
    "SpellingSettings",
    "StandbySettings",
    "StateSettings",
    "StatisticsSettings",
    "TelemetrySettings",
    "load",
]
