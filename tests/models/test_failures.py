"""The twelve ways in which a chat model's server fails: what is said, retried, and who takes over.

from tests.models.call_constants import settings_of
Real servers on real sockets, the official client, and the events that clients see.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from ragstone.answer.generate import Generate
from ragstone.core.answer import Instructions
from ragstone.core.errors import Busy, ModelUnavailable
from ragstone.core.events import Event, Note, Thinking, Token
from ragstone.core.turn import Ask, Turn
from ragstone.engine.stage import nowhere
from ragstone.models.chat import ChatModel
from ragstone.models.configured_chat import WithFallback
from ragstone.settings import LlmSettings
from tests.engine.adapters import a_kit
from tests.engine.samples import a_passage
from tests.model_server import CIRCLE, ModelServer, closed_port, model_server
from tests.models.call_constants import settings_of

pytestmark = pytest.mark.slow

NO_ANSWER = "The documents do not hold an answer to this question."
TOLD = Instructions("Answer from the sources.", NO_ANSWER)
PASSAGES = (a_passage(1, "The lighthouse of Ost was built in 1871."),)
SPARE = "From the spare model. [1]"

WAYS = {
    "refused": ("cannot be reached", 4),
    "401": ("LLM__API_KEY", 1),
    "429 0": ("asked too often", 4),
    "500": ("answered 500", 4),
    "hang": ("said nothing for 0.4 s", 4),
    "empty": ("empty reply", 2),
    "invalid JSON": ("not a reply|in the middle", 2),
    "wrong schema": ("not a reply|in the middle", 2),
    "tool call": ("a tool that nobody offered", 2),
}
"""The ways to fail before the first word: what the error says, and how many calls are made."""

USELESS = ("empty", "tool call", "filtered", "thoughts only")
"""Ways in which the server does its part; what was asked for may be the cause."""


@pytest.fixture
def first() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def spare() -> Iterator[ModelServer]:
    with model_server(says=(SPARE,)) as server:
        yield server


Make = Callable[..., ChatModel]


@pytest.fixture
async def chat(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    """Makes models that wait briefly, and closes them."""
    made: list[ChatModel] = []

    def make(url: str, standby: bool = False, **changes: Any) -> ChatModel:
        given = {"model": "first", "timeout": 0.4, "retry_seconds": 1.0, "breaker_recovery": 0.5}
        settings = LlmSettings(base_url=url, **settings_of(monkeypatch, {**given, **changes}))
        made.append(ChatModel(settings, standby=standby))
        return made[-1]

    yield make
    for model in made:
        await model.aclose()


async def heard(answerer: Any) -> tuple[list[Event], Turn | None, Exception | None]:
    """What `generate` emits, the turn, and what it raises."""
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    turn = Turn(Ask("When was it built?"), question="When was it built?", passages=PASSAGES)
    try:
        step = await Generate().run(turn, a_kit(answerer=answerer), emit)
    except (ModelUnavailable, Busy) as error:
        return events, None, error
    return events, step.turn, None


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


def failing(server: ModelServer, way: str) -> str:
    """The address of a server that fails this way."""
    server.way = way
    return closed_port() if way == "refused" else server.url


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.conforms("Query pipeline", "Step 9", "No retry remains: an error")
@pytest.mark.conforms("RAG engine v1", "Failure paths", "A failing model is asked three times more")
@pytest.mark.conforms("Query pipeline", "Step 9", "A time-out is retried with backoff and jitter")
@pytest.mark.conforms("RAG engine v1", "LLM client", "Time-outs and refusals for load are retried")
async def test_given_a_failure_before_the_first_word_then_the_error_says_what_to_do(
    way: str, first: ModelServer, chat: Make
) -> None:
    what, calls = WAYS[way]
    events, _, error = await heard(chat(failing(first, way)))
    assert isinstance(error, ModelUnavailable)
    assert events == []
    assert any(part in str(error) for part in what.split("|")), str(error)
    assert way == "refused" or len(first.calls) == calls


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.conforms("Query pipeline", "Step 9", "An open circuit uses the spare model")
async def test_given_a_spare_model_then_it_answers_after_the_retries_of_the_first(
    way: str, first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    model = WithFallback(chat(failing(first, way), standby=True), chat(spare.url, model="spare"))
    events, turn, error = await heard(model)
    assert error is None
    assert text(events) == SPARE
    assert turn is not None
    assert turn.answer is not None
    assert turn.answer.model == "spare"
    assert len(first.calls) <= 4


@pytest.mark.parametrize("stands_by", [True, False])
async def test_a_hanging_model_is_asked_again_only_where_nobody_stands_by(
    stands_by: bool, first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    first.way = "hang"
    model = chat(first.url, standby=True, retries=1)
    both = WithFallback(model, chat(spare.url))
    turn = Turn(Ask("When was it built?"), question="When was it built?", passages=PASSAGES)

    with suppress(ModelUnavailable):
        await Generate(stands_by=stands_by).run(turn, a_kit(answerer=both, chat=model), nowhere)

    assert len(first.calls) == (1 if stands_by else 2)
    assert len(spare.calls) == stands_by


async def test_the_first_of_two_models_is_left_early_where_no_sentences_stand_by(
    first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    first.way = "hang"
    both = WithFallback(chat(first.url, standby=True), chat(spare.url, standby=True))
    turn = Turn(Ask("When was it built?"), question="When was it built?", passages=PASSAGES)

    step = await Generate(stands_by=False).run(turn, a_kit(answerer=both, chat=both), nowhere)

    assert len(first.calls) == 1
    assert step.turn.answer is not None
    assert step.turn.answer.text == SPARE


async def test_work_that_nobody_waits_for_is_patient(first: ModelServer, chat: Make) -> None:
    first.ways = ["429 1"]
    model = chat(first.url, standby=True)

    said = await model.complete("rules", "text", 10)

    assert said.text == "In 1871. [1]"


@pytest.mark.parametrize("way", [way for way in WAYS if way not in USELESS])
@pytest.mark.conforms("Query pipeline", "Step 9", "Circuit breaker: open, half, closed")
async def test_given_so_many_failures_then_it_rests_and_recovers_by_one_call(
    way: str, first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    url = failing(first, way)
    model = chat(url, standby=True, breaker_failures=2, retries=0)
    both = WithFallback(model, chat(spare.url, model="spare"))
    for _ in range(2):
        assert model._calls.breaker.state == "closed"
        await heard(both)
    assert model._calls.breaker.state == "open"
    asked = len(first.calls)
    _, turn, _ = await heard(both)
    assert turn is not None
    assert len(first.calls) == asked
    with pytest.raises(ModelUnavailable, match="rests for"):
        await model.ready()
    assert "rests for" in await both.ready()
    assert "rests for" in (await heard(model))[2].args[0]  # type: ignore[union-attr]


@pytest.mark.parametrize("way", [*USELESS, "400", "413", "422"])
async def test_what_a_request_itself_may_cause_never_takes_the_model_from_others(
    way: str, first: ModelServer, chat: Make
) -> None:
    first.way = way
    model = chat(first.url, breaker_failures=1, retries=0)

    for _ in range(3):
        assert isinstance((await heard(model))[2], ModelUnavailable)
        with pytest.raises(ModelUnavailable):
            await model.complete("rules", "text", 10)

    first.way = "good"
    assert text((await heard(model))[0]) == "In 1871. [1]"


async def test_a_failure_by_what_was_asked_for_neither_ends_nor_prolongs_a_rest(
    first: ModelServer, chat: Make
) -> None:
    first.way = "500"
    model = chat(first.url, breaker_failures=1, breaker_recovery=0.3, retries=0)
    await heard(model)
    time.sleep(0.3)

    first.way = "400"
    await heard(model)

    assert model._calls.breaker.state == "half open"


async def test_given_a_rest_that_is_over_then_the_first_model_answers_again(
    first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    first.way = "500"
    model = chat(first.url, standby=True, breaker_failures=1, breaker_recovery=0.3)
    both = WithFallback(model, chat(spare.url, model="spare"))
    assert text((await heard(both))[0]) == SPARE
    first.way = "good"
    assert text((await heard(both))[0]) == SPARE
    time.sleep(0.3)
    assert model._calls.breaker.state == "half open"
    assert text((await heard(both))[0]) == "In 1871. [1]"
    assert model._calls.breaker.state == "closed"


@pytest.mark.parametrize("way", ["cut", "cut cleanly"])
async def test_given_a_stream_that_is_cut_then_what_was_said_stays_and_nobody_takes_over(
    way: str, first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    first.way = way
    model = WithFallback(chat(first.url, standby=True), chat(spare.url))
    events, _, error = await heard(model)
    assert text(events) == "In 1871."
    assert "broke off" in str(error) or "in the middle" in str(error)
    assert spare.calls == []
    assert len(first.calls) == 1


async def test_given_a_slow_drip_then_it_ends_at_the_total_time_out(
    first: ModelServer, chat: Make
) -> None:
    first.way = "slow drip"
    events, _, error = await heard(chat(first.url, timeout=1.5))
    assert text(events).startswith("drip ")
    assert "LLM__TIMEOUT" in str(error)


async def test_given_a_drip_slower_than_the_time_out_then_it_ends_there(
    first: ModelServer, chat: Make
) -> None:
    first.way = "slow drip"
    events, _, error = await heard(chat(first.url))
    assert text(events) == "drip"
    assert "LLM__TIMEOUT" in str(error)


async def test_given_endless_repetition_then_it_is_cut_and_the_reader_is_told(
    first: ModelServer, chat: Make
) -> None:
    first.way = "repetition"
    events, turn, _ = await heard(chat(first.url))
    assert turn is not None
    assert turn.answer is not None
    assert turn.answer.finish == "length"
    assert len(turn.answer.text) < 40 * len(CIRCLE)
    assert [event.text for event in events if isinstance(event, Note)] == [
        "The model began to repeat itself, so its answer was cut."
    ]


@pytest.mark.conforms("RAG engine v1", "LLM client", "Retries with exponential backoff")
async def test_given_a_server_that_is_well_again_at_the_second_try_then_it_answers(
    first: ModelServer, chat: Make
) -> None:
    for way in ("500", "429 0", "empty", "invalid JSON", "tool call"):
        first.ways = [way]
        events, turn, _ = await heard(chat(first.url))
        assert text(events) == "In 1871. [1]", way
        assert turn is not None
        assert turn.usage.calls == (2 if way in ("empty", "tool call") else 1)


async def test_given_retry_after_then_it_waits_that_long_or_gives_up_at_once(
    first: ModelServer, chat: Make
) -> None:
    first.ways = ["429 1"]
    started = time.perf_counter()
    assert text((await heard(chat(first.url, retry_seconds=2.0)))[0]) == "In 1871. [1]"
    assert time.perf_counter() - started >= 1.0
    first.ways = ["429 60"]
    started = time.perf_counter()
    error = (await heard(chat(first.url)))[2]
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 60
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("way", [*WAYS, "cut"])
async def test_given_a_whole_completion_then_it_fails_and_falls_back_alike(
    way: str, first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    model = chat(failing(first, way), standby=True)
    if way != "cut":
        with pytest.raises(ModelUnavailable):
            await model.complete("rules", "text", 10)
        said = await WithFallback(model, chat(spare.url, model="spare")).complete("r", "t", 10)
        assert (said.text, said.model) == (SPARE, "spare")
        assert "fallback" in said.reason
    first.way = "good"
    assert (await chat(first.url).complete("rules", "text", 10)).text == "In 1871. [1]"


async def test_given_only_thoughts_then_the_spare_model_answers(
    first: ModelServer, spare: ModelServer, chat: Make
) -> None:
    first.way = "thoughts only"
    events, turn, _ = await heard(WithFallback(chat(first.url), chat(spare.url)))
    assert [event.text for event in events if isinstance(event, Thinking)] == ["Hm."]
    assert text(events) == SPARE
    assert turn is not None
    assert turn.usage.calls == 2


async def test_given_thoughts_in_tags_then_they_are_no_tokens(
    first: ModelServer, chat: Make
) -> None:
    first.says = ("<th", "ink>Hm", ".</thi", "nk>\n\nIn ", "1871.")
    events, _, _ = await heard(chat(first.url))
    assert text(events) == "In 1871."
    assert "".join(event.text for event in events if isinstance(event, Thinking)) == "Hm."
    assert (await chat(first.url).complete("rules", "text", 10)).text == "In 1871."


async def test_given_a_question_of_the_wrong_length_then_the_server_counts_as_well(
    first: ModelServer, chat: Make
) -> None:
    first.way = "400"
    model = chat(first.url, breaker_failures=1)
    for _ in range(3):
        assert "LLM__CONTEXT_WINDOW" in str((await heard(model))[2])
    assert model._calls.breaker.state == "closed"


async def test_given_a_full_model_then_a_call_is_busy_after_its_patience(
    first: ModelServer, chat: Make
) -> None:
    first.pause = 0.3
    model = chat(first.url, parallel=1, patience=0.1)
    async with aclosing(model.answer(Ask("q"), PASSAGES, TOLD)) as stream:
        assert (await anext(stream)).text
        error = (await heard(model))[2]
        assert isinstance(error, Busy)
        assert (error.code, error.status, error.retry_after) == ("busy", 503, 0.1)
    first.pause = 0.0
    assert text((await heard(model))[0]) == "In 1871. [1]"
