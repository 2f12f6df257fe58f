"""What the dialects' documents print as defaults holds for the questions that come through them."""

from dataclasses import replace

import pytest

from ragstone.answer.assemble import Assemble
from ragstone.core.turn import LEVELS, Ask, Plan, Turn
from ragstone.engine.stage import Stage
from ragstone.jobs.ending import ANSWER_SECONDS
from ragstone.language.tokens import share_budget
from ragstone.local.configured import Configured
from ragstone.ports import Profile
from ragstone.settings import CacheSettings, Settings
from ragstone.settings.origin import GivenValue, Origin
from ragstone.settings.profiles import PROFILES, Dialect
from ragstone.understand.rewrite import LINE_TOKENS, PASSAGE_TOKENS
from tests.engine.adapters import ran
from tests.engine.samples import a_hit


def stages(
    profile: str, level: str = "standard", settings: Settings | None = None
) -> dict[str, Stage]:
    configured = Configured(settings or Settings())
    ask = Ask("q", profile=profile, level=level)  # type: ignore[arg-type]
    recipe = configured.answer_recipe(ask)
    inner = [item for stage in recipe.stages for item in (stage, *stage.inner)]
    return {stage.name: stage for stage in (*inner, *recipe.tail)}


def plan(profile: str, level: str = "standard") -> Plan:
    found: Plan = stages(profile, level)["route"].plan  # type: ignore[attr-defined]
    return found


@pytest.mark.conforms(
    "Query pipeline", "Levels", "Basic: dense search, no verification, no expansion"
)
@pytest.mark.conforms("Query pipeline", "Levels", "Standard: hybrid search, basic verification")
@pytest.mark.conforms("Query pipeline", "Levels", "Enhanced: full verification")
@pytest.mark.conforms(
    "Query pipeline", "Settings", "rag.verification_enabled: threshold at every level"
)
def test_given_a_level_then_its_search_and_verification() -> None:
    basic, standard, enhanced = (
        plan("pipeline", item) for item in ("basic", "standard", "enhanced")
    )
    assert (basic.strategy, basic.min_similarity, basic.rerank) == ("dense", 0.0, False)
    assert (standard.strategy, standard.min_similarity) == ("hybrid", 0.4)
    assert (enhanced.strategy, enhanced.min_similarity) == ("hybrid", 0.4)
    assert "rounds" not in stages("pipeline")
    judged = stages("pipeline", "enhanced")
    assert judged["grade_passages"].always  # type: ignore[attr-defined]
    assert judged["assemble"].reasons  # type: ignore[attr-defined]


@pytest.mark.parametrize("dialect", ["pipeline", "rag_v1", "chats"])
def test_given_a_document_that_fuses_by_ranks_then_meaning_and_words_count_alike(
    dialect: Dialect,
) -> None:
    assert (plan(dialect).fusion, plan(dialect).dense_weight) == ("ranks", 0.5)
    assert stages(dialect)["retrieve"].rrf_k == 30  # type: ignore[attr-defined]


@pytest.mark.parametrize("dialect", PROFILES)
def test_every_option_of_a_stage_in_a_profile_is_that_of_the_stage(dialect: Dialect) -> None:
    options = [key.split(".") for key in PROFILES[dialect] if key.startswith("stages.")]
    recipe = Configured(Settings()).of(dialect=dialect).recipes.of("judged", "standard")
    first = [item for stage in recipe.stages for item in (stage, *stage.inner)]
    made = {stage.name: stage for stage in (*first, *recipe.tail)}
    for key, stage, option in options:
        assert getattr(made[stage], option) == PROFILES[dialect][f"{key}.{stage}.{option}"]


@pytest.mark.conforms("Query pipeline", "Levels", "Maximum: ensemble voting and extended thinking")
def test_given_maximum_then_answers_vote() -> None:
    found = stages("pipeline", "maximum")
    assert found["generate"].votes  # type: ignore[attr-defined]
    assert found["generate"].thinks == "at length"  # type: ignore[attr-defined]
    assert not stages("", "maximum")["generate"].votes  # type: ignore[attr-defined]


@pytest.mark.conforms("Query pipeline", "Step 6", "The best 15 by meaning and the best 15 by words")
@pytest.mark.conforms("Query pipeline", "Levels", "Expansion at enhanced and maximum, not below")
def test_given_the_pipeline_then_what_each_search_takes_and_which_levels_expand() -> None:
    assert {plan("pipeline", level).candidates for level in LEVELS} == {15}
    for level in LEVELS:
        rewrite = stages("pipeline", level)["rewrite"]
        turn = Turn(Ask("Which leave is there?", level=level), plan=plan("pipeline", level))
        turn = replace(turn, question=turn.ask.question)
        expands = rewrite._methods(turn, True)  # type: ignore[attr-defined]
        assert bool(expands) == (level in ("enhanced", "maximum"))


@pytest.mark.conforms("Query pipeline", "Step 9", "A reply within 120 seconds")
@pytest.mark.conforms("RAG engine v1", "LLM client", "Three retries")
@pytest.mark.conforms("RAG engine v1", "Limits", "60 seconds for a query, 200 at a time")
def test_given_nothing_then_the_numbers_that_documents_print() -> None:
    found = Settings()
    assert (found.llm.timeout, found.llm.retries) == (120, 3)
    assert ANSWER_SECONDS == 300
    assert (found.server.request_seconds, found.server.max_concurrent_queries) == (60, 200)
    assert (found.ingest.chunk_size, found.ingest.chunk_overlap) == (1000, 200)
    assert Configured(found).of(dialect="plone").settings.rag.candidates == 100


@pytest.mark.conforms("RAG engine v1", "Parameters", "The printed defaults of every component")
def test_given_the_rag_engine_then_its_table_of_parameters() -> None:
    found = Configured(Settings()).of(dialect="rag_v1").settings
    rewrite = stages("rag_v1")["rewrite"]
    assert rewrite.temperature == 0.7  # type: ignore[attr-defined]
    assert (LINE_TOKENS, PASSAGE_TOKENS, found.rag.rewrites) == (200, 300, 3)
    assert found.rag.context_tokens == 3000
    assert (found.llm.temperature, found.llm.max_tokens) == (0.7, 2000)
    assert found.index.timeout == 30
    assert found.rag.rerank
    assert (found.self_rag.score_threshold, found.self_rag.max_iterations) == (70, 3)


@pytest.mark.conforms("Query pipeline", "Step 10", "Suggested questions are asked for")
def test_given_the_pipeline_then_questions_are_suggested() -> None:
    assert stages("pipeline")["assemble"].suggests  # type: ignore[attr-defined]


@pytest.mark.conforms("Query pipeline", "Step 8", "Shares of the window, also of 128,000 tokens")
@pytest.mark.conforms("Query pipeline", "Step 7", "Sandwich order at every level")
async def test_given_a_wide_window_then_passages_have_their_share_in_sandwich_order() -> None:
    assemble = stages("pipeline")["assemble"]
    assert isinstance(assemble, Assemble)
    many = [f"{number} " + f"word{number} " * 2000 for number in range(60)]
    hits = tuple(a_hit(text, document_id=text[:2]) for text in many)
    turn = Turn(Ask("q"), hits=hits, plan=replace(plan("pipeline"), top_k=60))
    step, _ = await ran(assemble, turn, profile=Profile(context_window=128_000, tier="large"))
    share = share_budget(128_000, "large").passages
    assert share == 76_800
    used = int(step.reason.split()[0])
    assert 0.9 * share < used <= share
    assert [passage.text[:2] for passage in step.turn.passages][:2] == ["0 ", "2 "]
    assert step.turn.passages[-1].text[:2] == "1 "


@pytest.mark.conforms("Query pipeline", "Step 2", "Entries live 300 seconds")
@pytest.mark.conforms(
    "RAG engine v1", "Semantic cache", "Threshold .92, 3,600 seconds, 10,000 entries"
)
def test_given_a_dialect_then_its_cache() -> None:
    engine, pipeline = stages("rag_v1"), stages("pipeline")
    assert engine["recall"].least == 0.92  # type: ignore[attr-defined]
    assert engine["persist"].ttl == 3600  # type: ignore[attr-defined]
    assert pipeline["persist"].ttl == 300  # type: ignore[attr-defined]
    assert engine["rewrite"].imagines_from == 20  # type: ignore[attr-defined]
    assert pipeline["route"].by_complexity  # type: ignore[attr-defined]
    assert Configured(Settings()).cache_entries == 10_000
    assert Configured(Settings(profile="ragstone")).cache_entries == 1000
    given = Settings(cache=CacheSettings(max_entries=50))
    given._given["cache.max_entries"] = GivenValue(50, Origin("environment"))
    assert Configured(given).cache_entries == 50


@pytest.mark.conforms("V5", "Configuration", "50 candidates, relevance_threshold 0.3, 5 passages")
def test_a_chats_search_has_its_documents_numbers() -> None:
    found = plan("chats")
    assert (found.candidates, found.top_k) == (50, 5)
    assert stages("chats")["route"].reranked == 50  # type: ignore[attr-defined]
    assert (found.min_similarity, found.fusion) == (0.3, "ranks")
