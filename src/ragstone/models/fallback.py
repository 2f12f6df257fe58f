"""A model that answers when the first one cannot."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Protocol, runtime_checkable

from ragstone.core.answer import Instructions
from ragstone.core.errors import ModelUnavailable, Unavailable
from ragstone.core.time_limits import TIME_LIMITS
from ragstone.core.turn import Ask, Passage
from ragstone.ports import (
    Answerer,
    Completer,
    Conversing,
    Profile,
    Said,
)

NOTE = "The chat model does not answer; these are the documents' own sentences."


@runtime_checkable
class ChatAnswerer(Answerer, Completer, Conversing, Protocol):
    """A chat model, which can do all."""

    @property
    def profile(self) -> Profile: ...


def members(chat: ChatAnswerer) -> tuple[ChatAnswerer, ...]:
    """The models that a chat model consists of: it alone, or the first and the one that stands
    by."""
    if isinstance(chat, WithFallback) and isinstance(chat.second, ChatAnswerer):
        return (*members(chat.first), *members(chat.second))
    return (chat,)


class WithFallback:
    """`ports.Answerer`, `ports.Completer` and `ports.Conversing` that ask `first`, and `second`
    when that is not available or busy.

    Once text has left, nobody can take over; of an answer that is not streamed, none leaves before
    its end. `note` tells the reader that `second` answers.
    """

    def __init__(self, first: ChatAnswerer, second: Answerer, note: str = "") -> None:
        self.name = first.name
        self.first = first
        self.second = second
        self._note = note

    @property
    def profile(self) -> Profile:
        """That of the first, which may learn it from its server."""
        return self.first.profile

    async def answer(
        self, ask: Ask, passages: Sequence[Passage], instructions: Instructions
    ) -> AsyncGenerator[Said, None]:
        second = partial(self.second.answer, ask, passages, instructions)
        first = self.first.answer(ask, passages, replace(instructions, alone=False))
        async with aclosing(self._with_fallback(first, second)) as stream:
            async for said in stream:
                yield said

    async def converse(self, ask: Ask, rules: str) -> AsyncGenerator[Said, None]:
        other = self.second
        second = partial(other.converse, ask, rules) if isinstance(other, Conversing) else None
        async with aclosing(self._with_fallback(self.first.converse(ask, rules), second)) as stream:
            async for said in stream:
                yield said

    async def _with_fallback(
        self,
        first: AsyncGenerator[Said, None],
        second: Callable[[], AsyncGenerator[Said, None]] | None,
    ) -> AsyncGenerator[Said, None]:
        spoke = False
        try:
            async with aclosing(first) as stream:
                async for said in stream:
                    spoke = spoke or bool(said.text)
                    yield said
            return
        except Unavailable as error:
            if second is None or (spoke and TIME_LIMITS.get().streams):
                raise
            why = self._fallback_reason(error)
        yield Said(model=self.second.name, reason=why, note=self._note, restarts=spoke)
        async with aclosing(second()) as stream:
            async for said in stream:
                yield said if said.model else replace(said, model=self.second.name)

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        try:
            return await self.first.complete(rules, text, max_tokens, temperature)
        except Unavailable as error:
            if not isinstance(self.second, Completer):
                raise
            why = self._fallback_reason(error)
        said = await self.second.complete(rules, text, max_tokens, temperature)
        return replace(said, model=said.model or self.second.name, reason=why)

    async def ready(self) -> str:
        """The states of both models; raises ModelUnavailable when neither is ready."""
        states, ready = [], False
        for item in (self.first, self.second):
            try:
                states.append(await item.ready() or f"{item.name} answers")
                ready = True
            except Unavailable as error:
                states.append(str(error).rstrip("."))
        if not ready:
            raise ModelUnavailable(f"{'; '.join(states)}.")
        return "; ".join(states)

    async def aclose(self) -> None:
        await self.first.aclose()
        await self.second.aclose()

    def _fallback_reason(self, error: Exception) -> str:
        return f"fallback, as {self.first.name} failed: {error}"
