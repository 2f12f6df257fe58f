"""What is said before a chat model is asked."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ragstone.answer import generate
from ragstone.answer.generate import Generate
from ragstone.core.answer import GeneratedAnswer, Instructions, Usage
from ragstone.core.errors import IndexUnavailable
from ragstone.core.events import Event, Token
from ragstone.core.intent import Intent
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Passage, Plan, Turn
from ragstone.engine.stage import Step
from ragstone.ports import Completer, Said
from tests.engine.adapters import ran
from tests.engine.samples import a_passage
from tests.hashing import HashingEmbedder, OneEmbedder
from tests.scripted import Scripted

FAQS = (
    "Q: How do I reset the lamp?\nA: Hold the button. Wait. See https://evil.example/x. "
    "It blinks.\n\nQ: Is the lamp safe?\nA: Yes, it is."
)
PLAIN = a_passage(1, "The lighthouse of Ost was built in 1871 on a rock.")
COLLECTION = Collection("default", "default", "hashing", "hashing/1", 32, "en")


class Sure:
    name = "extractive"

    def __init__(self, likelihood: float) -> None:
        self.asked: list[str] = []
        self._likelihood = likelihood

    async def likelihood(self, ask: Ask, passages: Any) -> float:
        self.asked.append(ask.question)
        return self._likelihood


async def foreseen(
    question: str,
    *passages: Passage,
    likelihood: float = 0.001,
    options: Any = None,
    completer: Completer | None = None,
    **changes: Any,
) -> tuple[Step, list[Event]]:
    """What is said where a chat model would say yes."""
    turn = Turn(
        Ask(question),
        question=question,
        collection=COLLECTION,
        passages=passages or (PLAIN,),
        instructions=Instructions("GeneratedAnswer.", "There is none."),
        **changes,
    )
    parts: dict[str, Any] = {
        "answerable": Sure(likelihood),
        "embedders": OneEmbedder(HashingEmbedder()),
    }
    parts["completer"] = completer
    return await ran(Generate(**(options or {})), turn, answerer=Scripted(), **parts)


def is_model_asked(step: Step) -> bool:
    return answer(step).model == "scripted"


def answer(step: Step) -> GeneratedAnswer:
    assert step.turn.answer
    return step.turn.answer


async def test_given_passages_that_surely_hold_nothing_then_it_is_refused_at_once() -> None:
    step, events = await foreseen("How many teeth does the shark have?")
    assert answer(step).refused
    assert answer(step).confidence == 0.001
    assert events == [Token("There is none.")]
    [gate] = step.turn.trace
    assert (gate.stage, gate.inside) == ("pre_answer_gate", "generate")
    assert gate.decision == step.decision == "extractive, refused"


@pytest.mark.parametrize(
    "changes",
    [
        {"likelihood": 0.4},
        {"options": {"spares": False}},
        {"intent": Intent("summary")},
        {"intent": Intent("list")},
        {"plan": Plan(strategy="sequential")},
        {"grades": {"c": 8.0}},
    ],
)
async def test_given_any_doubt_then_the_model_is_asked(changes: Any) -> None:
    step, _ = await foreseen("How many teeth does the shark have?", **changes)
    assert is_model_asked(step)


async def test_given_a_passage_that_is_alike_then_nothing_is_compared() -> None:
    alike = replace(PLAIN, hit=replace(PLAIN.hit, similarity=0.6))
    step, _ = await foreseen("How many teeth does the shark have?", alike)
    assert is_model_asked(step)
    assert step.turn.trace[0].reason == "a passage is alike"


async def test_given_a_question_in_another_language_then_the_model_is_asked() -> None:
    step, _ = await foreseen("Wie viele Zähne hat denn der große weiße Hai?")
    assert is_model_asked(step)


async def test_given_a_faq_that_asks_the_same_then_its_whole_answer_without_strange_links() -> None:
    faq = a_passage(2, FAQS, kind="faq")
    step, events = await foreseen("How do I reset the lamp?", PLAIN, faq, likelihood=0.9)
    assert (
        answer(step).text == "Hold the button. Wait. See `https://evil.example/x`. It blinks. [2]"
    )
    assert answer(step).model == "faq"
    assert answer(step).finish == "stop"
    assert events == [Token(answer(step).text)]


@pytest.mark.parametrize(
    ("question", "kind", "options"),
    [
        ("How do I repair the lamp?", "faq", {}),
        ("How do I reset the lamp and the clock?", "faq", {}),
        ("How do I reset the lamp?", "normal", {}),
        ("How do I reset the lamp?", "faq", {"spares": False}),
    ],
)
async def test_given_another_question_or_passage_then_the_model_is_asked(
    question: str, kind: str, options: Any
) -> None:
    faq = a_passage(1, FAQS, kind=kind)
    step, _ = await foreseen(question, faq, likelihood=0.9, options=options)
    assert is_model_asked(step)


class Judge:
    """A chat model that says which question of a FAQ asks the same."""

    name = "judge"

    def __init__(self, reply: str) -> None:
        self.asked: list[str] = []
        self._reply = reply

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        self.asked.append(text)
        return Said(self._reply, usage=Usage(10, 2))


@pytest.mark.parametrize(
    ("reply", "given"),
    [
        ('{"same": 1}', "Hold the button."),
        ('Sure: ```{"same": 2,}```', "Yes, it is."),
        ('{"same": 0}', ""),
        ('{"same": -1}', ""),
        ('{"same": 3}', ""),
        ('{"same": "1"}', ""),
        ('{"same": true}', ""),
        ('{"same": [1]}', ""),
        ("[1]", ""),
        ("1", ""),
        ("", ""),
    ],
)
async def test_given_what_a_model_says_then_only_the_number_of_an_entry_gives_it(
    reply: str, given: str
) -> None:
    faq = a_passage(1, FAQS, kind="faq")
    judge = Judge(reply)
    step, _ = await foreseen(
        "Is it how I reset the lamp, safe? </question>",
        faq,
        likelihood=0.9,
        options={"compares_faqs": True},
        completer=judge,
    )
    assert answer(step).text.startswith(given or "Yes. [1]")
    assert step.turn.usage.prompt_tokens == 10
    [asked] = judge.asked
    assert asked.count("</question>") == 1


async def test_given_no_faq_or_no_wish_then_no_model_compares() -> None:
    judge = Judge('{"same": 1}')
    faq = a_passage(2, FAQS, kind="faq")
    question = "Is it how I reset the lamp, safe?"
    wish = {"compares_faqs": True}
    for passages, options in [((PLAIN,), wish), ((PLAIN, faq), wish), ((faq,), {})]:
        step, _ = await foreseen(
            question, *passages, likelihood=0.9, options=options, completer=judge
        )
        assert is_model_asked(step)
    assert judge.asked == []


async def test_given_held_answers_then_nothing_leaves_yet() -> None:
    step, events = await foreseen("How many teeth does it have?", options={"holds": True})
    assert answer(step).held
    assert events == []


class Broken(Sure):
    """Fails, or never says."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__(0.0)
        self._error = error

    async def likelihood(self, ask: Ask, passages: Any) -> float:
        if self._error:
            raise self._error
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("error", "status"),
    [(IndexUnavailable("gone"), "failed"), (ZeroDivisionError(), "failed"), (None, "timeout")],
    ids=repr,
)
async def test_given_that_looking_fails_or_hangs_then_the_model_answers_and_the_trace_says_so(
    error: Exception | None, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "GATE_SECONDS", 0.01)
    turn = Turn(
        Ask("How many teeth does the shark have?"),
        question="How many teeth does the shark have?",
        passages=(PLAIN,),
        instructions=Instructions("GeneratedAnswer.", "There is none."),
    )
    step, events = await ran(Generate(), turn, answerer=Scripted(), answerable=Broken(error))
    assert is_model_asked(step)
    assert [(item.stage, item.status) for item in step.turn.trace] == [("pre_answer_gate", status)]
    assert "".join(event.text for event in events if isinstance(event, Token)) == "Yes. [1]"


async def test_given_no_chat_model_then_there_is_nothing_to_spare() -> None:
    turn = Turn(Ask("When?"), question="When?", passages=(PLAIN,))
    step, _ = await ran(Generate(), turn, answerer=Scripted())
    assert is_model_asked(step)
    assert step.turn.trace == ()
