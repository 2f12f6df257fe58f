"""All settings together, and how they are read."""

import os
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragstone.errors import ConfigError
from ragstone.settings.models import EmbeddingSettings, LlmSettings, RerankSettings
from ragstone.settings.rag import EnsembleSettings, RagSettings, SelfRagSettings
from ragstone.settings.server import ServerSettings
from ragstone.settings.storage import IndexSettings, IngestSettings
from ragstone.settings.understanding import (
    AdaptiveSettings,
    CacheSettings,
    ConversationSettings,
    SpellingSettings,
)


class Settings(BaseSettings):
    """All of them."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_nested_delimiter="__", env_file=".env"
    )

    ragstone_data: Path = Field(
        default_factory=lambda: default_data_directory(),
        description="The data directory: index, state and jobs.",
    )
    log_level: str = Field(
        "WARNING", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="DEBUG to ERROR."
    )
    server: ServerSettings = ServerSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    llm: LlmSettings = LlmSettings()
    llm_fallback: LlmSettings = LlmSettings()
    rerank: RerankSettings = RerankSettings()
    rag: RagSettings = RagSettings()
    ingest: IngestSettings = IngestSettings()
    cache: CacheSettings = CacheSettings()
    conversation: ConversationSettings = ConversationSettings()
    spelling: SpellingSettings = SpellingSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    self_rag: SelfRagSettings = SelfRagSettings()
    ensemble: EnsembleSettings = EnsembleSettings()


def default_data_directory() -> Path:
    """`$XDG_DATA_HOME/ragstone`, by the XDG base directory specification."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "ragstone"


def load(**overrides: object) -> Settings:
    """Read the settings; raises ConfigError that names the variable and what is wrong with it."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = "__".join(str(part) for part in first["loc"]).upper()
        raise ConfigError(f"The setting {name} is wrong: {first['msg']}.") from error
