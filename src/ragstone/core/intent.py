"""What kind of question it is, and what it takes to answer it."""

from dataclasses import dataclass
from typing import Literal, get_args

IntentName = Literal[
    "small_talk",
    "follow_up",
    "factual",
    "summary",
    "comparison",
    "list",
    "analytical",
    "aggregation",
    "multi_hop",
    "procedural",
    "faq",
]

SmallTalkKind = Literal["greeting", "thanks", "goodbye", "help", "about", "chat"]
SMALL_TALK_KINDS: tuple[SmallTalkKind, ...] = get_args(SmallTalkKind)
"""From the least telling to the most: "hi, who are you?" is about the machine."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What kind of question it is: `confidence` in 0..1, which layer (0 rules, 1 examples, 2 the
    chat model) says so, and of small talk that was answered its kind."""

    name: IntentName
    confidence: float = 1.0
    layer: int = 0
    talk: SmallTalkKind | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a question takes: `complexity` 1..10, whether it compares, asks for reasons, needs
    several sources, a stretch of time or a calculation, whether it is about one document as a
    whole, whether it is several questions, and who says so."""

    complexity: int = 1
    comparison: bool = False
    reasoning: bool = False
    sources: bool = False
    temporal: bool = False
    calculation: bool = False
    whole_document: bool = False
    several: bool = False
    by: Literal["patterns", "model"] = "patterns"

    @property
    def is_complex(self) -> bool:
        """Whether a question compares, or is several: what Pipeline V5 calls complex."""
        return self.comparison or self.several
