"""Ragstone's own protocol: events, questions, progress and errors as JSON, without loss.

An event is `{"event": "token", "data": {...}}`, an error `{"code", "message", "retry"}`; it
comes back as the class that has its code, vectors `{"shape": [...], "float32": base64}`. Everything
else is a dataclass, field by field.
"""

import base64
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from ragstone.core import filters
from ragstone.core.answer import GeneratedAnswer, Statement, Usage, Verdict
from ragstone.core.conversation import Room, StoredTurn, dump_turn, iso
from ragstone.core.errors import InputError, RagstoneError
from ragstone.core.events import AgentStep, Event, Failed
from ragstone.core.faults import describe_fault
from ragstone.core.filters import And, AnyOf, Filter, Not, Or, Range
from ragstone.core.source import Source, describe_source, sources
from ragstone.core.turn import Turn

T = TypeVar("T")
Json = dict[str, Any]

INSTANCE_HEADER = "x-ragstone-instance"
VERSION_HEADER = "x-ragstone-version"
"""Which Ragstone speaks, in every private request and answer."""

OPERATION_HEADER = "x-ragstone-operation"
"""The fingerprint of the requested operation, as the caller knows it."""

MAX_FILTER_DEPTH = 50


def instance(token: str) -> str:
    """Names the server that holds `token` without giving it away."""
    return hashlib.sha256(b"ragstone instance " + token.encode()).hexdigest()[:32]


def dump(value: Any, kind: Any = None) -> Any:
    """A value as JSON values. `kind` is its type, needed where its class does not say enough: of a
    list, an optional value, or an event."""
    wanted: Any = type(value) if kind is None else kind
    return _adapter(wanted).dump_python((value,), warnings=False)[0]


def load(kind: type[T], data: Any, exact: bool = False) -> T:
    """The inverse of `dump`; raises InputError for data that is no `kind`. Fields that it does not
    have are passed over, unless it must be `exact`."""
    wanted: Any = kind
    try:
        return cast(T, _adapter(wanted, exact).validate_python((data,))[0])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][1:])[:100]
        plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        name = getattr(plain, "__name__", "value of this type")
        place = f"{where}: " if where else ""
        raise InputError(f"Not a valid {name}: {place}{describe_fault(first)}.") from error


def dump_event(event: Event) -> Json:
    """An event with its name, the class in snake case."""
    if isinstance(event, Failed):
        data = {"error": dump_error(event.error), "turn": dump(event.turn)}
    else:
        data = dump(event)
    return {"event": _name(type(event)), "data": data}


def load_event(data: Any) -> Event:
    """The inverse of `dump_event`; raises InputError for anything else."""
    if not isinstance(data, dict) or str(data.get("event")) not in _events():
        raise InputError(
            "This is not an event of Ragstone; are client and server the same version?"
        )
    kind, body = _events()[str(data["event"])], data.get("data")
    if kind is not Failed:
        return load(kind, body)
    if not isinstance(body, dict):
        raise InputError("This is not a Failed event: it has no data.")
    return Failed(load_error(body.get("error")), load(Turn, body.get("turn")))


def dump_error(error: RagstoneError) -> Json:
    """The parts of an error that a client may see."""
    return {"code": error.code, "message": error.message, "retry": error.retry}


def load_error(data: Any) -> RagstoneError:
    """An error of the class that has this code; the root class for an unknown code."""
    parts = data if isinstance(data, dict) else {}
    kind = _errors().get(str(parts.get("code")), RagstoneError)
    message = str(parts.get("message") or "The server reported an error without saying which.")
    # Not kind(message): several classes make their message from other arguments.
    return kind.__new__(kind, message)


def dump_filter(condition: Filter | None) -> Json | None:
    """A filter as one tagged object, since And and Or look the same without a tag."""
    match condition:
        case None:
            return None
        case And(parts):
            return {"and": [dump_filter(part) for part in parts]}
        case Or(parts):
            return {"or": [dump_filter(part) for part in parts]}
        case Not(part):
            return {"not": dump_filter(part)}
        case AnyOf(field, values):
            return {"any_of": [field, *values]}
        case Range(field, low, high):
            return {"range": [field, low, high]}


def load_filter(data: Any, depth: int = 0) -> Filter | None:
    """The inverse of `dump_filter`; raises ValueError for anything else."""
    if depth > MAX_FILTER_DEPTH:
        raise ValueError(f"the filter is nested deeper than {MAX_FILTER_DEPTH} times")
    match data:
        case None:
            return None
        case {"and": [*parts]}:
            return And(tuple(_part(part, depth) for part in parts))
        case {"or": [*parts]}:
            return Or(tuple(_part(part, depth) for part in parts))
        case {"not": part}:
            return Not(_part(part, depth))
        case {"any_of": [str(field), *values]} if _scalars(values):
            return AnyOf(field, tuple(values))
        case {"range": [str(field), low, high]} if _is_bounded(low) and _is_bounded(high):
            return Range(field, low, high)
    raise ValueError("this is not a filter")


def source(source: Source) -> Json:
    """A source as JSON answers show it."""
    return {**describe_source(source), "cited": source.cited, "metadata": dict(source.metadata)}


def format_answer(turn: Turn) -> Json:
    """What JSON answers show of an answer besides its text: its sources, and what is known of
    it."""
    answer = turn.answer or GeneratedAnswer()
    return {
        "sources": [source(item) for item in sources(turn)],
        "refused": answer.refused,
        "confidence": answer.confidence,
        "confidence_level": answer.confidence_level,
        **statements(turn),
        "context_sufficiency": asdict(answer.sufficiency) if answer.sufficiency else None,
        "is_grounded": answer.is_grounded,
        "groundedness_score": answer.groundedness_score,
        "verdicts": [verdict(item) for item in turn.verdicts],
        **({"computed": dump(answer.computed)} if answer.computed else {}),
    }


def statements(turn: Turn) -> Json:
    """The two statements about an answer: that the sources say it, and that it is what was asked;
    null where nobody looked. Where there are any, the markers whose source does not say what
    another one does, why nothing was checked, the note on how it came about, the notes for
    the reader, and who has verified it."""
    answer = turn.answer or GeneratedAnswer()
    said: Json = {"supported": _statement(answer.supported), "answers": _statement(answer.answers)}
    wrong = [marker for marker in answer.markers if marker.state == "elsewhere"]
    if wrong:
        said["wrong_citations"] = [
            {
                "number": item.number,
                "source": item.citation.number,
                "start": item.start,
                "end": item.end,
            }
            for item in wrong
        ]
    if answer.check_failure:
        said["check_failure"] = answer.check_failure
    if answer.note:
        said["note"] = answer.note
    if turn.notes:
        said["notes"] = list(turn.notes)
    if answer.verified:
        said["verified"] = asdict(answer.verified)
    return said


def _statement(statement: Statement | None) -> Json | None:
    return {**asdict(statement), "level": statement.level} if statement else None


def room(room: Room) -> Json:
    """A conversation in a list, with its times in ISO 8601."""
    times = {"created_at": iso(room.created_at), "updated_at": iso(room.updated_at)}
    return {**dump(room), **times}


def entry(entry: StoredTurn) -> Json:
    """A stored turn: its block, and the notes beside it."""
    return {"at": iso(entry.at), "block": dump_turn(entry.block), "notes": dump(entry.notes)}


def agent_step(step: AgentStep) -> Json:
    """A call of a tool, as streams show it; its `id` is what an approval names."""
    return asdict(step)


def usage(used: Usage) -> Json | None:
    """Tokens as JSON answers count them; None where they are not known."""
    if not used.counted:
        return None
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
    }


def verdict(verdict: Verdict) -> Json:
    """The verdict on one sentence, as in JSON answers."""
    cited = verdict.citation
    return {
        "sentence": verdict.sentence,
        "start": verdict.start,
        "end": verdict.end,
        "label": verdict.label,
        "confidence": verdict.confidence,
        "reason": verdict.reason,
        "source": cited.number if cited else None,
        "source_start": cited.start if cited else None,
        "source_end": cited.end if cited else None,
        "source_text": cited.snippet if cited else None,
    }


def _part(data: Any, depth: int) -> Filter:
    part = load_filter(data, depth + 1)
    if part is None:
        raise ValueError("this is not a filter")
    return part


def _scalars(values: list[Any]) -> bool:
    return all(isinstance(value, filters.Scalar) for value in values)


def _is_bounded(value: Any) -> bool:
    return value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))


def _dump_vectors(vectors: Any) -> Json:
    # The bytes mean the same to a machine of the other byte order.
    little = np.asarray(vectors, dtype="<f4")
    return {"shape": list(little.shape), "float32": base64.b64encode(little.tobytes()).decode()}


def _load_vectors(data: Any) -> NDArray[np.float32]:
    match data:
        case {"shape": [int(count), int(dimensions)], "float32": str(packed)}:
            flat = np.frombuffer(base64.b64decode(packed, validate=True), dtype="<f4")
            return flat.reshape(count, dimensions).astype(np.float32)
    raise ValueError("these are no vectors")


_WireFilter = Annotated[
    Any, PlainValidator(lambda data: load_filter(data)), PlainSerializer(dump_filter)
]
_WireEvent = Annotated[Any, PlainValidator(load_event), PlainSerializer(dump_event)]
_WireVectors = Annotated[Any, PlainValidator(_load_vectors), PlainSerializer(_dump_vectors)]

_Inner = Annotated[Any, PlainValidator(lambda data: None), PlainSerializer(lambda value: None)]
"""What stays inside the process that answers: vectors and the collection's record."""


NAMES: Mapping[str, Any] = {"Filter": _WireFilter, "Collection": _Inner, "EncodedQuestion": _Inner}
"""What turn.py names only for the type checker; this gives the names a meaning here."""


@functools.cache
def _adapter(kind: Any, exact: bool = False) -> TypeAdapter[Any]:
    # In a tuple, since a dataclass by itself takes no configuration from outside.
    config = ConfigDict(extra="forbid" if exact else "ignore")
    wanted: Any = tuple[_wire_type(kind)]  # type: ignore[misc]
    adapter: TypeAdapter[Any] = TypeAdapter(wanted, config=config)
    adapter.rebuild(_types_namespace=NAMES)
    return adapter


def _wire_type(kind: Any) -> Any:
    """The type with events and vectors, unknown to pydantic, in their wire form."""
    if kind == Event:
        return _WireEvent
    if kind == NDArray[np.float32]:
        return _WireVectors
    if get_origin(kind) is tuple:
        return tuple[tuple(_wire_type(part) for part in get_args(kind))]  # type: ignore[misc]
    return kind


@functools.cache
def _events() -> Mapping[str, type[Event]]:
    return {_name(kind): kind for kind in get_args(Event)}


def _name(kind: type) -> str:
    name = kind.__name__
    return name[0].lower() + "".join(f"_{c.lower()}" if c.isupper() else c for c in name[1:])


@functools.cache
def _errors() -> Mapping[str, type[RagstoneError]]:
    found: dict[str, type[RagstoneError]] = {}
    queue: list[type[RagstoneError]] = [RagstoneError]
    while queue:
        kind = queue.pop(0)
        found.setdefault(kind.code, kind)
        queue.extend(kind.__subclasses__())
    return found
