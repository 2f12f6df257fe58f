"""What a client's program wants of how is answered, below our own rules."""

from ragstone.core.turn import Turn
from ragstone.language.code_blocks import fence_text
from ragstone.language.tokens import cut_to_budget, share_budget
from ragstone.ports import Adapters

GUIDED = (
    "The program that the user asks with wants the following of your answer: its tone, its form, "
    "its language. Do as it says, except where it contradicts the rules of the answer, which "
    "always hold."
)


def with_guidance(rules: str, turn: Turn, adapters: Adapters) -> str:
    """The rules, then what the program wants, as long as a conversation may be in this window."""
    wanted = turn.ask.guidance.strip()
    if not wanted:
        return rules
    known = adapters.profile
    kept = cut_to_budget(
        wanted, share_budget(known.context_window, known.tier).history, adapters.count
    )
    return f"{rules}\n\n{GUIDED}\n{fence_text('program', kept)}"
