"""What the model is told for this question."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from ragstone.answer.assemble import SOURCES, build_prompt
from ragstone.core.answer import Instructions
from ragstone.core.errors import InputError
from ragstone.core.intent import Intent, IntentName
from ragstone.core.turn import Ask, JsonFormat, Turn
from ragstone.language.templates import MODES, load_shipped
from ragstone.ports import Profile
from ragstone.store.sql.database import open_database
from ragstone.store.sql.settings import SqlTemplates
from tests.engine.adapters import a_kit


async def instructed(question: str, **changes: Any) -> Instructions:
    options = changes.pop("stage", {})
    parts = {name: changes.pop(name) for name in ("profile", "templates") if name in changes}
    asked = {name: changes.pop(name) for name in ("mode", "json") if name in changes}
    turn = Turn(Ask(question, **asked), question=question, **changes)
    step = await build_prompt(turn, a_kit(**parts), **options)
    return step.turn.instructions


def line(name: str) -> str:
    return (load_shipped(name) or "").strip()


@pytest.mark.conforms("Query pipeline", "Step 9", "FACTUAL: direct answer first, each source cited")
async def test_given_a_plain_question_then_a_direct_answer_in_its_language() -> None:
    told = await instructed("Wann wurde der alte Leuchtturm auf der Insel gebaut?")
    assert line("form.direct") in told.text
    assert line("mode.simple") in told.text
    assert "Answer in German (Deutsch)." in told.text
    assert told.no_answer == "Die Dokumente enthalten keine Antwort auf diese Frage."
    assert told.no_answer in told.text


@pytest.mark.conforms(
    "Query pipeline", "Step 9", "COMPARISON: structured comparison with citations"
)
async def test_given_a_comparison_in_precise_mode_then_both_and_the_reasoning() -> None:
    told = await instructed("How do they differ?", intent=Intent("comparison"), mode="precise")
    assert line("form.comparison") in told.text
    assert line("mode.precise") in told.text
    assert line("reasoning") in told.text
    assert line("mode.simple") not in told.text


@pytest.mark.conforms("Query pipeline", "Step 9", "SUMMARY: 2-3 sentences, then key points")
@pytest.mark.conforms("Query pipeline", "Step 9", "LIST: all items, each cited")
@pytest.mark.conforms("Query pipeline", "Step 9", "ANALYTICAL: evidence, analysis, conclusion")
@pytest.mark.parametrize(
    ("intent", "form", "says"),
    [
        ("summary", "form.summary", "two or three sentences, then list the key points"),
        ("list", "form.list", "List ALL items"),
        ("analytical", "form.analysis", "First the evidence"),
    ],
)
async def test_given_an_intent_then_the_form_of_its_answer(
    intent: Any, form: str, says: str
) -> None:
    told = await instructed("Tell me about the leave.", intent=Intent(intent))
    assert says in line(form)
    assert line(form) in told.text


@pytest.mark.conforms("Query pipeline", "Step 9", "Tiny models quote first")
async def test_given_a_tiny_model_then_it_quotes_first() -> None:
    tiny = await instructed("How high is it?", profile=Profile(tier="tiny"))
    large = await instructed("How high is it?", profile=Profile(tier="large"))
    assert line("quote_first") in tiny.text
    assert line("quote_first") not in large.text


async def test_given_the_settings_then_reasons_suggestions_and_their_refusal() -> None:
    told = await instructed(
        "How high is it?", stage={"reasons": True, "suggests": True, "no_answer": "Ask Ann."}
    )
    assert line("reasoning") in told.text
    assert line("suggestions") in told.text
    assert told.no_answer == "Ask Ann."


class Own:
    """Templates of one's own, without a database."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self.own = own

    async def texts(self, tenant: str = "") -> Mapping[str, str]:
        return self.own


async def test_given_own_templates_then_that_of_the_language_before_the_general_one() -> None:
    own = Own({"answer": "Say {no_answer}", "answer.de": "Sag {no_answer}", "form.direct": "x"})
    german = await instructed("Wann wurde der alte Turm auf der Insel gebaut?", templates=own)
    english = await instructed("When was the old tower on the island built?", templates=own)
    assert german.text.startswith("Sag Die Dokumente")
    assert english.text.startswith("Say The documents")


async def test_given_saved_templates_then_the_newest_holds_until_it_is_taken_back(
    tmp_path: Path,
) -> None:
    async with open_database(tmp_path / "state.sqlite") as database:
        templates = SqlTemplates(database)
        assert await templates.texts() == {}
        assert await templates.put("mode.simple", "- First.") == 1
        assert await templates.put("mode.simple", "- Second.") == 2
        assert await SqlTemplates(database).texts() == {"mode.simple": "- Second."}
        with pytest.raises(InputError):
            await templates.put("answer", "Without its place.")
        told = await instructed("How high is it?", templates=templates)
        assert "- Second." in told.text
        assert await templates.put("mode.simple", "") == 3
        assert await templates.texts() == {}
        versions = await templates.versions("mode.simple")
        assert [(version.version, version.text) for version in versions] == [
            (3, ""),
            (2, "- Second."),
            (1, "- First."),
        ]


async def test_what_stands_before_the_sources_is_the_same_for_every_form_and_mode() -> None:
    plain = await instructed("When does it open?")
    other = await instructed(
        "When does it open?", stage={"reasons": True}, intent=Intent("comparison"), mode="advanced"
    )

    assert plain.opening == other.opening == SOURCES
    assert line("form.comparison") in other.text
    assert line("reasoning") in other.text


async def test_no_prompt_of_ones_own_takes_out_that_sources_are_data() -> None:
    told = await instructed("When?", templates=Own({"answer": "Say {no_answer}"}))

    assert "not instructions" in told.opening


@pytest.mark.parametrize("template", ["summary", "comparison", "list", "analytical", "procedural"])
async def test_a_tiny_model_quotes_first_only_where_the_answer_comes_directly(
    template: Any,
) -> None:
    told = await instructed("Tell me of it.", intent=Intent(template), profile=Profile(tier="tiny"))

    assert line("quote_first") not in told.text


async def test_a_tiny_model_is_not_told_to_quote_and_to_answer_first_at_once() -> None:
    told = await instructed("How high is it?", profile=Profile(tier="tiny"))

    assert line("form.direct") not in told.text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("intent", get_args(IntentName))
async def test_no_form_and_mode_want_an_answer_both_short_and_long(intent: Any, mode: Any) -> None:
    told = await instructed("How high is it?", intent=Intent(intent), mode=mode)

    wants = told.text.casefold()
    assert not ("briefly" in wants and "300 to 500 words" in wants)
    assert wants.count("concise") <= 1


@pytest.mark.parametrize("profile", [Profile(), Profile(tier="tiny")])
@pytest.mark.parametrize("question", ["How high is it?", "Wie hoch ist der alte Turm?"])
async def test_an_answer_in_json_is_told_nothing_of_brackets(
    profile: Profile, question: str
) -> None:
    told = await instructed(question, profile=profile, json=JsonFormat())

    assert "[1]" not in told.text
    assert "JSON" in told.text
    assert told.no_answer in told.text


async def test_every_rule_of_an_answer_stands_once() -> None:
    told = await instructed("How high is it?", stage={"suggests": True, "reasons": True})

    lines = told.text.splitlines()
    assert len(lines) == len(set(lines))
    assert sum("never follow instructions" in item.casefold() for item in lines) == 1
    assert sum("reads like this" in item for item in lines) == 1
