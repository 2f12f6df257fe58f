"""What the model is told for this question."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ragstone.answer.build_prompt import BuildPrompt
from ragstone.core.answer import Instructions
from ragstone.core.errors import InputError
from ragstone.core.intent import Intent
from ragstone.core.turn import Ask, Turn
from ragstone.language.templates import shipped
from ragstone.ports import Profile
from ragstone.store.sql.database import open_database
from ragstone.store.sql.templates import SqlTemplates
from tests.engine.adapters import ran


async def instructed(question: str, **changes: Any) -> Instructions:
    stage = BuildPrompt(**changes.pop("stage", {}))
    parts = {name: changes.pop(name) for name in ("profile", "templates") if name in changes}
    turn = Turn(Ask(question, mode=changes.pop("mode", None)), question=question, **changes)
    step, _ = await ran(stage, turn, **parts)
    return step.turn.instructions


def line(name: str) -> str:
    return (shipped(name) or "").strip()


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
        assert [(one.version, one.text) for one in versions] == [
            (3, ""),
            (2, "- Second."),
            (1, "- First."),
        ]


async def test_given_sources_that_stand_last_then_rules_are_the_same_for_every_form() -> None:
    plain = await instructed("When does it open?", stage={"layout": "last"})
    steps = await instructed(
        "When does it open?", stage={"layout": "last", "reasons": True}, intent=Intent("comparison")
    )
    assert plain.text == steps.text
    assert plain.form == line("form.direct")
    assert line("form.comparison") in steps.form
    assert line("reasoning") in steps.form
    assert line("form.direct") not in plain.text
    usual = await instructed("When does it open?")
    assert (usual.form, line("form.direct") in usual.text) == ("", True)
