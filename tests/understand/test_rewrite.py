"""Further queries, as the plan asks for them."""

from dataclasses import replace

import pytest

from ragstone.core.answer import Usage
from ragstone.core.errors import ModelUnavailable
from ragstone.core.records import Collection
from ragstone.core.turn import Ask, Plan, Recalled, Rewriting, SearchOptions, Turn
from ragstone.ports import Said
from ragstone.understand.rewrite import Rewrite, choose_rewriting
from tests.conversation.test_contextualize import Completing
from tests.engine.adapters import ran
from tests.engine.completer import Replies

QUESTION = "Who founded Apple and when did it go public?"
PARTS = ("Who founded Apple?", "when did Apple go public?")
PARTS_BY_RULES = ("Who founded Apple?", "Who founded Apple? when did it go public?")


def a_turn(method: Rewriting, question: str = QUESTION, wanted: Rewriting | None = None) -> Turn:
    ask = Ask(question, wanted=SearchOptions(rewrite=wanted))
    return Turn(ask, question, plan=Plan(rewrite=method, rewrites=3), queries=(question,))


@pytest.mark.conforms("RAG engine v1", "Query rewriter", "none")
async def test_given_no_rewriting_then_only_the_question_is_searched() -> None:
    model = Completing("another way to ask")
    for method in ("none", "auto"):
        step, _ = await ran(Rewrite(), a_turn(method), completer=model)
        assert step.turn.queries == (QUESTION,)
    assert not model.asked


@pytest.mark.conforms(
    "Query pipeline", "Step 6", "Expansion: 2 to 3 variations, each searched, fused"
)
@pytest.mark.conforms(
    "RAG engine v1", "Query rewriter", "multi: N - 1 other queries and the question"
)
async def test_given_multi_then_there_are_so_many_queries_the_question_first() -> None:
    model = Completing(f"Sure:\n1. Apple's founders\n2. {QUESTION}\n3. Apple IPO\n4. Too many")
    step, _ = await ran(Rewrite(), a_turn("multi"), completer=model)
    assert step.turn.queries == (QUESTION, "Apple's founders", "Apple IPO")
    assert not step.turn.parts
    assert step.turn.usage.calls == 1


@pytest.mark.conforms("Query pipeline", "Step 6", "HyDE: an imagined passage is a further search")
@pytest.mark.conforms("RAG engine v1", "Query rewriter", "hyde: an imagined answer is searched")
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
@pytest.mark.conforms(
    "RAG engine v1", "Failure paths", "Rewriting fails: the question itself is searched"
)
async def test_given_no_usable_model_then_rules_take_the_question_apart(
    model: Completing | None,
) -> None:
    step, _ = await ran(Rewrite(), a_turn("decompose"), completer=model)
    assert step.turn.queries == (QUESTION, *PARTS_BY_RULES)
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
    assert choose_rewriting("auto", False, QUESTION, True) == "none"
    assert choose_rewriting("auto", True, QUESTION, True) == "multi"
    assert choose_rewriting("auto", True, QUESTION, False) == "decompose"
    assert choose_rewriting("auto", True, "Who founded Apple?", False) == "none"
    assert choose_rewriting("hyde", False, QUESTION, False) == "hyde"


async def test_given_passages_that_the_cache_knows_then_no_model_is_asked() -> None:
    model = Completing("another way to ask")
    turn = replace(a_turn("multi"), recalled=Recalled(content="search"))
    step, _ = await ran(Rewrite(), turn, completer=model)
    assert step.turn.queries == (QUESTION,)
    assert not model.asked


class Answering:
    """A chat model whose reply depends on what it is asked for."""

    name = "answering"

    def __init__(self, **replies: str) -> None:
        self.replies = replies

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        for part, reply in self.replies.items():
            if part in rules:
                return Said(reply, usage=Usage(1, 1, 1))
        raise ModelUnavailable("it has nothing to say")


@pytest.mark.conforms("Query pipeline", "Step 5", "HyDE, RAG-Fusion and step-back at once")
async def test_given_all_ways_at_once_then_one_that_fails_spoils_no_other() -> None:
    model = Answering(passage="Apple was founded by Jobs in 1976.", broader="Who is behind Apple?")
    step, _ = await ran(Rewrite(), a_turn("combined"), completer=model)
    assert step.turn.queries == (QUESTION, "Who is behind Apple?")
    assert step.turn.imagined == ("Apple was founded by Jobs in 1976.",)
    assert step.turn.usage.calls == 2
    assert step.turn.plan.rewrite == "combined"


@pytest.mark.parametrize("asked", ["auto", "combined"])
async def test_given_several_questions_and_no_model_then_each_is_searched_by_itself(
    asked: Rewriting,
) -> None:
    step, _ = await ran(Rewrite(), a_turn(asked))
    assert tuple(item.question for item in step.turn.subqueries) == PARTS_BY_RULES
    assert step.turn.queries == (QUESTION,)


async def test_given_a_comparison_and_no_model_then_its_two_things_are_searched_too() -> None:
    question = "What is the difference between Market Cap and NAV?"
    step, _ = await ran(Rewrite(), a_turn("combined", question))
    assert step.turn.queries == (question, "Market Cap", "NAV")


@pytest.mark.conforms("RAG engine v1", "API 1 query", "HyDE for questions of 20 characters or more")
async def test_given_a_length_then_longer_questions_get_an_imagined_passage() -> None:
    model = Completing("A passage about the founders of Apple and when it went public.")
    question = "Who founded Apple Computer in Cupertino together with Steve Jobs?"
    for most, imagined in ((20, True), (100, False)):
        rewrite = Rewrite(imagines=True, imagines_from=most)
        step, _ = await ran(rewrite, a_turn("auto", question), completer=model)
        assert bool(step.turn.imagined) == imagined


@pytest.mark.conforms("RAG engine v1", "Query rewriter", "Query expansion: key terms and synonyms")
async def test_given_further_terms_then_every_question_is_searched_by_them() -> None:
    step, _ = await ran(
        Rewrite(adds_terms=True), a_turn("auto"), completer=Completing("founder, IPO")
    )
    assert step.turn.queries == (QUESTION, "founder IPO")


@pytest.mark.parametrize("method", ["multi", "hyde", "step_back", "decompose", "keywords"])
@pytest.mark.parametrize(
    ("language", "told"),
    [("de", "n German (Deutsch)"), ("mul", "n the language of the question"), ("", "n the lang")],
)
async def test_the_model_is_told_the_language_of_the_documents(
    method: Rewriting, language: str, told: str
) -> None:
    model = Replies("Apple wurde von drei Freunden gegründet.")
    collection = Collection("default", "notes", "e5", "f1", 384, language)
    turn = replace(a_turn(method, wanted=method), collection=collection)

    await ran(Rewrite(), turn, completer=model)

    assert told in model.asked[0][0]
