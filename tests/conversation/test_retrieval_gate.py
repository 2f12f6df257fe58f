"""What is about the conversation is answered from it, if the conversation supports it."""

from typing import Any

import pytest

from ragstone.conversation.classify import DOCUMENTS, Classify, answer_from_conversation
from ragstone.core.errors import ModelUnavailable
from ragstone.core.events import Checked, Event, Token
from ragstone.core.turn import Ask, Message, Turn
from ragstone.engine.stage import Step
from tests.engine.adapters import a_kit, ran
from tests.engine.completer import Replies
from tests.local_checker import local_checker

BEFORE = (
    Message("user", "When was the lighthouse of Ost built?"),
    Message("assistant", "The lighthouse of Ost was built in 1871. It is 34 metres high. [1]"),
)


async def needed(
    question: str, *replies: str | Exception, history: Any = BEFORE, **options: Any
) -> tuple[Step, list[Event], Replies]:
    model = Replies(*replies or ("unused",))
    turn = Turn(Ask(question, history=history), question=question)
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    kit = a_kit(completer=model, checker=local_checker())
    step = await answer_from_conversation(turn, kit, emit, **options)
    return step, events, model


async def test_given_a_request_about_the_conversation_then_it_is_answered_from_it() -> None:
    said = "The lighthouse of Ost was built in 1871. [1]"
    step, events, model = await needed("Put that in one sentence.", said)
    assert step.leaves
    assert step.decision == "the conversation"
    assert step.turn.answer
    assert step.turn.answer.text == "The lighthouse of Ost was built in 1871."
    assert step.turn.answer.is_grounded
    assert [type(event) for event in events] == [Checked, Token]
    assert all(verdict.citation is None for verdict in step.turn.verdicts)
    assert step.turn.usage.calls == len(model.asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "The lighthouse of Ost was built in 1912 by the French navy.",
        DOCUMENTS,
        "",
        "Paris.",
        ModelUnavailable("It is down."),
    ],
)
async def test_given_an_answer_that_was_not_said_before_then_documents_are_searched(
    reply: str | Exception,
) -> None:
    step, events, _ = await needed("Repeat that.", reply)
    assert not step.leaves
    assert step.turn.answer is None
    assert events == []


async def test_given_a_question_of_fact_then_the_model_is_not_even_asked() -> None:
    step, _, model = await needed("How high is the lighthouse of Kap?")
    assert (step.decision, model.asked) == ("documents", [])


@pytest.mark.conforms(
    "RAG engine v1", "Self-RAG", "Whether a follow-up needs documents is judged first"
)
async def test_given_the_model_may_say_so_then_it_decides_and_is_checked_all_the_same() -> None:
    free, right = '{"documents": false}', "You asked when the lighthouse of Ost was built."
    question = "Which lighthouse was I asking about again?"
    step, _, _ = await needed(question, free, right, asks_model=True)
    assert step.leaves
    step, _, _ = await needed(question, free, "Paris is the capital of France.", asks_model=True)
    assert not step.leaves
    for reply in ('{"documents": true}', "maybe", "{}"):
        step, _, model = await needed(question, reply, asks_model=True)
        assert (step.leaves, len(model.asked)) == (False, 1)


async def test_given_nothing_said_before_then_documents() -> None:
    step, _, model = await needed("Repeat that.", "x", history=())
    assert (step.leaves, model.asked) == (False, [])


@pytest.mark.parametrize("answers", [True, False])
async def test_given_a_search_then_what_is_about_the_conversation_is_searched_too(
    answers: bool,
) -> None:
    said = "The lighthouse of Ost was built in 1871."
    turn = Turn(Ask("Repeat that.", history=BEFORE), question="Repeat that.", queries=("q",))
    model = Replies(said)
    stage = Classify(answers=answers, asks_model=False)
    step, _ = await ran(stage, turn, completer=model, checker=local_checker())
    assert step.leaves == bool(model.asked) == answers


class Broken:
    """Any port: whatever is asked of it fails."""

    name = "broken"

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError


async def test_given_parts_that_break_then_the_question_is_searched_as_it_was_asked() -> None:
    turn = Turn(Ask("Repeat that.", history=BEFORE), question="Repeat that.", queries=("q",))
    step, _ = await ran(
        Classify(asks_model=False),
        turn,
        intents=Broken(),
        completer=Replies("The lighthouse of Ost was built in 1871."),
        checker=Broken(),
    )
    assert not step.leaves
    assert (step.turn.question, step.turn.intent) == ("Repeat that.", None)
    assert [(item.stage, item.status) for item in step.turn.trace] == [
        ("intent", "failed"),
        ("retrieval_gate", "failed"),
    ]


async def test_given_terms_that_cannot_be_compared_then_the_question_fails() -> None:
    turn = Turn(Ask("salaries year:2020"), question="salaries year:2020", queries=("q",))
    with pytest.raises(ZeroDivisionError):
        await ran(Classify(), turn, catalog=Broken())
