"""What happens to a question before anything is searched."""

from typing import Literal

from pydantic import Field, SecretStr

from ragstone.settings.section import Seconds, Section


class CacheSettings(Section):
    """The semantic cache."""

    enabled: bool = Field(True, description="Whether equal questions are answered from memory.")
    url: str = Field(
        "", description="redis://... for one cache of several servers; empty for this process."
    )
    max_entries: int = Field(
        1000, ge=10, le=100_000, description="Entries; when full, the oldest tenth goes."
    )
    default_ttl_seconds: Seconds = Field(
        300.0, gt=0, description="Seconds that an entry lives after its last use."
    )
    threshold_mode: Literal["precision", "recall", "adaptive"] = Field(
        "adaptive",
        description="How alike two questions must be before their words are compared: .95 "
        "(precision), or .85 (recall and adaptive).",
    )


class ConversationSettings(Section):
    """Conversations: where they are kept, and what of them is remembered."""

    url: SecretStr = Field(
        SecretStr(""),
        description="mongodb://host/database to keep conversations and statistics in MongoDB, in "
        "the database ragstone if it names none or admin; empty for the state store.",
    )
    db_rehydration_enabled: bool = Field(
        True, description="Whether what was said before this process began is remembered."
    )
    max_history_turns: int = Field(
        15,
        ge=0,
        le=1000,
        description="Most turns that are remembered; a small model keeps fewer (3, 6, 10 or 15 by "
        "its size), and 0 leaves it to that.",
    )

    query_rewriting_enabled: bool = Field(
        True, description="Whether a follow-up is rewritten into a question of its own."
    )


class SpellingSettings(Section):
    """Correction of questions."""

    enabled: bool = Field(True, description="Whether misspelt questions are corrected.")


class AdaptiveSettings(Section):
    """What kind of question it is, and how it is therefore answered."""

    intent_threshold: float = Field(
        0.75, ge=0, le=1, description="How sure examples must be of an intent."
    )
