"""Further queries, as the plan asks for them."""

from dataclasses import replace

import pytest

from ragstone.core.errors import ModelUnavailable
from ragstone.core.turn import Ask, Plan, Recalled, Rewriting, SearchOptions, Turn
from ragstone.understand.rewrite import Rewrite, chosen
from tests.engine.adapters import ran
from tests.understand.test_contextualize import Completing

QUESTION = "Who founded Apple and when did it go public?"
PARTS = ("Who founded Apple?", "when did Apple go public?")


def a_turn(method: Rewriting, question: str = QUESTION, wanted: Rewriting | None = None) -> Turn:
    ask = Ask(question, wanted=SearchOptions(rewrite=wanted))
    return Turn(ask, question, plan=Plan(rewrite=method, rewrites=3), queries=(question,))


async def test_given_no_rewriting_then_only_the_question_is_searched() -> None:
    model = Completing("another way to ask")
    for method in ("none", "auto"):
        step, _ = await ran(Rewrite(), a_turn(method), completer=model)
        assert step.turn.queries == (QUESTION,)
    assert not model.asked


async def test_given_multi_then_there_are_so_many_queries_the_question_first() -> None:
    model = Completing(f"Sure:\n1. Apple's founders\n2. {QUESTION}\n3. Apple IPO\n4. Too many")
    step, _ = await ran(Rewrite(), a_turn("multi"), completer=model)
    assert step.turn.queries == (QUESTION, "Apple's founders", "Apple IPO")
    assert not step.turn.parts
    assert step.turn.usage.calls == 1


async def test_given_hyde_then_the_passage_is_searched_by_meaning_only() -> None:
    passage = "Apple was founded by Jobs,\nWozniak and Wayne. It went public in 1980."
    turn = a_turn("hyde", "Why Apple?")
    step, _ = await ran(Rewrite(), turn, completer=Completing(passage))
    assert step.turn.queries == ("Why Apple?",)
    assert step.turn.imagined == (" ".join(passage.split()),)


async def test_given_hyde_for_a_specific_question_then_only_a_request_gets_it() -> None:
    model = Completing("A passage about the founders of Apple and when it went public.")
    question = "Who founded Apple Computer in Cupertino together with Steve Jobs?"
    step, _ = await ran(Rewrite(), a_turn("hyde", question), completer=model)
    assert not step.turn.imagined
    step, _ = await ran(Rewrite(), a_turn("hyde", question, wanted="hyde"), completer=model)
    assert step.turn.imagined


@pytest.mark.parametrize(
    ("method", "reply", "queries"),
    [
        ("step_back", "What is the history of Apple?", ["What is the history of Apple?"]),
        ("decompose", '{"queries": ["a b?", "c d?", "e?", "f g?", "h i?"]}', ["a b?", "c d?"]),
        ("keywords", "Apple, founder, IPO,\nstock market", ["Apple founder IPO stock market"]),
    ],
)
async def test_given_a_method_then_what_the_model_says_is_searched(
    method: Rewriting, reply: str, queries: list[str]
) -> None:
    step, _ = await ran(Rewrite(), a_turn(method), completer=Completing(reply))
    assert list(step.turn.queries[1 : 1 + len(queries)]) == queries
    assert len(step.turn.queries) <= 5
    assert step.turn.parts == (method == "decompose")


@pytest.mark.parametrize(
    "model", [None, Completing(error=ModelUnavailable("m", "gone")), Completing()]
)
async def test_given_no_usable_model_then_rules_take_the_question_apart(
    model: Completing | None,
) -> None:
    step, _ = await ran(Rewrite(), a_turn("decompose"), completer=model)
    assert step.turn.queries == (QUESTION, *PARTS)
    assert step.turn.parts


async def test_given_no_model_then_key_words_are_those_of_the_question() -> None:
    step, _ = await ran(Rewrite(), a_turn("keywords"))
    assert step.turn.queries == (QUESTION, "founded Apple go public")


@pytest.mark.parametrize("method", ["multi", "hyde", "step_back"])
async def test_given_no_model_then_the_trace_says_what_was_skipped(method: Rewriting) -> None:
    step, _ = await ran(Rewrite(), a_turn(method, "Why?"))
    assert step.turn.queries == ("Why?",)
    assert step.decision == f"{method}, skipped"
    assert "needs a chat model" in step.reason


async def test_given_a_conversation_then_its_words_stay_among_the_queries() -> None:
    turn = a_turn("keywords")
    turn = Turn(turn.ask, QUESTION, plan=turn.plan, queries=(QUESTION, "context"))
    step, _ = await ran(Rewrite(), turn)
    assert step.turn.queries == (QUESTION, "context", "founded Apple go public")


def test_given_auto_then_level_and_model_decide() -> None:
    assert chosen("auto", False, QUESTION, True) == "none"
    assert chosen("auto", True, QUESTION, True) == "multi"
    assert chosen("auto", True, QUESTION, False) == "decompose"
    assert chosen("auto", True, "Who founded Apple?", False) == "none"
    assert chosen("hyde", False, QUESTION, False) == "hyde"


async def test_given_passages_that_the_cache_knows_then_no_model_is_asked() -> None:
    model = Completing("another way to ask")
    turn = replace(a_turn("multi"), recalled=Recalled(content="search"))
    step, _ = await ran(Rewrite(), turn, completer=model)
    assert step.turn.queries == (QUESTION,)
    assert not model.asked
