"""A chat model that repeats: LLM__MODEL=parrot:any. It shows what a chat model has to do."""

from collections.abc import AsyncGenerator, Sequence

from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from ragstone.models.configured_chat import ChatAnswerer
from ragstone.ports import Profile, Said
from ragstone.settings import LlmSettings


class Parrot:
    """`ports.Answerer`, `ports.Completer` and `ports.Conversing`."""

    profile = Profile(context_window=4096)

    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        """Repeat the best passage's first sentence, and cite it."""
        if not passages:
            yield Said(instructions.no_answer, finish="stop")
            return
        sentence = passages[0].text.partition(". ")[0].rstrip(".")
        yield Said(f"{sentence}. [{passages[0].number}]")
        yield Said(finish="stop")

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        """Ragstone asks for small work around an answer; an empty reply is nothing to go by."""
        return Said("", finish="stop")

    async def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        """Repeat the question."""
        yield Said(ask.question, finish="stop")

    async def ready(self) -> str | None:
        return "the parrot is awake"

    async def aclose(self) -> None:
        """There is nothing to close."""


def parrot_model(settings: LlmSettings, section: str, standby: bool) -> ChatAnswerer:
    """Repeats the best passage; needs no server."""
    return Parrot(settings.model)
