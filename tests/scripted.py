"""An answerer that says what it is told to: for tests and demonstrations without a model."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from ragstone.core.answer import Instructions
from ragstone.core.turn import Ask, Passage
from ragstone.ports import Profile, Said


@dataclass
class Scripted:
    """`ports.Answerer` that says `script`, `pause` seconds apart, then raises `error` if any.

    `asked` and `told` keep what it was asked and told; `closed` counts streams that ended or were
    left.
    """

    script: Sequence[Said | str] = ("Yes. [1]",)
    pause: float = 0.0
    error: Exception | None = None
    name: str = "scripted"
    asked: list[tuple[Ask, tuple[Passage, ...]]] = field(default_factory=list)
    told: list[Instructions] = field(default_factory=list)
    closed: int = 0

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        self.asked.append((ask, tuple(passages)))
        self.told.append(instructions)
        try:
            for piece in self.script:
                yield Said(piece) if isinstance(piece, str) else piece
                await asyncio.sleep(self.pause)
            if self.error:
                raise self.error
            yield Said(finish="stop")
        finally:
            self.closed += 1

    async def ready(self) -> None:
        if self.error:
            raise self.error

    async def aclose(self) -> None:
        """There is nothing to close."""


@dataclass
class ScriptedChat:
    """`ports.Conversing` that says one reply after the other, the last one again and again.

    `asked` keeps what it was asked, with the rules.
    """

    replies: list[Sequence[Said | str]]
    error: Exception | None = None
    name: str = "scripted"
    profile: Profile = Profile()
    asked: list[tuple[Ask, str]] = field(default_factory=list)

    async def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        self.asked.append((ask, rules))
        if self.error:
            raise self.error
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        for piece in reply:
            yield Said(piece) if isinstance(piece, str) else piece
        yield Said(finish="stop")
