"""What is remembered of a conversation, and what happens when it cannot be."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.conversation.contextualize import Contextualize, load_history, select_recent
from ragstone.core.conversation import ConversationKey
from ragstone.core.errors import StateUnavailable
from ragstone.core.events import Event, Note
from ragstone.core.turn import Ask, Message, Principal, Turn
from ragstone.language.tokens import count
from ragstone.ports import Profile
from tests.engine.adapters import a_kit, ran

SMALL = Profile()
ASK = Ask("And then?", Principal("t", "u"), room="r", user_id="me", classes=("Law",))


@dataclass
class Remembered:
    """Conversations of which one room is known."""

    turns: int = 0
    words: int = 1
    error: Exception | None = None
    wanted: list[Any] = field(default_factory=list)

    async def origins(self, *whose: Any) -> list[str]:
        if self.error:
            raise self.error
        return [""]

    async def history(self, *wanted: Any, origins: list[str]) -> list[Message]:
        assert origins == [""]
        self.wanted = list(wanted)
        if self.error:
            raise self.error
        turns = range(max(0, self.turns - wanted[3]), self.turns)
        said = "word " * self.words
        return [Message(who, f"{n} {said}") for n in turns for who in ("user", "assistant")]


async def remembered(
    ask: Ask = ASK, profile: Profile = SMALL, most: int = 15, required: bool = False, **given: Any
) -> tuple[Any, list[Any], Remembered]:
    kept = Remembered(**given)
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    kit = a_kit(conversations=kept, profile=profile, count=count)
    step = await load_history(Turn(ask), kit, emit, turns=most, required=required)
    return step, events, kept


@pytest.mark.parametrize(
    ("tier", "most", "turns"),
    [
        ("tiny", 15, 3),
        ("small", 15, 6),
        ("medium", 15, 10),
        ("large", 15, 15),
        ("large", 4, 4),
        ("small", 0, 6),
        ("large", 0, 15),
    ],
)
async def test_given_a_model_then_its_size_says_how_many_turns(
    tier: Any, most: int, turns: int
) -> None:
    step, _, kept = await remembered(most=most, profile=Profile(tier=tier), turns=99)
    assert kept.wanted == [ConversationKey("t", "u", "r", "me"), "rag", ("Law",), turns, 0.0]
    assert len(step.turn.ask.history) == 2 * turns
    assert step.turn.ask.history[-1].text.startswith("98 ")


@pytest.mark.conforms("Query pipeline", "Step 8", "History has its share of the window")
async def test_given_long_turns_then_those_stay_that_fit_the_share() -> None:
    step, _, _ = await remembered(
        profile=Profile(context_window=2000, tier="large"), turns=10, words=50
    )
    history = step.turn.ask.history
    assert 2 <= len(history) < 20
    assert history[0].role == "user"
    assert sum(count(message.text) for message in history) <= 300
    assert "did not fit" in step.reason


async def test_given_a_turn_too_long_for_the_share_then_it_still_stays() -> None:
    step, _, _ = await remembered(turns=3, words=5000)
    assert [message.text[:1] for message in step.turn.ask.history] == ["2", "2"]


async def test_given_history_in_the_request_or_no_room_then_nothing_is_loaded() -> None:
    given = Ask("Why?", room="r", history=(Message("user", "a"),))
    for ask in (given, Ask("Why?")):
        step, _, kept = await remembered(ask, turns=3)
        assert step.turn.ask == ask
        assert not kept.wanted


async def test_given_a_store_that_is_gone_then_the_question_goes_on_and_says_so() -> None:
    step, events, _ = await remembered(error=StateUnavailable("It is gone."))
    assert step.turn.ask.history == ()
    assert not step.turn.whole
    assert "gone" in step.reason
    assert [type(event) for event in events] == [Note]


class Unreadable:
    """`ports.ConversationStore` that is gone."""

    async def origins(self, *whose: Any) -> list[str]:
        raise StateUnavailable("It is gone.")


async def test_given_a_store_that_is_gone_then_the_stage_refuses_only_where_it_is_required() -> (
    None
):
    parts = {"conversations": Unreadable(), "profile": SMALL, "count": count}
    step, _ = await ran(Contextualize(), Turn(ASK), **parts)
    assert step.turn.question == ASK.question
    assert [(item.stage, item.inside) for item in step.turn.trace] == [("memory", "contextualize")]
    with pytest.raises(StateUnavailable):
        await ran(Contextualize(required=True), Turn(ASK), **parts)


messages = st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.text())


@given(st.lists(messages), st.integers(0, 50))
def test_what_is_recent_is_an_end_of_what_was_said(said: list[Message], tokens: int) -> None:
    kept = list(select_recent(said, tokens, len))
    assert kept == said[len(said) - len(kept) :]
    if kept:
        assert kept[0].role == "user"
