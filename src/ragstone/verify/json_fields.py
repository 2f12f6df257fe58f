"""The fields of an answer in JSON, each as a statement that sources can support.

A string or number is checked as its keys with the value: `{"contract": {"end_date": "2026"}}`
claims "contract end date is 2026". Keys do not tell which of several objects in an array is meant,
so a field of one is checked with the first other value of it: "flour: amount 200 g", and "200 g:
name flour". `python -m benchmarks json_fields` measures that; with the question before them, fewer
right fields were supported. `true`, `false` and `null` are not checked: in no form did the reader
tell right ones from wrong ones. Neither are values that the schema names, which are the client's
own words.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from unicodedata import category

from ragstone.core.answer import GeneratedAnswer, Verdict
from ragstone.core.errors import CheckUnavailable
from ragstone.core.turn import JsonFormat
from ragstone.verify.claims import Sentence

MAX_FIELDS = 300
"""Fields of an answer that are checked: more take longer than the check may."""

MAX_KEYS = 3
"""Keys that are read with a value: its own, and those of the objects that it is in."""

MAX_NAMES = 2
"""Values of an object in an array that may tell which it is: the first, and for that the second."""

MAX_KEY_CHARS = 100
"""Characters of a key that are shown and read."""

_TOKEN = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"|[\[\]{},]|[^\s"\[\]{},:]++'
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD_BREAK = re.compile(r"[_\-\s]+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class JsonField:
    """A string or number in a JSON text, whose literal stands at `start` to `end`."""

    path: str
    """Such as "items[0].name"."""
    keys: tuple[str, ...]
    """The last of the names in the path."""
    value: str
    start: int
    end: int

    @property
    def parent(self) -> str:
        """The path of the object or array that it is in: "items[0]"."""
        return self.path[: max(self.path.rfind("."), self.path.rfind("["), 0)]


@dataclass(slots=True)
class _Container:
    """An open array, or an open object, whose `key` is None until it is read."""

    index: int | None
    key: str | None = None


def find_fields(text: str) -> Iterator[JsonField]:
    """Find the strings and numbers of a JSON text in order; of a key that comes twice, both.

    Never raises: of a text that is not JSON it finds what looks like them.
    """
    containers: list[_Container] = []
    for token in _TOKEN.finditer(text):
        sign, container = token[0], containers[-1] if containers else _Container(0)
        if sign in ("[", "{"):
            containers.append(_Container(0 if sign == "[" else None))
        elif sign in ("]", "}"):
            del containers[-1:]
        elif sign == ",":
            container.key = None
            if container.index is not None:
                container.index += 1
        elif container.index is None and container.key is None:
            if sign[0] == '"':
                container.key = json.loads(sign)[:MAX_KEY_CHARS]
        elif sign[0] == '"':
            yield _field(containers, json.loads(sign), token)
        elif _NUMBER.fullmatch(sign):
            yield _field(containers, sign, token)


def _field(containers: Sequence[_Container], value: str, token: re.Match[str]) -> JsonField:
    steps = (
        f".{container.key}" if container.index is None else f"[{container.index}]"
        for container in containers
    )
    keys = [container.key for container in containers if container.key]
    path = "".join(steps).removeprefix(".")
    return JsonField(path, tuple(keys[-MAX_KEYS:]), value, token.start(), token.end())


def answer_fields(answer: GeneratedAnswer) -> list[JsonField]:
    """Find the first fields of an answer, one more than MAX_FIELDS at most. Those that name the
    sources which it used are left out."""
    found = (
        field
        for field in find_fields(answer.text)
        if not (answer.used and field.path.startswith("sources["))
    )
    return list(islice(found, MAX_FIELDS + 1))


def json_sentences(answer: GeneratedAnswer, wanted: JsonFormat | None) -> list[Sentence]:
    """Return the fields of an answer as sentences of it. Raises CheckUnavailable if there are more
    than MAX_FIELDS."""
    fields = answer_fields(answer)
    if len(fields) > MAX_FIELDS:
        raise CheckUnavailable(
            f"The answer has more than {MAX_FIELDS} fields, which are too many to check."
        )
    named = _schema_values(wanted.schema if wanted else None)
    return [
        Sentence(
            field.start,
            field.end,
            _clean(field.value),
            answer.used,
            bool(field.value.strip()) and field.value not in named,
            statement,
        )
        for field, statement in zip(fields, state_fields(fields), strict=True)
    ]


def state_fields(fields: Sequence[JsonField]) -> list[str]:
    """Return what each field claims, as a statement that a reader knows."""
    # The first two values of each object: a field is told by the first, and that by the second.
    first: dict[str, list[JsonField]] = {}
    for field in fields:
        known = first.setdefault(field.parent, [])
        if len(known) < MAX_NAMES:
            known.append(field)
    return [
        _clean(_state(field, [item for item in first[field.parent] if item != field]))
        for field in fields
    ]


def _state(field: JsonField, others: Sequence[JsonField]) -> str:
    words = [_WORD_BREAK.sub(" ", key) for key in field.keys]
    if words and others and field.parent.endswith("]") and field.path[-1] != "]":
        return f"{others[0].value}: {words[-1]} {field.value}"
    return f"{' '.join(words)} is {field.value}." if words else field.value


def read_values(answer: GeneratedAnswer) -> str:
    """Return the values of an answer's fields, for whoever judges what it answers."""
    return ", ".join(_clean(field.value) for field in answer_fields(answer)) or answer.text


def name_fields(answer: GeneratedAnswer, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts on fields with their paths: "items[0].name = Lisbon"."""
    paths = {field.start: field.path for field in answer_fields(answer)}
    return tuple(
        replace(verdict, sentence=f"{_clean(paths[verdict.start])} = {verdict.sentence}")
        for verdict in verdicts
    )


def _schema_values(schema: Mapping[str, Any] | None) -> frozenset[str]:
    """Return the values that a schema offers in `enum` and `const`."""
    named, waiting = set[str](), list[Any]([schema])
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            offered = part.get("enum")
            offered = [*(offered if isinstance(offered, list) else ()), part.get("const")]
            named.update(value for value in offered if isinstance(value, str))
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(named)


def _clean(text: str) -> str:
    """Return a decoded text without what no reader and no database takes: controls and halves of
    characters."""
    return "".join(" " if category(char) in ("Cc", "Cs") else char for char in text)
