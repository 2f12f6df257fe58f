"""The figures at /metrics, recorded in one place; one registry per application.

The processes of one server add up: where the environment names a folder for it, prometheus_client
keeps what each counts in files there, which whoever is asked sums. The files of a process that
ended stay, so that nothing it counted is lost.
"""

import os
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from ragstone.core.events import Done, Event, Failed, StageEnded, Token
from ragstone.core.turn import Ask, Turn
from ragstone.ports import CacheFigures, PoolUse, Total
from ragstone.ports.jobs import State
from ragstone.telemetry.spans import Kind, Telemetry

_REQUEST_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_STAGE_BUCKETS = (0.0005, 0.002, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable with the folder of the figures of several processes; read when prometheus_client is
imported."""

MAX_KEYS = 100
"""Keys that have figures of their own in one process; those of all later ones are summed."""

OTHERS = "others"
API_KEY = "key:"
"""What the name of an API key begins with; its id follows, which is not a secret."""

STATES: tuple[State, ...] = get_args(State)
_CACHE = ("entries", "hits", "misses", "saved_seconds", "available")


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
        self._key_questions = self._counter("key_questions", "Questions of each key", "key")
        self._key_tokens = self._counter("key_tokens", "Chat models' tokens of each key", "key")
        self._key_cost = self._counter("key_cost_usd", "What each key's questions cost", "key")
        self._keys: set[str] = set()
        self._running = self._gauge("questions_running", "Questions and searches under way")
        self._pools = self._gauge("pool_connections", "Connections to databases", "pool", "what")
        self._cache = self._gauge("cache", "The semantic cache's figures", "what")
        self._stores = _StoreCollector()
        self.registry.register(self._stores)

    def cache(self, figures: CacheFigures) -> None:
        """Show what the cache has done."""
        if figures.shared:
            self._stores.cache = figures
            return
        for what in _CACHE:
            self._cache.labels(what).set(getattr(figures, what))

    def pools(self, pools: Iterable[PoolUse]) -> None:
        """Show how busy this process's connections to databases are."""
        for pool in pools:
            for what in ("used", "most", "waiting"):
                self._pools.labels(pool.name, what).set(getattr(pool, what))

    def stores(self, totals: Sequence[Total], jobs: Mapping[str, Mapping[str, int]]) -> None:
        """Show all documents by their status, and the jobs of each kind by their state: every
        process of every server says the same of these."""
        self._stores.totals, self._stores.jobs = totals, jobs

    def stores_unknown(self) -> None:
        """Show that the state store does not say what it holds."""
        self._stores.totals = self._stores.jobs = None

    def count_use(self, key: str, turn: Turn) -> None:
        """Count a question of the credential `key`, and what it used. Only API keys, which
        somebody made, are told apart: others by their kind, as there may be any number."""
        if not key:
            return
        label = key if key.startswith(API_KEY) else key.partition(":")[0]
        if label not in self._keys:
            if len(self._keys) >= MAX_KEYS:
                label = OTHERS
            else:
                self._keys.add(label)
        self._key_questions.labels(label).inc()
        self._key_tokens.labels(label).inc(turn.usage.prompt_tokens + turn.usage.completion_tokens)
        self._key_cost.labels(label).inc(turn.usage.cost or 0.0)

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
        """Return everything in Prometheus' text format; of all processes of this server, where they
        have a folder for it."""
        folder = os.environ.get(FOLDER)
        if not folder:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together, folder)  # type: ignore[no-untyped-call]
        together.register(self._stores)
        return generate_latest(together)

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
            self._stated.labels(*(item.level if item else "unknown" for item in said)).inc()
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

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Return a figure of this process; over processes it is the sum of those that live."""
        return Gauge(
            f"ragstone_{name}", text, labels, registry=self.registry, multiprocess_mode="livesum"
        )

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(f"ragstone_{name}", text, labels, buckets=buckets, registry=self.registry)


class _StoreCollector(Collector):
    """Figures of what all processes share: whichever is asked tells them."""

    def __init__(self) -> None:
        self.totals: Sequence[Total] | None = None
        self.jobs: Mapping[str, Mapping[str, int]] | None = None
        self.cache: CacheFigures | None = None

    def collect(self) -> Iterator[Metric]:
        known = self.totals is not None
        yield GaugeMetricFamily(
            "ragstone_state_available", "Whether the state store answers", float(known)
        )
        documents = _family("documents", "Documents by status", "status")
        chunks = _family("chunks", "Chunks of documents by status", "status")
        for total in self.totals or ():
            documents.add_metric([total.status], total.documents)
            chunks.add_metric([total.status], total.chunks)
        jobs = _family("jobs", "Jobs that are kept, by state", "kind", "state")
        for kind, states in (self.jobs or {}).items():
            for state in STATES:
                jobs.add_metric([kind, state], states.get(state, 0))
        cache = _family("shared_cache", "The figures of a semantic cache that all share", "what")
        for what in _CACHE if self.cache else ():
            cache.add_metric([what], getattr(self.cache, what))
        yield from (documents, chunks, jobs, cache)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"ragstone_{name}", text, labels=labels)
