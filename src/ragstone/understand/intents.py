"""What each intent asks of retrieval and of the answer, and reading an intent from a model."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from ragstone.core.intent import Intent, IntentName
from ragstone.language.json_answer import json_values

Template = Literal["direct", "summary", "comparison", "list", "analysis", "calculation", "steps"]

NAMES: tuple[IntentName, ...] = get_args(IntentName)


@dataclass(frozen=True, slots=True)
class Hints:
    """How a question of one kind is best answered.

    `top_k` is the least number of passages, None what the level says; `diversity` (0..1) how much
    new passages count against near ones, as in `Plan`; `chain_of_thought` whether the model should
    reason before it answers; `graph` whether related entities help; `template` the answer's form.
    """

    top_k: int | None = None
    diversity: float = 0.0
    chain_of_thought: bool = False
    graph: bool = False
    template: Template = "direct"


_PLAIN = Hints()

_HINTS: dict[IntentName, Hints] = {
    "summary": Hints(top_k=20, diversity=0.3, template="summary"),
    "comparison": Hints(
        top_k=12, diversity=0.4, chain_of_thought=True, graph=True, template="comparison"
    ),
    "list": Hints(top_k=15, diversity=0.2, template="list"),
    "analytical": Hints(top_k=12, chain_of_thought=True, graph=True, template="analysis"),
    "aggregation": Hints(top_k=20, diversity=0.2, chain_of_thought=True, template="calculation"),
    "multi_hop": Hints(top_k=15, chain_of_thought=True, graph=True),
    "procedural": Hints(template="steps"),
}
"""Intents that are not here are answered precisely: as the level says, directly."""


def intent_hints(intent: Intent | None) -> Hints:
    """Return the hints for a question of this intent; the plain ones where it is unknown."""
    return _HINTS.get(intent.name, _PLAIN) if intent else _PLAIN


_NAME = re.compile("|".join(rf"\b{name.replace('_', '[ _-]?')}\b" for name in NAMES), re.IGNORECASE)


def parse_intent(said: str) -> IntentName | None:
    """The one intent that a model's reply names, as JSON or in words; None for any other reply."""
    for value in json_values(said):
        if isinstance(value, dict) and (name := _single_name(str(value.get("intent", "")))):
            return name
    return _single_name(said)


def _single_name(text: str) -> IntentName | None:
    plain = {re.sub(r"[ _-]", "", item).casefold() for item in _NAME.findall(text)}
    names = [name for name in NAMES if name.replace("_", "") in plain]
    return names[0] if len(names) == 1 else None
