"""The figures at /metrics, recorded in one place; one registry per application."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ragstone.core.events import Done, Event, Failed, StageEnded, Token
from ragstone.core.turn import Ask, Turn
from ragstone.ports import CacheFigures
from ragstone.telemetry.spans import Kind, Telemetry

_REQUEST_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_STAGE_BUCKETS = (0.0005, 0.002, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counts requests and questions, and renders them for Prometheus."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        self._telemetry = telemetry or Telemetry()
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "HTTP requests", "method", "route", "status")
        self._request_seconds = self._histogram(
            "request_seconds", "Time to the end of the response", _REQUEST_BUCKETS, "route"
        )
        self._ended = {
            "question": self._counter("questions", "Questions by outcome", "level", "finish"),
            "search": self._counter("searches", "Searches by outcome", "level", "finish"),
        }
        self._stage_seconds = self._histogram(
            "stage_seconds", "Time in each stage", _STAGE_BUCKETS, "stage", "status"
        )
        self._first = self._histogram(
            "first_token_seconds", "Time to the first piece of an answer", _STAGE_BUCKETS, "level"
        )
        self._tokens = self._counter("tokens", "Tokens of chat models", "kind", "model")
        self._cost = self._counter("cost_usd", "What chat models cost, where known", "model")
        self._refused = self._counter("refused", "Questions that were refused an answer", "level")
        self._blocked = self._counter("blocked", "Questions about a forbidden topic", "level")
        self._recalled = self._counter("recalled", "What the cache had of a question", "content")
        self._checked = self._counter("claims", "Sentences of answers by verdict", "verdict")
        self._stated = self._counter(
            "answers", "Answers by how surely they are supported and answer", "supported", "answers"
        )
        self._running = Gauge(
            "ragstone_questions_running",
            "Questions and searches under way",
            registry=self.registry,
        )
        self._cache = Gauge(
            "ragstone_cache", "The semantic cache's figures", ["what"], registry=self.registry
        )

    def cache(self, figures: CacheFigures) -> None:
        """Show what the cache has done."""
        for what in ("entries", "hits", "misses", "saved_seconds", "available"):
            self._cache.labels(what).set(getattr(figures, what))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record one HTTP request."""
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    async def observe(
        self, kind: Kind, ask: Ask, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        """Pass the events of one question or search on, and record them; closes `events` at the
        end."""
        finish, started, spoken = "cancelled", time.perf_counter(), False
        self._running.inc()
        try:
            async with aclosing(self._telemetry.observe(kind, ask, events)) as stream:
                async for event in stream:
                    if not isinstance(event, Token):
                        finish = self._event(ask, event) or finish
                    elif not spoken:
                        spoken = True
                        self._first.labels(ask.level).observe(time.perf_counter() - started)
                    yield event
        except Exception:
            finish = "error"
            raise
        finally:
            self._running.dec()
            self._ended[kind].labels(ask.level, finish).inc()

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def _event(self, ask: Ask, event: Event) -> str | None:
        match event:
            case StageEnded(traced):
                self._stage_seconds.labels(traced.stage, traced.status).observe(traced.seconds)
            case Done(turn):
                self._usage(turn)
                self._count_answer(ask, turn)
                return turn.answer.finish if turn.answer else "stop"
            case Failed(_, turn):
                self._usage(turn)
                return "error"
        return None

    def _count_answer(self, ask: Ask, turn: Turn) -> None:
        finish = turn.answer.finish if turn.answer else "stop"
        if finish == "refused":
            self._refused.labels(ask.level).inc()
        if finish == "blocked":
            self._blocked.labels(ask.level).inc()
        if turn.recalled:
            self._recalled.labels(turn.recalled.content or "nothing").inc()
        if turn.answer and (turn.answer.supported or turn.answer.answers):
            said = (turn.answer.supported, turn.answer.answers)
            self._stated.labels(*(one.level if one else "unknown" for one in said)).inc()
        for verdict in turn.verdicts:
            self._checked.labels(verdict.label).inc()

    def _usage(self, turn: Turn) -> None:
        usage, model = turn.usage, turn.answer.model if turn.answer else ""
        if usage.calls:
            self._tokens.labels("prompt", model).inc(usage.prompt_tokens)
            self._tokens.labels("completion", model).inc(usage.completion_tokens)
            self._cost.labels(model).inc(usage.cost or 0.0)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"ragstone_{name}", text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"ragstone_{name}", text, labels, buckets=buckets, registry=self.registry)
