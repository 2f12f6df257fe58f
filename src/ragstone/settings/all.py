"""All settings together."""

import os
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model

from ragstone.settings.access import AuthSettings, LimitSettings
from ragstone.settings.added import added_sections
from ragstone.settings.models import (
    EmbeddingSettings,
    LlmSettings,
    ReaderSettings,
    RerankSettings,
    StandbySettings,
)
from ragstone.settings.origin import GivenValue, Origin
from ragstone.settings.rag import (
    AdaptiveSettings,
    CacheSettings,
    ConversationSettings,
    EnsembleSettings,
    RagSettings,
    SelfRagSettings,
    SpellingSettings,
)
from ragstone.settings.server import (
    DialectSettings,
    LogSettings,
    ServerSettings,
    ServiceSettings,
    StatisticsSettings,
    TelemetrySettings,
)
from ragstone.settings.storage import IndexSettings, IngestSettings, StateSettings


class Settings(BaseModel):
    """All of them; made like this they are the defaults, `read.load` reads what is set."""

    # What is added is a section of `ragstone.settings.added`.
    model_config = ConfigDict(frozen=True, extra="allow")

    ragstone_data: Path = Field(
        default_factory=lambda: default_data_directory(),
        description="The data directory: index, state and jobs.",
    )
    log_level: str = Field(
        "WARNING", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="DEBUG to ERROR."
    )
    profile: Literal["dialect", "ragstone"] = Field(
        "dialect",
        description="Whose numbers are the defaults for questions that come through a document's "
        "dialect: dialect, those that its document prints; ragstone, those of this table.",
    )
    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    limits: LimitSettings = LimitSettings()
    dialects: DialectSettings = DialectSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    state: StateSettings = StateSettings()
    llm: LlmSettings = LlmSettings()
    llm_fallback: StandbySettings = StandbySettings()
    rerank: RerankSettings = RerankSettings()
    reader: ReaderSettings = ReaderSettings()
    rag: RagSettings = RagSettings()
    ingest: IngestSettings = IngestSettings()
    cache: CacheSettings = CacheSettings()
    conversation: ConversationSettings = ConversationSettings()
    statistic_db: str = Field(
        "statistics",
        pattern=r"^[A-Za-z0-9_-]{1,63}$",
        description="The database of statistics in that MongoDB, with a collection for each "
        "search type.",
    )
    spelling: SpellingSettings = SpellingSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    self_rag: SelfRagSettings = SelfRagSettings()
    ensemble: EnsembleSettings = EnsembleSettings()
    statistics: StatisticsSettings = StatisticsSettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    service: ServiceSettings = ServiceSettings()
    stages: dict[str, dict[str, Any]] = Field(
        {}, description="Options of stages, as STAGES__<stage>__<option>."
    )
    prompts: dict[str, str] = Field(
        {}, description="Prompts that replace the shipped ones, by name; see docs/settings.md."
    )

    _given: dict[str, GivenValue] = PrivateAttr({})

    def origin(self, key: str) -> Origin:
        """Return where the value of a setting comes from."""
        given = self._given.get(key)
        return given.origin if given else Origin()

    def beaten(self, key: str) -> tuple[GivenValue, ...]:
        """The values of other places that the one of a setting counts more than, least first."""
        given = self._given.get(key)
        return given.over if given else ()

    def part(self, name: str) -> Any:
        """Return a section, or a setting that is in none, by its name."""
        return getattr(self, name) if hasattr(self, name) else added_sections()[name]()


@cache
def complete_settings() -> type[Settings]:
    """Return the settings with the sections that are added."""
    sections: dict[str, Any] = {
        name: (section, section()) for name, section in added_sections().items()
    }
    return create_model("CompleteSettings", __base__=Settings, __module__=__name__, **sections)


def __getattr__(name: str) -> Any:
    # Where a process of a server finds the class of the settings that it is sent.
    if name == "CompleteSettings":
        return complete_settings()
    raise AttributeError(name)


def default_data_directory() -> Path:
    """`$XDG_DATA_HOME/ragstone`, by the XDG base directory specification."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "ragstone"
