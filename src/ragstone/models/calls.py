"""Calls of one model: in turn, with time-outs, retried before anything was said, and not at all
while the model rests."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from ragstone.core.answer import Usage
from ragstone.models.breaker import Breaker, BreakerCall, Resting
from ragstone.models.call_queue import CallQueue
from ragstone.models.failures import FailingModel, Trouble
from ragstone.models.reply import ReplyReader
from ragstone.ports import Said
from ragstone.settings import LlmSettings

STANDBY_SECONDS = 0.5
"""The pauses before retries, together, while another model could answer at once."""

FIRST_PAUSE = 0.4
LONGEST_PAUSE = 8.0

T = TypeVar("T")
Messages = Sequence[ModelMessage]
Tools = Sequence[ToolDefinition]
_StartedStream = tuple[Said, AsyncGenerator[Said, None]]


class Calls:
    """Asks `model`. `standby` says that another one answers when this does not."""

    def __init__(
        self,
        model: Model[Any],
        settings: LlmSettings,
        place: FailingModel,
        reader: ReplyReader,
        standby: bool,
    ) -> None:
        self._model = model
        self._settings = settings
        self._place = place
        self._reader = reader
        self._pauses = min(settings.retry_seconds, STANDBY_SECONDS if standby else math.inf)
        self._turns = CallQueue(place.model, settings.parallel, settings.patience)
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_recovery)

    async def stream(
        self, messages: Messages, options: ModelSettings, tools: Tools = ()
    ) -> AsyncGenerator[Said, None]:
        """The reply as it comes; raises ModelUnavailable, Busy. The usage of failed calls comes
        first. The model may call the `tools`."""
        lost: list[Usage] = []
        async with self._turns.turn():
            try:
                begun: _StartedStream = await self._retry_policy(lost)(
                    self._start_stream, messages, options, tools
                )
                first, rest = begun
                async with aclosing(rest):
                    while lost:
                        yield Said(usage=lost.pop())
                    yield first
                    async for said in rest:
                        yield said
            except Trouble as trouble:
                for usage in (*lost, trouble.usage):
                    if usage.calls:
                        yield Said(usage=usage)
                raise trouble.error from trouble

    async def whole(self, messages: Messages, options: ModelSettings) -> Said:
        """The reply in one piece, with the usage of failed calls; raises ModelUnavailable, Busy."""
        lost: list[Usage] = []
        async with self._turns.turn():
            try:
                said: Said = await self._retry_policy(lost)(self._complete_once, messages, options)
            except Trouble as trouble:
                raise trouble.error from trouble
        return replace(said, usage=sum(lost, said.usage))

    def _retry_policy(self, lost: list[Usage]) -> AsyncRetrying:
        pause = wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)
        policy = _Policy(self._settings.retries, self._pauses, self.breaker, pause, lost)
        return AsyncRetrying(
            retry=policy.again, wait=policy.wait, sleep=asyncio.sleep, reraise=True
        )

    async def _start_stream(
        self, messages: Messages, options: ModelSettings, tools: Tools
    ) -> _StartedStream:
        """The first piece, and the rest."""
        rest = self._stream_once(messages, options, tools)
        try:
            return await anext(rest), rest
        except BaseException:
            await rest.aclose()
            raise

    async def _stream_once(
        self, messages: Messages, options: ModelSettings, tools: Tools
    ) -> AsyncGenerator[Said, None]:
        wait, names = _Wait(self._settings, self._place), frozenset(tool.name for tool in tools)
        with self._breaker_call() as call:
            try:
                async with AsyncExitStack() as stack:
                    opening = model_request_stream(
                        self._model,
                        messages,
                        model_settings=options,
                        model_request_parameters=ModelRequestParameters(function_tools=[*tools]),
                    )
                    stream = await wait.of(stack.enter_async_context(opening))
                    reply = self._reader.streamed(stream, _events(stream, wait), names)
                    async for said in await stack.enter_async_context(aclosing(reply)):
                        call.began()
                        yield said
                call.succeeded()
            except Exception as error:
                raise self._trouble(error, call) from error

    async def _complete_once(self, messages: Messages, options: ModelSettings) -> Said:
        with self._breaker_call() as call:
            try:
                asking = model_request(
                    self._model,
                    messages,
                    model_settings=options,
                    model_request_parameters=ModelRequestParameters(),
                )
                reply = await _Wait(self._settings, self._place).of(asking)
                said = self._reader.whole(reply)
                call.succeeded()
            except Exception as error:
                raise self._trouble(error, call) from error
        return said

    @contextmanager
    def _breaker_call(self) -> Iterator[BreakerCall]:
        try:
            with self.breaker.calling() as call:
                yield call
        except Resting as resting:
            raise self._place.resting(resting.seconds) from resting

    def _trouble(self, error: Exception, call: BreakerCall) -> Trouble:
        trouble = self._place.of(error, self._settings.timeout)
        if trouble.counts:
            call.failed()
        else:
            call.succeeded()
        return trouble


class _Policy:
    """Whether a failed call is tried again, and after which pause."""

    def __init__(
        self,
        retries: int,
        seconds: float,
        breaker: Breaker,
        pause: Callable[[RetryCallState], float],
        lost: list[Usage],
    ) -> None:
        self._retries = retries
        self._left = seconds
        self._breaker = breaker
        self._pause = pause
        self._lost = lost
        self._next = 0.0

    def again(self, state: RetryCallState) -> bool:
        trouble = state.outcome and state.outcome.exception()
        if not isinstance(trouble, Trouble) or self._breaker.state != "closed":
            return False
        if state.attempt_number > min(self._retries, trouble.retries):
            return False
        asked = trouble.error.retry_after
        self._next = min(self._pause(state), self._left) if asked is None else asked
        if self._next > self._left:
            return False
        self._left -= self._next
        if trouble.usage.calls:
            self._lost.append(trouble.usage)
        return True

    def wait(self, state: RetryCallState) -> float:
        return self._next


class _Wait:
    """Waits for the next piece, and no longer than for all of them together."""

    def __init__(self, settings: LlmSettings, place: FailingModel) -> None:
        self._each = settings.timeout
        self._all = settings.total_timeout
        self._place = place
        self._end = time.monotonic() + self._all

    async def of(self, step: Awaitable[T]) -> T:
        left = self._end - time.monotonic()
        try:
            async with asyncio.timeout(min(self._each, left)):
                return await step
        except TimeoutError as error:
            if left <= self._each:
                raise self._place.too_slow(self._all) from error
            raise self._place.silent(self._each) from error


async def _events(stream: Any, wait: _Wait) -> AsyncGenerator[object, None]:
    events = aiter(stream)
    while (event := await wait.of(anext(events, None))) is not None:
        yield event
