"""Calls of one model: in turn, with time-outs, retried before anything was said, and not at all
while the model rests.

The time that a request has is divided: a model that another one stands by for leaves it a part, and
a call that ends by this counts for the breaker as one that ended by the model's own time-out. A
model that has to be loaded first may take longer than any request: see `Calls._keep_loading`.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from contextvars import Context
from dataclasses import replace
from typing import Any, TypeVar

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential

from ragstone.core.answer import Usage
from ragstone.core.clock import TIME_LIMITS, Limit
from ragstone.models.breaker import Breaker, BreakerCall, CallQueue, Resting
from ragstone.models.failures import FailingModel, Trouble
from ragstone.models.reply import ReplyReader
from ragstone.ports import Said
from ragstone.settings import LlmSettings

RETRY_SECONDS = 20.0
"""Seconds that the pauses before a call's retries may take together."""

PARALLEL = 200
"""Calls at a time: as many as a process answers questions; the model's server queues them."""

PATIENCE = 60.0
"""Seconds that a call waits for its turn before it is refused."""

BREAKER_FAILURES, BREAKER_RECOVERY = 5, 30.0
"""Failed calls in a row after which the model rests, and the seconds of that rest; then one call
tries whether it answers."""

STANDBY_SECONDS = 0.5
"""The pauses before retries, together, while another model could answer at once."""

FIRST_PAUSE = 0.4
MAX_PAUSE = 8.0
LOADING_PAUSE = 1.0

STANDBY_SHARE = 2 / 3
"""The part of a request's time that a model may take which another one stands by for."""

ALONE_SHARE = 0.95
"""The part of one that is alone; the rest is for saying what went wrong."""

IDLE_SECONDS = 240.0
"""A model that was not heard for so long may have been unloaded; Ollama does so after five minutes.
"""

COLD_SECONDS = 5.0
"""Of silence, after which such a model is probably being loaded."""

T = TypeVar("T")
Messages = Sequence[ModelMessage]
Tools = Sequence[ToolDefinition]
_StartedStream = tuple[Said, AsyncGenerator[Said, None]]


class Calls:
    """Asks `model`. Where another one stands by for it, a call says whether it does so here too:
    not for one that is `alone`, nor for the work that nobody waits for. `parallel` calls are
    made at a time, PARALLEL if that is 0."""

    def __init__(
        self,
        model: Model[Any],
        settings: LlmSettings,
        place: FailingModel,
        reader: ReplyReader,
        parallel: int = 0,
    ) -> None:
        self._model = model
        self._settings = settings
        self._place = place
        self._reader = reader
        self._turns = CallQueue(place.model, parallel or PARALLEL, PATIENCE)
        self.breaker = Breaker(BREAKER_FAILURES, BREAKER_RECOVERY)
        self._heard = -math.inf
        self._loading: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """Wait for no model any more."""
        if self._loading:
            self._loading.cancel()
            await asyncio.wait([self._loading])

    async def stream(
        self, messages: Messages, options: ModelSettings, tools: Tools = (), alone: bool = False
    ) -> AsyncGenerator[Said, None]:
        """Yield the reply as it comes; raises ModelUnavailable, Busy. The usage of failed calls
        comes first. The model may call the `tools`."""
        # Failed calls cost tokens too; they are reported with whatever comes of the question.
        lost: list[Usage] = []
        place = self._choose_model(alone)
        async with self._turns.turn(_limits(place)[0].remaining):
            try:
                begun: _StartedStream = await self._retry_policy(lost, place)(
                    self._start_stream, messages, options, tools, place
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

    async def complete(self, messages: Messages, options: ModelSettings) -> Said:
        """The reply in one piece, with the usage of failed calls; raises ModelUnavailable, Busy."""
        lost: list[Usage] = []
        place = self._choose_model(alone=not TIME_LIMITS.get().ends.setting)
        async with self._turns.turn(_limits(place)[0].remaining):
            try:
                said: Said = await self._retry_policy(lost, place)(
                    self._complete_once, messages, options, place
                )
            except Trouble as trouble:
                raise trouble.error from trouble
        return replace(said, usage=sum(lost, said.usage))

    def _choose_model(self, alone: bool) -> FailingModel:
        return replace(self._place, standby=False) if alone else self._place

    def _retry_policy(self, lost: list[Usage], place: FailingModel) -> AsyncRetrying:
        pause = wait_random_exponential(multiplier=FIRST_PAUSE, max=MAX_PAUSE)
        left = _limits(place)[0].remaining
        # Waiting is worth while for a model that nobody stands by for; another one answers at once.
        most = STANDBY_SECONDS if place.standby else math.inf
        pauses = min(RETRY_SECONDS, most, left)
        loading = min(self._settings.timeout, left)
        policy = _Policy(self._settings.retries, pauses, loading, self.breaker, pause, lost)
        return AsyncRetrying(
            retry=policy.again, wait=policy.wait, sleep=asyncio.sleep, reraise=True
        )

    async def _start_stream(
        self, messages: Messages, options: ModelSettings, tools: Tools, place: FailingModel
    ) -> _StartedStream:
        """Return the first piece, and the rest."""
        rest = self._stream_once(messages, options, tools, place)
        try:
            return await anext(rest), rest
        # Also when the caller leaves: an open stream would hold a connection and the breaker.
        except BaseException:
            await rest.aclose()
            raise

    async def _stream_once(
        self, messages: Messages, options: ModelSettings, tools: Tools, place: FailingModel
    ) -> AsyncGenerator[Said, None]:
        wait, names = _Wait(self._settings, place), frozenset(tool.name for tool in tools)
        heard: list[str] = []
        with self._breaker_call() as call:
            try:
                async with AsyncExitStack() as stack:
                    opening = model_request_stream(
                        self._model,
                        messages,
                        model_settings=options,
                        model_request_parameters=ModelRequestParameters(function_tools=[*tools]),
                    )
                    stream = await wait.run(stack.enter_async_context(opening))
                    reply = self._reader.read_stream(stream, _events(stream, wait, call), names)
                    async for said in await stack.enter_async_context(aclosing(reply)):
                        call.mark_begun()
                        heard.append(said.thinking + said.text)
                        yield said
            except Exception as error:
                trouble = self._trouble(error, call, place)
                if heard and not trouble.usage.calls:
                    trouble.usage = self._reader.broken_usage(messages, "".join(heard))
                raise trouble from error
            finally:
                self._listen(wait)

    async def _complete_once(
        self, messages: Messages, options: ModelSettings, place: FailingModel
    ) -> Said:
        wait = _Wait(self._settings, place)
        with self._breaker_call() as call:
            try:
                reply = await wait.run(self._request(messages, options))
                wait.hear()
                call.mark_succeeded()
                return self._reader.read_response(reply)
            except Exception as error:
                raise self._trouble(error, call, place) from error
            finally:
                self._listen(wait)

    def _request(
        self, messages: Messages, options: ModelSettings
    ) -> Coroutine[Any, Any, ModelResponse]:
        return model_request(
            self._model,
            messages,
            model_settings=options,
            model_request_parameters=ModelRequestParameters(),
        )

    def _listen(self, wait: "_Wait") -> None:
        """Remember what a call that ends has heard of the model."""
        if wait.begun:
            self._heard = time.monotonic()
        elif COLD_SECONDS <= wait.silent < self._settings.timeout:
            self._keep_loading()

    def _keep_loading(self) -> None:
        """Ask once more, with all of the model's own time-out, and for nobody: servers that load a
        model on demand give that up when the last who asks for it leaves."""
        idle = time.monotonic() - self._heard > IDLE_SECONDS
        if idle and (self._loading is None or self._loading.done()):
            # Without the context of the request, whose time limits would end the loading as well.
            self._loading = asyncio.create_task(self._load(), context=Context())

    async def _load(self) -> None:
        # The shortest question and reply: only the loading matters.
        greeting = [ModelRequest(parts=[UserPromptPart("Hello")])]
        options = ModelSettings(max_tokens=1, timeout=self._settings.timeout)
        with suppress(Exception):
            async with asyncio.timeout(self._settings.timeout):
                await self._request(greeting, options)
            self._heard = time.monotonic()
            self.breaker.close()

    @contextmanager
    def _breaker_call(self) -> Iterator[BreakerCall]:
        try:
            with self.breaker.call() as call:
                yield call
        except Resting as resting:
            raise self._place.rest_trouble(resting.seconds) from resting

    def _trouble(self, error: Exception, call: BreakerCall, place: FailingModel) -> Trouble:
        trouble = place.classify_error(error, self._settings.timeout)
        if trouble.counts:
            call.mark_failed()
        return trouble


class _Policy:
    """Whether a failed call is tried again, and after which pause."""

    def __init__(
        self,
        retries: int,
        seconds: float,
        loading: float,
        breaker: Breaker,
        pause: Callable[[RetryCallState], float],
        lost: list[Usage],
    ) -> None:
        self._retries = retries
        self._left = seconds
        self._loaded = Limit.start(loading, "")
        self._breaker = breaker
        self._pause = pause
        self._lost = lost
        self._next = 0.0

    def again(self, state: RetryCallState) -> bool:
        trouble = state.outcome and state.outcome.exception()
        if not isinstance(trouble, Trouble) or self._breaker.state != "closed":
            return False
        # A server that loads its model is well, so neither the number of retries nor the pauses
        # limit this, but only the time-out.
        if trouble.loading and trouble.retries:
            self._next = LOADING_PAUSE
            return self._loaded.remaining > LOADING_PAUSE
        if state.attempt_number > min(self._retries, trouble.retries):
            return False
        # A server that names a pause refuses every call before that.
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
    """Waits for the next piece, and no longer than for all of them together: until `begins` for the
    first, until `ends` for the last."""

    def __init__(self, settings: LlmSettings, place: FailingModel) -> None:
        begins, ends = _limits(place)
        self._each = settings.timeout
        own = Limit.start(settings.total_timeout, f"{place.section}__TIMEOUT")
        self._begins, self._ends = own.earlier(begins), own.earlier(ends)
        self._place = place
        self._last = time.monotonic()
        self._longest = 0.0
        self.begun = False

    @property
    def silent(self) -> float:
        """For how long the model said nothing, at most."""
        return max(self._longest, time.monotonic() - self._last)

    def hear(self) -> None:
        """The model says something."""
        self._longest, self._last, self.begun = self.silent, time.monotonic(), True

    async def run(self, step: Awaitable[T]) -> T:
        limit = self._ends if self.begun else self._begins
        left = limit.remaining
        try:
            async with asyncio.timeout(min(self._each, left)):
                return await step
        except TimeoutError as error:
            # Which limit was over decides what the operator is told to raise.
            if left <= self._each:
                raise self._place.slow_reply_trouble(limit, self.silent, self.begun) from error
            raise self._place.silence_trouble(self._each) from error


def _limits(place: FailingModel) -> tuple[Limit, Limit]:
    """Tell until when a call that begins now must have said something, and all."""
    limits, standby = TIME_LIMITS.get(), place.standby
    ends = _share(limits.ends, STANDBY_SHARE if standby and not limits.streams else ALONE_SHARE)
    begins = _share(limits.begins, STANDBY_SHARE)
    # Where that time is over, the answer has begun.
    return (begins.earlier(ends) if standby and begins.remaining > 0 else ends), ends


def _share(limit: Limit, share: float) -> Limit:
    """Return so much of what is left."""
    return replace(limit, end=limit.end - limit.remaining * (1 - share)) if limit.setting else limit


async def _events(stream: Any, wait: _Wait, call: BreakerCall) -> AsyncGenerator[object, None]:
    events = aiter(stream)
    while (event := await wait.run(anext(events, None))) is not None:
        wait.hear()
        yield event
    # Whatever it holds, the server did its part.
    call.mark_succeeded()
