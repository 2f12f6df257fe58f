"""The protocol loses nothing: whatever goes through JSON comes back equal."""

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.answer import GeneratedAnswer, Verdict
from ragstone.core.errors import EmptyQuestion, InputError, QuestionTooLong, RagstoneError
from ragstone.core.events import Checked, Done, Event, Failed, Rewritten, Sources, StageEnded, Token
from ragstone.core.filters import And, AnyOf, Filter, Not, Or, Range
from ragstone.core.tool import Picture, Tool, ToolCall, ToolResult, ToolStep
from ragstone.core.turn import LEVELS, STRATEGIES, Ask, Message, Principal, SearchOptions, Turn
from ragstone.service import (
    CollectionSummary,
    FileFailure,
    IngestRequest,
    Overview,
    Progress,
    SearchResult,
    wire,
)
from tests.fake_service import CITATION, HITS, PASSAGES, TRACE, FakeService

# Half characters included: a file name on disk may be any bytes.
texts = st.text(st.characters(codec=None), max_size=20)
names = st.lists(texts, max_size=3).map(tuple)
floats = st.floats(allow_nan=False)
scalars = st.one_of(texts, st.integers(), floats, st.booleans())
leaves: st.SearchStrategy[Filter] = st.one_of(
    st.builds(AnyOf, texts, st.lists(scalars, max_size=3).map(tuple)),
    st.builds(Range, texts, st.none() | floats, st.none() | st.integers() | texts),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=8,
)
asks = st.builds(
    Ask,
    question=texts,
    principal=st.builds(Principal, texts, texts, names),
    collection=texts,
    level=st.sampled_from(LEVELS),
    prefer=st.none() | st.sampled_from(("accuracy", "speed")),
    strategy=st.none() | st.sampled_from(STRATEGIES),
    top_k=st.none() | st.integers(),
    wanted=st.builds(
        SearchOptions,
        st.none() | st.sampled_from(("scores", "ranks")),
        st.none() | floats,
        st.none() | st.booleans(),
        unit=st.none() | st.sampled_from(("chunk", "paragraph", "section")),
        neighbours=st.none() | st.integers(),
    ),
    where=st.none() | conditions,
    history=st.lists(
        st.builds(Message, st.sampled_from(("user", "assistant", "system")), texts), max_size=3
    ).map(tuple),
    room=st.none() | texts,
    temperature=st.none() | floats,
    max_tokens=st.none() | st.integers(),
    stop=names,
    id=texts,
    cache=st.booleans(),
)
progresses = st.builds(
    Progress,
    job=texts,
    phase=st.sampled_from(("reading", "embedding", "building", "done")),
    total=st.none() | st.integers(),
    failed=st.lists(st.builds(FileFailure, texts, texts), max_size=3).map(tuple),
    seconds=floats,
    eta=st.none() | floats,
    notes=names,
    finished=st.booleans(),
    error=texts,
)


def over_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def types(condition: Any) -> Any:
    """The types of all values, since 1 == 1.0 == True."""
    match condition:
        case And(parts) | Or(parts):
            return [types(part) for part in parts]
        case Not(part):
            return types(part)
        case AnyOf(_, values):
            return [type(value) for value in values]
    return type(condition)


@given(asks)
def test_ask(ask: Ask) -> None:
    back = wire.load(Ask, over_json(wire.dump(ask)))
    assert back == ask
    assert types(back.where) == types(ask.where)


@given(progresses)
def test_progress(progress: Progress) -> None:
    assert wire.load(Progress, over_json(wire.dump(progress))) == progress


@given(st.builds(IngestRequest, names, texts, texts, names, st.booleans()))
def test_ingest_request(request: IngestRequest) -> None:
    assert wire.load(IngestRequest, over_json(wire.dump(request))) == request


@given(asks)
def test_turn_in_event(ask: Ask) -> None:
    answer = GeneratedAnswer("Yes [1].", (CITATION,), "length", "m", 0.5)
    turn = Turn(ask, hits=HITS, passages=PASSAGES, answer=answer, trace=TRACE)
    turn = replace(turn, chunks={hit.chunk.chunk_id: hit.chunk for hit in HITS})
    assert wire.load_event(over_json(wire.dump_event(Done(turn)))) == Done(turn)


@pytest.mark.parametrize(
    "event",
    [
        Token("a\u2028b"),
        StageEnded(TRACE[0]),
        Rewritten("a", ("a", "b")),
        Sources(PASSAGES),
        Checked((Verdict("S.", "partly", 0.5, CITATION),)),
    ],
)
def test_events(event: Event) -> None:
    assert wire.load_event(over_json(wire.dump_event(event))) == event


def test_every_event_has_a_name() -> None:
    assert [wire._name(kind) for kind in get_args(Event)] == list(wire._events())
    assert wire.dump_event(Token("a")) == {"event": "token", "data": {"text": "a"}}


async def test_whole_results() -> None:
    service = FakeService()
    for kind, value in (
        (Overview, await service.overview()),
        (SearchResult, await service.search(Ask("q"))),
        (CollectionSummary, (await service.collections(Principal()))[0]),
    ):
        assert wire.load(kind, over_json(wire.dump(value))) == value


@pytest.mark.parametrize("error", [EmptyQuestion(), QuestionTooLong(9, 5), RagstoneError("x")])
def test_errors_keep_class_and_message(error: RagstoneError) -> None:
    back = wire.load_error(over_json(wire.dump_error(error)))
    assert type(back) is type(error)
    assert back.message == error.message


def test_failed_event() -> None:
    event = wire.load_event(wire.dump_event(Failed(EmptyQuestion(), Turn(Ask("q")))))
    assert isinstance(event, Failed)
    assert isinstance(event.error, EmptyQuestion)


def test_every_error_class_comes_back() -> None:
    codes = wire._errors()
    assert len(codes) >= 25
    for kind in codes.values():
        error = kind.__new__(kind, "message")
        assert type(wire.load_error(wire.dump_error(error))) is kind


@pytest.mark.parametrize("data", [None, [], {}, {"code": "newer"}, {"code": 1, "message": None}])
def test_unknown_errors_are_the_root(data: Any) -> None:
    assert type(wire.load_error(data)) is RagstoneError


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        {},
        {"question": 1},
        {"question": "q", "level": "huge"},
        {"question": "q", "where": {"xor": []}},
        {"question": "q", "where": {"not": None}},
        {"question": "q", "where": {"any_of": ["f", [1]]}},
        {"question": "q", "where": {"range": ["page", [1], None]}},
    ],
)
def test_wrong_data_is_an_input_error(data: Any) -> None:
    with pytest.raises(InputError):
        wire.load(Ask, data)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"event": "unknown", "data": {}},
        {"event": "token"},
        {"event": "failed"},
        {"event": []},
    ],
)
def test_wrong_events_are_input_errors(data: Any) -> None:
    with pytest.raises(InputError):
        wire.load_event(data)


def test_a_filter_nested_without_end() -> None:
    data: Any = {"and": []}
    for _ in range(500):
        data = {"not": data}
    with pytest.raises(InputError, match="nested deeper"):
        wire.load(Ask, {"question": "q", "where": data})


def test_given_a_question_with_tools_and_pictures_then_it_comes_back_the_same() -> None:
    call = ToolCall("c", "add", '{"a": 1}')
    ask = Ask(
        "What is this?",
        search_type="pa",
        pictures=(Picture("image/png", "iVBORw0KGgo="),),
        tools=(Tool("add", "Adds.", {"type": "object", "properties": {"a": {}}}),),
        steps=(ToolStep((call,), (ToolResult("c", "add", "1"),), "I add."),),
        organisation="GO_RAG",
        keeps=False,
    )
    assert wire.load(Ask, json.loads(json.dumps(wire.dump(ask)))) == ask
