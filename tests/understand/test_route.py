"""The plan of a question: its level, what it takes, and what the request prefers."""

from dataclasses import replace
from typing import Any

import pytest

from ragstone.core.answer import Usage
from ragstone.core.errors import InputError, ModelUnavailable
from ragstone.core.intent import Intent, IntentName
from ragstone.core.turn import Ask, Plan, SearchOptions, Turn
from ragstone.ports import Said
from ragstone.understand.route import FAST_TOP_K, WIDE, Route
from tests.engine.adapters import ran

PLAIN = "Who is the CEO?"
DEMANDING = "Compare Apple and Bosch between 2019 and 2021, explain why they differ and how?"


LEVEL = Plan()


class Says:
    """A chat model that says one thing, or fails."""

    name = "says"

    def __init__(self, text: str = "", error: Exception | None = None) -> None:
        self.text, self.error = text, error
        self.asked: list[str] = []

    async def complete(self, rules: str, text: str, max_tokens: int) -> Said:
        self.asked.append(text)
        if self.error:
            raise self.error
        return Said(self.text, finish="stop", usage=Usage(5, 2, 1))


async def plan(question: str = PLAIN, level: Plan = LEVEL, **ask: Any) -> Plan:
    intent = ask.pop("intent", None)
    step, _ = await ran(Route(plan=level), Turn(Ask("q", **ask), question, intent=intent))
    return step.turn.plan


async def test_given_a_question_then_its_plan_is_the_levels_unless_it_asks_otherwise() -> None:
    step, _ = await ran(Route(plan=Plan(top_k=7)), Turn(Ask("q"), "Why so?"))
    assert step.turn.queries == ("Why so?",)
    assert (step.turn.plan.strategy, step.turn.plan.top_k) == ("hybrid", 7)
    asked = await plan(strategy="bm25", top_k=3)
    assert (asked.strategy, asked.top_k, asked.rerank) == ("bm25", 3, False)


@pytest.mark.conforms(
    "RAG engine v1", "Adaptive RAG", "DIRECT up to complexity 3 where speed is preferred"
)
async def test_given_speed_then_a_plain_fact_is_searched_by_meaning_alone() -> None:
    fast = await plan(prefer="speed")
    assert (fast.strategy, fast.top_k, fast.rerank) == ("dense", FAST_TOP_K, False)
    assert await plan(DEMANDING, prefer="speed") == Plan()
    assert fast.rewrite == "auto"
    between = await plan("How do valves work, and why do they fail if it is cold?", prefer="speed")
    assert (between.strategy, between.rerank) == ("hybrid", False)


@pytest.mark.conforms(
    "RAG engine v1", "Adaptive RAG", "Strategies by complexity where accuracy is preferred"
)
async def test_given_accuracy_then_more_is_compared_and_several_steps_are_taken() -> None:
    wide = await plan(prefer="accuracy")
    assert (wide.strategy, wide.candidates) == ("two_stage", WIDE * Plan().candidates)
    assert (await plan(DEMANDING, prefer="accuracy")).strategy == "iterative"
    assert (await plan(DEMANDING, prefer="accuracy")).rewrite == "decompose"
    assert (await plan(DEMANDING, Plan(rewrite="none"), prefer="accuracy")).rewrite == "none"
    hop = Intent("multi_hop")
    assert (await plan(prefer="accuracy", intent=hop)).strategy == "iterative"
    assert (await plan(intent=hop)).strategy == "hybrid"


async def test_given_a_summary_of_one_document_then_it_is_read_in_order() -> None:
    summary = Intent("summary")
    assert (await plan("Summarise this report", intent=summary)).sums_up == ""
    assert (await plan("Summarise the causes of war", intent=summary)).strategy == "hybrid"


async def test_given_the_basic_level_then_nothing_changes_it_but_the_request() -> None:
    basic = Plan(strategy="dense", rerank=False, feedback=False)
    assert await plan(DEMANDING, basic, prefer="accuracy") == basic
    assert (await plan(level=basic, strategy="hybrid")).strategy == "hybrid"


@pytest.mark.conforms("RAG engine v1", "Adaptive RAG", "The chat model analyses the query")
async def test_given_the_model_as_analyzer_then_it_decides_and_its_tokens_count() -> None:
    said = 'Sure: {"complexity": 8, "reasoning": true, "comparison": "yes"}'
    turn = Turn(Ask("q", prefer="accuracy"), PLAIN)
    step, _ = await ran(Route(asks_model=True), turn, completer=Says(said))
    assert step.turn.plan.strategy == "iterative"
    assert step.turn.analysis is not None
    assert (step.turn.analysis.complexity, step.turn.analysis.by) == (8, "model")
    assert not step.turn.analysis.comparison
    assert step.turn.usage == Usage(5, 2, 1)
    assert "by model" in step.reason


@pytest.mark.parametrize(
    "model",
    [
        None,
        Says("no idea"),
        Says('{"complexity": true}'),
        Says('{"complexity": 99}'),
        Says('{"complexity": NaN}'),
        Says(error=ModelUnavailable("gone")),
    ],
)
async def test_given_no_sense_from_the_model_then_patterns_decide(model: Any) -> None:
    step, _ = await ran(Route(asks_model=True), Turn(Ask("q"), PLAIN), completer=model)
    assert step.turn.analysis is not None
    assert step.turn.analysis.by == "patterns"


async def test_given_patterns_as_analyzer_then_the_model_is_not_asked() -> None:
    model = Says('{"complexity": 8}')
    await ran(Route(), Turn(Ask("q"), PLAIN), completer=model)
    assert model.asked == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_k": 0},
        {"top_k": -1},
        {"top_k": 10**9},
        {"wanted": SearchOptions(dense_weight=float("nan"))},
        {"wanted": SearchOptions(dense_weight=1.5)},
        {"wanted": SearchOptions(min_similarity=-0.1)},
        {"wanted": SearchOptions(neighbours=99)},
    ],
)
async def test_given_a_number_that_no_search_can_mean_then_a_clear_error(wrong: Any) -> None:
    with pytest.raises(InputError, match="must lie between"):
        await plan(**wrong)


async def test_given_what_a_request_wants_then_only_that_changes_the_plan() -> None:
    level = Plan(top_k=7, min_similarity=0.3, neighbours=1)
    wanted = SearchOptions(fusion="ranks", rerank=False, min_similarity=0.0)
    expected = replace(level, fusion="ranks", rerank=False, min_similarity=0.0)
    assert await plan(level=level, wanted=wanted) == expected


async def routed(question: str, **ask: Any) -> Plan:
    intent = ask.pop("intent", None)
    turn = Turn(Ask("q", **ask), question, intent=intent)
    step, _ = await ran(Route(by_complexity=True), turn)
    return step.turn.plan


@pytest.mark.conforms("Query pipeline", "Step 5", "Simple: DENSE_ONLY, 5 passages, no reranking")
async def test_given_complexity_decides_then_a_plain_fact_is_searched_by_meaning_alone() -> None:
    found = await routed(PLAIN)
    assert (found.strategy, found.top_k, found.rerank) == ("dense", 5, False)
    assert (await routed(PLAIN, level="enhanced")).strategy == "hybrid"


@pytest.mark.parametrize(("name", "top_k"), [("list", 15), ("summary", 20), ("comparison", 12)])
async def test_given_complexity_decides_then_a_short_list_is_no_plain_fact(
    name: IntentName, top_k: int
) -> None:
    found = await routed("List all stations", intent=Intent(name, 0.9))
    assert (found.strategy, found.top_k, found.rerank) == ("hybrid", top_k, Plan().rerank)


@pytest.mark.conforms("Query pipeline", "Step 5", "Moderate: HYBRID, 10 passages")
async def test_given_complexity_decides_then_what_is_between_has_the_levels_plan() -> None:
    assert await routed("How do valves work, and why do they fail if it is cold?") == Plan()


@pytest.mark.conforms(
    "Query pipeline", "Step 5", "Complex: FUSION, 20 passages, with HyDE, RAG-Fusion and step-back"
)
@pytest.mark.conforms("Query pipeline", "Step 7", "Self-RAG for complex questions")
async def test_given_complexity_decides_then_demanding_questions_are_searched_in_every_way() -> (
    None
):
    found = await routed(DEMANDING)
    assert (found.strategy, found.top_k, found.rewrite) == ("fusion", 20, "combined")
    assert found.verifies
    assert (await routed(DEMANDING, level="maximum")).top_k == 10
    assert (await routed(PLAIN, strategy="fusion")).rewrite == "combined"


@pytest.mark.conforms(
    "Query pipeline", "Step 5", "A requested strategy has its passages: 5, 10, 20"
)
async def test_given_complexity_decides_then_a_requested_strategy_has_its_passages() -> None:
    asked = [await routed(PLAIN, strategy=name) for name in ("dense", "hybrid", "fusion")]
    assert [plan.top_k for plan in asked] == [5, 10, 20]
    assert (await routed(PLAIN, strategy="dense", top_k=7)).top_k == 7
    wide = [await routed(PLAIN, strategy=name, level="maximum") for name in ("dense", "fusion")]
    assert [plan.top_k for plan in wide] == [10, 10], "a larger level says how many itself"


@pytest.mark.conforms("V5", "2. Route Query", "A follow-up is as complex as it was asked")
async def test_given_complex_questions_are_rewritten_then_a_follow_up_counts_as_it_was_asked() -> (
    None
):
    written_out = Turn(Ask("And the mill?"), "Compare the mill of West with the lighthouse of Ost.")
    asked_so = replace(written_out, ask=Ask(written_out.question))
    route = Route(rewrites_complex=True)
    plans = [(await ran(route, turn))[0].turn for turn in (written_out, asked_so)]
    assert [turn.plan.rewrite for turn in plans] == ["none", "decompose"]
    assert [bool(turn.analysis and turn.analysis.is_complex) for turn in plans] == [False, True]


@pytest.mark.conforms("Query pipeline", "Step 5", "HIERARCHICAL for document-spanning queries")
@pytest.mark.conforms("Query pipeline", "Step 5", "TWO_STAGE for high precision")
async def test_given_complexity_decides_then_documents_and_precision_count() -> None:
    assert (await routed("Compare valves and pumps")).strategy == "hierarchical"
    assert (await routed(PLAIN, mode="precise")).strategy == "two_stage"
