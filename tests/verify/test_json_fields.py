"""Answers in JSON: their fields, what each claims, and what becomes of the answer."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragstone.answer.first_cited import by_first_citation, cited_numbers
from ragstone.answer.structured import Structured
from ragstone.core.answer import GeneratedAnswer, Instructions
from ragstone.core.errors import CheckUnavailable, ModelUnavailable
from ragstone.core.events import Token
from ragstone.core.turn import Ask, JsonFormat, Turn
from ragstone.ports import Said
from ragstone.verify.check import Check, CheckHeld
from ragstone.verify.cite import Cite
from ragstone.verify.json_fields import MAX_FIELDS, find_fields, json_sentences, state_fields
from ragstone.verify.score import Score
from tests.engine.adapters import ran
from tests.engine.samples import a_passage
from tests.local_checker import local_checker

RHINE = "The bridge over the Rhine was built in 1890. It is 320 metres long."
HOURS = "Opening hours. The museum opens at nine and closes at five."
REFUSAL = "The documents hold no answer."
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def make_turn(text: str, schema: dict[str, Any] | None = None, **changes: Any) -> Turn:
    passages = (a_passage(1, RHINE), a_passage(2, HOURS, document_id="d2"))
    return Turn(
        Ask("q", json=JsonFormat("answer", schema)),
        "q",
        passages=passages,
        instructions=Instructions("Answer.", REFUSAL),
        answer=GeneratedAnswer(text, is_json=True, **changes),
    )


class Writes:
    """A chat model that writes one text after the other."""

    name = "model"

    def __init__(self, *texts: str, finish: Any = "stop") -> None:
        self.texts, self.finish = list(texts), finish

    async def answer(self, ask: Any, passages: Any, instructions: Any) -> Any:
        yield Said(self.texts.pop(0), finish=self.finish)

    async def ready(self) -> str | None:
        return None

    async def aclose(self) -> None:
        pass


async def write(*texts: str, schema: Any = None, **changes: Any) -> GeneratedAnswer:
    turn = replace(make_turn("", schema), answer=None)
    step, _ = await ran(Structured(), turn, chat=Writes(*texts, **changes))
    assert step.turn.answer is not None
    return step.turn.answer


def leaves(value: Any) -> list[Any]:
    """The strings and numbers of a value, in order."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for item in inner for leaf in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [value]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ('{"city": "Lisbon"}', [("city", "Lisbon")]),
        ('{"of": [{"name": "a"}, {"name": 2.5}]}', [("of[0].name", "a"), ("of[1].name", "2.5")]),
        ('["a", ["b"]]', [("[0]", "a"), ("[1][0]", "b")]),
        ('{"a": "x", "a": "y"}', [("a", "x"), ("a", "y")]),
        (r'{"caf\u00e9": "\ud83d\ude00\n"}', [("café", "😀\n")]),
        ('{"a": {}, "b": [], "c": null, "d": true}', []),
        ('"alone"', [("", "alone")]),
        ("{}", []),
    ],
    ids=["flat", "nested", "array", "duplicate-keys", "escapes", "no-values", "scalar", "empty"],
)  # fmt: skip
def test_fields_have_the_paths_that_programs_write(
    text: str, fields: list[tuple[str, str]]
) -> None:
    assert [(field.path, field.value) for field in find_fields(text)] == fields


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
@example({"a": '"\\', "b": ["\ud800", "\x00", -1e-7]}, True, None)
def test_every_span_is_the_literal_of_its_value(value: Any, ascii: bool, indent: Any) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)

    fields = [(field.value, text[field.start : field.end]) for field in find_fields(text)]

    assert [json.loads(literal) for _, literal in fields] == leaves(value)
    for found, literal in fields:
        assert found == (json.loads(literal) if literal[0] == '"' else literal)


@given(st.text() | st.text('{}[]",:\\u0d8 -1e.tn\n'))
def test_what_is_no_json_is_read_without_an_error(text: str) -> None:
    for field in find_fields(text):
        json.loads(text[field.start : field.end])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": ' * 10_000 + '"x"' + "}" * 10_000, ["x"]),
        ("[" * 10_000, []),
        ('{"a": "' + "x" * 10_000_000 + '"}', ["x" * 10_000_000]),
        ('"\\x' * 100_000, []),
    ],
    ids=["deep", "unclosed", "10-mb", "broken-escapes"],
)
def test_large_and_deep_texts_are_read(text: str, values: list[str]) -> None:
    assert [field.value for field in find_fields(text)] == values


def test_a_field_claims_its_value_under_its_keys() -> None:
    text = '{"contract": {"endDate": "2026"}, "net_price": [5], "half": "\\ud800\\u0000x"}'

    said = state_fields(list(find_fields(text)))

    assert said == ["contract end Date is 2026.", "net price is 5.", "half is   x."]


def test_a_field_of_an_object_in_an_array_is_told_by_its_first_other_value() -> None:
    text = '{"of": [{"name": "flour", "amount_g": 200, "kind": "rye"}, {"name": "salt"}, ["a"]]}'

    said = state_fields(list(find_fields(text)))

    assert said == [
        "200: name flour",
        "flour: amount g 200",
        "flour: kind rye",
        "of name is salt.",
        "of is a.",
    ]


async def test_values_of_two_objects_that_are_exchanged_are_found() -> None:
    text = '{"ships": [{"name": "Alma", "crew": 12}, {"name": "Bora", "crew": 340}]}'
    passage = a_passage(1, "The Alma has a crew of 12, the Bora one of 340.")
    right = replace(make_turn(text), passages=(passage,))
    wrong = replace(make_turn(text.replace("12", "1").replace("340", "12")), passages=(passage,))

    likely = []
    for turn in (right, wrong):
        step, _ = await ran(Check(), turn, checker=local_checker())
        assert step.turn.answer is not None
        assert step.turn.answer.supported is not None
        likely.append(step.turn.answer.supported.confidence)

    assert likely[0] > likely[1]


def test_values_of_the_schema_and_empty_ones_claim_nothing() -> None:
    schema = {"properties": {"kind": {"enum": ["bridge", "road", 3]}, "v": {"const": "v1"}}}
    answer = GeneratedAnswer('{"kind": "bridge", "v": "v1", "note": " ", "name": "Rhine"}')

    said = json_sentences(answer, JsonFormat("answer", schema))

    assert [item.text for item in said if item.claims] == ["Rhine"]


async def test_each_field_gets_a_verdict_at_its_place() -> None:
    text = '{"bridge": {"length": "320 metres", "built": 1890, "long": true}, "river": "Elbe"}'

    step, _ = await ran(Check(), make_turn(text), checker=local_checker())

    assert step.turn.answer is not None
    assert step.turn.answer.text == text
    shown = [
        (verdict.sentence, text[verdict.start : verdict.end]) for verdict in step.turn.verdicts
    ]
    assert shown == [
        ("bridge.length = 320 metres", '"320 metres"'),
        ("bridge.built = 1890", "1890"),
        ("river = Elbe", '"Elbe"'),
    ]
    labels = [verdict.label for verdict in step.turn.verdicts]
    assert labels[:2] == ["supported", "supported"]
    assert labels[2] in ("unsupported", "contradicted")
    assert [citation.number for citation in step.turn.answer.citations] == [1]


async def test_numbers_in_brackets_are_no_citations() -> None:
    text = '{"bridge length": "320 metres", "sizes": [2, [1]], "note": "see [2]"}'

    step, _ = await ran(Cite(), make_turn(text))
    turn = by_first_citation(step.turn)

    assert turn.answer is not None
    assert (turn.answer.text, turn.answer.markers) == (text, ())
    assert cited_numbers(turn) == frozenset()


async def test_sources_that_the_model_names_are_cited_and_claim_nothing() -> None:
    text = '{"bridge length": "320 metres", "sources": [1]}'

    step, _ = await ran(Cite(), make_turn(text, used=(1,)))
    step, _ = await ran(Check(), step.turn, checker=local_checker())

    assert step.turn.answer is not None
    assert [citation.number for citation in step.turn.answer.citations] == [1]
    assert [verdict.sentence for verdict in step.turn.verdicts] == ["bridge length = 320 metres"]


class Likely:
    """A judge of answers that keeps what it was asked."""

    asked = ""

    async def answers(self, ask: Ask, said: str, passages: Any) -> float:
        self.asked = said
        return 0.9

    async def kinds(self, question: str, sentences: Any, *given: Any) -> list[None]:
        return [None for _ in sentences]


async def test_the_confidence_is_that_of_the_fields_and_of_what_they_answer() -> None:
    judge = Likely()
    turn = make_turn('{"bridge": {"length": "320 metres", "built": 1890}}')

    step, _ = await ran(Check(), turn, checker=local_checker())
    step, _ = await ran(Score(), step.turn, checker=local_checker(), judge=judge)

    assert judge.asked == "320 metres, 1890"
    answer = step.turn.answer
    assert answer is not None
    assert answer.supported is not None
    assert answer.confidence == pytest.approx(0.9 * answer.supported.confidence, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('{"bridge": {"length": "320 metres"}}', True),
        ('{"bridge": {"length": "320 metres", "painter": "Bananas of Ecuador"}}', False),
    ],
    ids=["supported", "one-field-is-not"],
)
async def test_a_strict_answer_in_json_is_given_whole_or_refused(text: str, sent: bool) -> None:
    turn = make_turn(text, held=True)

    step, events = await ran(CheckHeld(strict=True), turn, checker=local_checker())

    assert step.turn.answer is not None
    assert events[-1] == Token(text if sent else REFUSAL)
    assert step.turn.answer.refused is not sent
    assert "Bananas" not in str(step.turn.verdicts)


async def test_more_fields_than_can_be_checked_are_said_to_be_too_many() -> None:
    turn = make_turn(json.dumps(list(range(MAX_FIELDS + 1))))

    with pytest.raises(CheckUnavailable, match="too many"):
        await ran(CheckHeld(), turn, checker=local_checker())


@pytest.mark.parametrize(
    "text",
    [
        '{ "a": 1.50,\n "b": "caf\\u00e9 \\ud800" }',
        '{"a": 1, "a": 2}',
        '{"a": "é", "sources": [2, 1]}',
        "{}",
    ],
    ids=["layout-and-escapes", "duplicate-keys", "sources", "empty"],
)
async def test_json_leaves_as_the_model_wrote_it(text: str) -> None:
    assert (await write(f"Here:\n```json\n{text}\n```")).text == text


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": 1e999}', "{'a': 1}", '{"a": ' * 10_000 + "1" + "}" * 10_000, "no"],
    ids=["nan", "infinite", "single-quotes", "deep", "prose"],
)
async def test_what_is_no_json_is_tried_once_more(text: str) -> None:
    assert (await write(text, '{"a": 1}')).text == '{"a": 1}'
    with pytest.raises(ModelUnavailable):
        await write(text, text)


async def test_a_refusal_in_place_of_json_has_no_markers() -> None:
    answer = await write(f"{REFUSAL[:-1]} [1].", finish="refused")

    assert (answer.text, answer.is_json) == (REFUSAL, False)
