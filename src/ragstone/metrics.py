"""The figures at /metrics, recorded in one place; one registry per application."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ragstone.events import Done, Event, Failed, StageEnded
from ragstone.ports import CacheFigures
from ragstone.turn import Ask, Turn

_REQUEST_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_STAGE_BUCKETS = (0.0005, 0.002, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counts requests and questions, and renders them for Prometheus."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "HTTP requests", "method", "route", "status")
        self._request_seconds = self._histogram(
            "request_seconds", "Time to the end of the response", _REQUEST_BUCKETS, "route"
        )
        self._questions = self._counter("questions", "Questions by outcome", "level", "finish")
        self._stage_seconds = self._histogram(
            "stage_seconds", "Time in each stage", _STAGE_BUCKETS, "stage", "status"
        )
        self._tokens = self._counter("tokens", "Tokens of the chat model", "kind")
        self._refused = self._counter("refused", "Questions that were refused an answer", "level")

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
        self, ask: Ask, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event, None]:
        """Pass the events of one question on, and record them; closes `events` at the end."""
        finish = "cancelled"
        try:
            async with aclosing(events) as stream:
                async for event in stream:
                    finish = self._event(ask, event) or finish
                    yield event
        except Exception:
            finish = "error"
            raise
        finally:
            self._questions.labels(ask.level, finish).inc()

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def _event(self, ask: Ask, event: Event) -> str | None:
        match event:
            case StageEnded(traced):
                self._stage_seconds.labels(traced.stage, traced.status).observe(traced.seconds)
            case Done(turn):
                self._usage(turn)
                finish = turn.answer.finish if turn.answer else "stop"
                if finish == "refused":
                    self._refused.labels(ask.level).inc()
                return finish
            case Failed(_, turn):
                self._usage(turn)
                return "error"
        return None

    def _usage(self, turn: Turn) -> None:
        self._tokens.labels("prompt").inc(turn.usage.prompt_tokens)
        self._tokens.labels("completion").inc(turn.usage.completion_tokens)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"ragstone_{name}", text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"ragstone_{name}", text, labels, buckets=buckets, registry=self.registry)
