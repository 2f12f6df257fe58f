"""What happens to a question before anything is searched."""

from typing import Literal

from pydantic import Field, SecretStr

from ragstone.settings.duration import Seconds
from ragstone.settings.section import Section


class CacheSettings(Section):
    """The semantic cache."""

    enabled: bool = Field(True, description="Whether equal questions are answered from memory.")
    url: str = Field(
        "", description="redis://... for one cache of several servers; empty for this process."
    )
    password: SecretStr = Field(SecretStr(""), description="The password of that Redis.")
    max_entries: int = Field(
        1000, ge=10, le=100_000, description="Entries; when full, the oldest tenth goes."
    )
    default_ttl_seconds: Seconds = Field(
        300.0, gt=0, description="Seconds that an entry lives after its last use."
    )
    threshold_mode: Literal["precision", "recall", "adaptive"] = Field(
        "adaptive",
        description="How alike two questions must be: .95 (precision), .85 with a stricter "
        "comparison (recall), or the first and then the second (adaptive).",
    )


class ConversationSettings(Section):
    """Earlier messages of a conversation."""

    query_rewriting_enabled: bool = Field(
        True, description="Whether a follow-up is rewritten into a question of its own."
    )
    rewriting_turns: int = Field(
        4, ge=1, le=50, description="Earlier questions that a follow-up may refer to."
    )
    db_rehydration_enabled: bool = Field(
        True, description="Whether a conversation is continued from the store after a restart."
    )
    max_history_turns: int = Field(
        15, ge=1, le=100, description="Most earlier turns that a model is told of."
    )


class SpellingSettings(Section):
    """Correction of questions."""

    enabled: bool = Field(True, description="Whether misspelt questions are corrected.")


class AdaptiveSettings(Section):
    """What kind of question it is, and how it is therefore answered."""

    analyzer: Literal["patterns", "llm"] = Field(
        "patterns", description="Who judges complexity: patterns, or the chat model."
    )
    intents: Literal["patterns", "llm"] = Field(
        "llm",
        description="Who decides where rules and examples are unsure of the intent: nobody, or "
        "the chat model, if there is one.",
    )
    intent_threshold: float = Field(
        0.75, ge=0, le=1, description="How sure examples must be of an intent."
    )
