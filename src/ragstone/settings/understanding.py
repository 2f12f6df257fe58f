"""What happens to a question before anything is searched."""

from typing import Literal

from pydantic import ConfigDict, Field, SecretStr

from ragstone.settings.section import Seconds, Section


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
        description="How alike two questions must be before their words are compared: .95 "
        "(precision), or .85 (recall and adaptive).",
    )
    least_likeness: float = Field(
        0.0,
        ge=0,
        le=1,
        description="How alike two questions must be at least, whatever threshold_mode says.",
    )
    external: bool = Field(
        False,
        description="Whether what a retrieval service or knowledge base finds is kept too, for the "
        "seconds of an entry and no longer, as it does not say when its documents change.",
    )


class ConversationSettings(Section):
    """Conversations: where they are kept, and what of them is remembered."""

    url: SecretStr = Field(
        SecretStr(""),
        description="mongodb://... to keep conversations and statistics in MongoDB; empty for the "
        "state store, or for DB__HOST.",
    )
    database: str = Field(
        "ragstone", pattern=r"^[A-Za-z0-9_-]{1,63}$", description="The database of that MongoDB."
    )
    db_rehydration_enabled: bool = Field(
        True,
        description="Whether what was said before this process began is remembered.",
    )
    max_history_turns: int = Field(
        15,
        ge=0,
        le=1000,
        description="Most turns that are remembered; a small model keeps fewer (3, 6, 10 or 15 by "
        "its size), and 0 leaves it to that.",
    )
    required: bool = Field(
        False,
        description="Whether a question is refused where its conversation cannot be read; else it "
        "is answered without, and says so.",
    )

    query_rewriting_enabled: bool = Field(
        True, description="Whether a follow-up is rewritten into a question of its own."
    )
    rewriting_by: Literal["auto", "rules", "llm"] = Field(
        "auto",
        description="Who rewrites: rules, the chat model (llm), or rules where that has up to 9 "
        "billion parameters (auto).",
    )


class SpellingSettings(Section):
    """Correction of questions."""

    enabled: bool = Field(True, description="Whether misspelt questions are corrected.")


class AdaptiveSettings(Section):
    """What kind of question it is, and how it is therefore answered."""

    routing: Literal["level", "complexity"] = Field(
        "level",
        description="What decides how a question is searched unless the request does: its level, "
        "or how complex it is.",
    )
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


class DbSettings(Section):
    """A MongoDB for conversations and statistics."""

    # Other programs use the prefix DB__ too.
    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str = Field(
        "", description="Its host; empty keeps them in the state store, unless CONVERSATION__URL."
    )
    port: int = Field(27017, ge=1, le=65535, description="Its port.")
