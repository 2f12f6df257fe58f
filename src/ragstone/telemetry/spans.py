"""OpenTelemetry spans of requests, questions, stages and chat models.

Names and attributes are those of the semantic conventions for HTTP and for generative AI
(https://opentelemetry.io/docs/specs/semconv/gen-ai/). What was asked or answered is in no span.
"""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, Literal

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
)

from ragstone.core.correlation import CURRENT
from ragstone.core.errors import ConfigError
from ragstone.core.events import Done, Event, Failed, StageEnded
from ragstone.core.turn import Ask, StageTrace, Turn
from ragstone.settings import TelemetrySettings

NANOSECONDS = 1_000_000_000
GENERATE = "generate"
Kind = Literal["question", "search"]


class Telemetry:
    """Makes the spans; with no tracer, none."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer

    @contextmanager
    def request(self, method: str, path: str) -> Iterator[Span | None]:
        """The span of an HTTP request, around what is done for it."""
        if self._tracer is None:
            yield None
            return
        with self._tracer.start_as_current_span(
            method, _caller(), SpanKind.SERVER, {"http.request.method": method, "url.path": path}
        ) as span:
            yield span

    def observe(
        self, kind: Kind, ask: Ask, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        """Pass the events of one question or search on, as a span with one for each stage."""
        return (
            events if self._tracer is None else self._trace_events(self._tracer, kind, ask, events)
        )

    async def _trace_events(
        self, tracer: Tracer, kind: Kind, ask: Ask, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        span = tracer.start_span(f"ragstone.{kind}", attributes=_ask_attributes(ask))
        inside = trace.set_span_in_context(span)
        try:
            async with aclosing(events) as stream:
                async for event in stream:
                    self._event(tracer, event, inside, span)
                    yield event
        finally:
            span.end()

    def _event(self, tracer: Tracer, event: Event, inside: Context, span: Span) -> None:
        match event:
            case StageEnded(traced):
                self._stage(tracer, traced, inside)
            case Done(turn):
                self._chat(tracer, turn, inside)
                span.set_attributes(_end_attributes(turn))
            case Failed(error, turn):
                span.set_attributes({**_end_attributes(turn), "error.type": error.code})
                span.set_status(Status(StatusCode.ERROR, error.code))

    def _stage(self, tracer: Tracer, traced: StageTrace, inside: Context) -> None:
        """A stage's span, which is known when it has ended."""
        end = time.time_ns()
        span = tracer.start_span(
            f"ragstone.engine.stage {traced.stage}",
            inside,
            attributes={"ragstone.engine.stage": traced.stage, "ragstone.status": traced.status},
            start_time=end - int(traced.seconds * NANOSECONDS),
        )
        if traced.status in ("failed", "timeout"):
            span.set_status(Status(StatusCode.ERROR, traced.status))
        span.end(end)

    def _chat(self, tracer: Tracer, turn: Turn, inside: Context) -> None:
        """The chat model's part: the usage of every call of the question, in the time of its
        answer."""
        answer, usage = turn.answer, turn.usage
        seconds = next((item.seconds for item in turn.trace if item.stage == GENERATE), 0.0)
        if answer is None or not usage.calls:
            return
        end = time.time_ns()
        provider, _, model = answer.model.rpartition(":")
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider or "openai",
            "gen_ai.request.model": model,
            "gen_ai.response.model": model,
            "gen_ai.response.finish_reasons": (answer.finish,),
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "ragstone.calls": usage.calls,
        }
        if usage.cost is not None:
            attributes["ragstone.cost_usd"] = usage.cost
        start = end - int(seconds * NANOSECONDS)
        tracer.start_span(
            f"chat {model}", inside, SpanKind.CLIENT, attributes, start_time=start
        ).end(end)


def tracer(settings: TelemetrySettings, name: str) -> tuple[Tracer | None, Any]:
    """What sends spans to the collector of the settings, and the provider to shut down at the end.

    Raises ConfigError if the exporter is not installed.
    """
    if not settings.endpoint:
        return None, None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased
    except ImportError as error:
        raise ConfigError(
            "TELEMETRY__ENDPOINT needs the exporter: pip install 'ragstone[telemetry]'."
        ) from error

    class Ids(RandomIdGenerator):
        """A trace that begins here has the id that the log of its request has."""

        def generate_trace_id(self) -> int:
            known = CURRENT.get().trace
            return int(known, 16) if known else super().generate_trace_id()

    provider = TracerProvider(
        ParentBased(ALWAYS_ON), Resource.create({"service.name": name}), id_generator=Ids()
    )
    exporter = OTLPSpanExporter(settings.endpoint.rstrip("/") + "/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer("ragstone"), provider


def _caller() -> Context | None:
    """Return the caller's span from the request headers, if there is one."""
    names = CURRENT.get()
    if not names.parent:
        return None
    context = SpanContext(
        int(names.trace, 16), int(names.parent, 16), True, TraceFlags(TraceFlags.SAMPLED)
    )
    return trace.set_span_in_context(NonRecordingSpan(context))


def _ask_attributes(ask: Ask) -> dict[str, Any]:
    conversation = {"gen_ai.conversation.id": ask.room} if ask.room else {}
    return {
        "ragstone.level": ask.level,
        "ragstone.collection": ask.collection,
        "ragstone.tenant": ask.principal.tenant,
        **conversation,
    }


def _end_attributes(turn: Turn) -> dict[str, Any]:
    answer = turn.answer
    found: dict[str, Any] = {
        "ragstone.finish": answer.finish if answer else "error",
        "ragstone.passages": len(turn.passages),
        "ragstone.strategy": turn.plan.strategy,
        "ragstone.cached": turn.recalled.content if turn.recalled else "",
    }
    if answer and answer.groundedness_score is not None:
        found["ragstone.groundedness"] = answer.groundedness_score
    if answer and answer.answers is not None:
        found["ragstone.answers"] = answer.answers.confidence
    return found
