"""Settings of the pipeline document do what they say, and options of stages can be set."""

from dataclasses import replace

import pytest

from ragstone.answer.assemble import Assemble, build_prompt
from ragstone.answer.generate import Generate
from ragstone.conversation.classify import Classify
from ragstone.conversation.contextualize import Contextualize
from ragstone.conversation.converse import Converse
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import ConfigError, InputError
from ragstone.core.intent import Intent
from ragstone.core.turn import Ask, Level, Message, Plan, Principal, Turn
from ragstone.engine.recipe import Recipe
from ragstone.engine.stage import Stage
from ragstone.language.templates import ROOM
from ragstone.ports import Said
from ragstone.recipes.recipe import Recipes
from ragstone.retrieve.grade_passages import GradePassages
from ragstone.settings import CacheSettings, RagSettings, Settings
from ragstone.understand.rewrite import Rewrite
from ragstone.understand.route import Route
from ragstone.verify.cite import Cite
from tests.conversation.test_contextualize import ran as contextualize
from tests.engine.adapters import a_kit, ran
from tests.engine.samples import a_hit, a_passage
from tests.local_checker import local_checker
from tests.scripted import Scripted, ScriptedChat


class Says:
    """A chat model that says one thing, and keeps by which rules and to what."""

    name = "says"

    def __init__(self, texts: list[str]) -> None:
        self.text = texts[0]
        self.rules: list[str] = []
        self.texts: list[str] = []

    async def complete(
        self, rules: str, text: str, max_tokens: int, temperature: float = 0.0
    ) -> Said:
        self.rules.append(rules)
        self.texts.append(text)
        return Said(self.text)


class Own:
    """Prompts of one tenant."""

    def __init__(self, **texts: str) -> None:
        self.own = {name.replace("__", "."): text for name, text in texts.items()}

    async def texts(self, tenant: str = "") -> dict[str, str]:
        return self.own if tenant == "acme" else {}


ACME = Principal("acme")


def stage(recipe: Recipe, name: str) -> Stage:
    return next(item for item in recipe.stages if item.name == name)


def plan(level: Level = "standard", **rag: object):  # type: ignore[no-untyped-def]
    made = Recipes(Settings(rag=RagSettings.model_validate(rag))).of("plain", level)
    return stage(made, "route").plan  # type: ignore[attr-defined]


@pytest.mark.conforms("Query pipeline", "Settings", "rag.use_hybrid_search")
def test_given_no_hybrid_search_then_every_level_searches_by_meaning() -> None:
    assert {plan(level, use_hybrid_search=False).strategy for level in ("standard", "maximum")} == {
        "dense"
    }
    assert plan().strategy == "hybrid"


def test_given_boosts_then_they_are_the_share_of_meaning() -> None:
    assert plan(boost_knn=3, boost_bm25=1).dense_weight == 0.75
    assert plan(boost_knn=3).dense_weight == 0.75
    assert plan(boost_knn=0, boost_bm25=0).dense_weight == plan().dense_weight


def test_given_no_verification_then_no_passage_is_left_out_as_unlike() -> None:
    assert plan(similarity_threshold=0.4).min_similarity == 0.4
    assert plan(similarity_threshold=0.4, verification_enabled=False).min_similarity == 0


async def test_given_most_passages_then_a_request_for_more_is_refused() -> None:
    turn = Turn(Ask("q", top_k=1001), question="q", intent=Intent("factual"), queries=("q",))
    with pytest.raises(InputError, match="top_k is 1001; it must lie between 1 and 1000"):
        await ran(Route(), turn)


@pytest.mark.conforms("Query pipeline", "Settings", "rag.query_expansion_enabled")
async def test_given_expansion_then_every_question_is_searched_in_other_words() -> None:
    model = Says(["What does a lantern weigh?"])
    turn = Turn(Ask("q"), question="How heavy is the lantern of the harbour guard?", queries=("q",))
    step, _ = await ran(Rewrite(expands=True), turn, completer=model)
    assert step.decision == "multi"
    step, _ = await ran(Rewrite(), turn, completer=model)
    assert step.decision == "skipped"


@pytest.mark.conforms("Query pipeline", "Settings", "rag.hyde_enabled")
async def test_given_hyde_then_only_a_vague_question_gets_an_imagined_passage() -> None:
    model = Says(["The lantern weighs two kilograms, as the table of weights says."])
    vague = Turn(Ask("q"), question="Why so heavy?", queries=("q",))
    step, _ = await ran(Rewrite(imagines=True), vague, completer=model)
    assert step.turn.imagined
    long = "Which lantern of the harbour guard weighs more than two kilograms today?"
    step, _ = await ran(Rewrite(imagines=True), Turn(Ask("q"), question=long), completer=model)
    assert step.decision == "skipped"


@pytest.mark.conforms("Query pipeline", "Settings", "cache.enabled")
def test_given_the_cache_is_off_then_its_stages_are_gone() -> None:
    off = Settings(cache=CacheSettings(enabled=False))
    for made in Recipes(off).every():
        assert "recall" not in {item.name for item in made.stages}


def test_given_options_of_stages_then_they_hold_also_inside_rounds() -> None:
    made = Recipes(Settings(stages={"deduplicate": {"high": 0.9}, "rounds": {"timeout": 9}}))
    assert stage(made.of("plain", "standard"), "deduplicate").high == 0.9  # type: ignore[attr-defined]
    rounds = stage(made.of("judged", "maximum"), "rounds")
    inside = {item.name: item for item in rounds.inner}
    assert (rounds.timeout, inside["deduplicate"].high) == (9, 0.9)


def test_given_an_option_out_of_range_then_an_error_names_it() -> None:
    with pytest.raises(ConfigError, match=r"stages\.deduplicate\.high is wrong"):
        Recipes(Settings(stages={"deduplicate": {"high": 2}})).of("plain", "standard")


def test_given_an_option_that_a_setting_decides_then_it_stays() -> None:
    made = Recipes(Settings(stages={"retrieve": {"rrf_k": 99}})).of("plain", "standard")
    assert stage(made, "retrieve").rrf_k == 30  # type: ignore[attr-defined]


async def test_given_most_characters_then_the_best_passages_that_fit() -> None:
    hits = tuple(a_hit(text, chunk_id=text) for text in ("a" * 40, "b" * 40, "c" * 40))
    step, _ = await ran(Assemble(context_chars=90), Turn(Ask("q"), hits=hits, plan=Plan()))
    assert [len(passage.text) for passage in step.turn.passages] == [40, 40]
    step, _ = await ran(Assemble(context_chars=30), Turn(Ask("q"), hits=hits, plan=Plan()))
    assert [len(passage.text) for passage in step.turn.passages] == [30]


@pytest.mark.conforms("RAG engine v1", "Nacos file", "citation.confidence_threshold")
async def test_given_a_least_confidence_then_weaker_citations_are_left_out() -> None:
    passages = (a_passage(1, "The lantern weighs two kilograms."),)
    turn = Turn(Ask("q"), passages=passages, answer=GeneratedAnswer("It is blue today. [1]"))
    assert len((await ran(Cite(), turn))[0].turn.answer.citations) == 1  # type: ignore[union-attr]
    step, _ = await ran(Cite(confidence=0.9), turn)
    assert step.turn.answer is not None
    assert step.turn.answer.citations == ()


@pytest.mark.conforms("RAG engine v1", "Prompt generator", "Prompts can be replaced")
async def test_given_own_prompts_then_each_work_is_told_by_them_for_that_tenant_alone() -> None:
    model = Says(['{"queries": ["What does the lantern weigh?"]}'])
    before = (Message("user", "Tell me of the lantern."), Message("assistant", "It is bright."))
    own = Own(rewrite_query="Make it whole.", rewrite__multi="Give {count}.")
    for who in (ACME, Principal()):
        ask = Ask("What does it weigh?", who, history=before)
        stage = Contextualize(rewriting_by="llm")
        await contextualize(stage, Turn(ask), completer=model, templates=own)
    assert model.rules[0] == "Make it whole."
    assert model.rules[1].startswith("You turn the last message")
    turn = Turn(Ask("q", ACME), question="What does the lantern weigh?", queries=("q",))
    await ran(Rewrite(expands=True), turn, completer=model, templates=own)
    assert model.rules[2] == "Give 2."


async def test_given_own_prompts_then_grades_thoughts_and_needs_are_told_by_them() -> None:
    own = Own(
        appraisal="Grade.",
        thoughts="Think.",
        need="Is it needed?",
        need_answer="Or say {documents}.",
        conversation="Talk {language}.",
    )
    model, chat = Says(["no"]), ScriptedChat([["Hm."]])
    before = (Message("user", "Tell me of the lantern."), Message("assistant", "It is bright."))
    asked = "What does the lantern weigh?"
    turn = Turn(
        Ask(asked, ACME, history=before),
        question=asked,
        hits=(a_passage(1, "Two kilograms.").hit,),
        passages=(a_passage(1, "Two kilograms."),),
    )
    again = replace(turn, ask=replace(turn.ask, question="Repeat that."))
    checker = local_checker()
    for item in (
        GradePassages(),
        Generate(thinks="always"),
        Classify(asks_model=False, asks_documents=True),
    ):
        await ran(item, turn, completer=model, checker=checker, templates=own, answerer=Scripted())
    await ran(Classify(asks_model=False), again, completer=model, checker=checker, templates=own)
    graded, thought, *needs = model.rules
    assert (graded, needs) == ("Grade.", ["Is it needed?", "Or say DOCUMENTS."])
    assert "Two kilograms." in thought
    assert model.texts[1].startswith("Think.")
    await ran(Converse(), turn, chat=chat, templates=own)
    assert chat.asked[0][1] == "Talk English."


async def test_given_a_system_prompt_then_it_stands_before_the_rules() -> None:
    own = Own(**{ROOM: "You are the harbour's clerk."})
    step = await build_prompt(Turn(Ask("q", ACME), question="How high?"), a_kit(templates=own))
    assert step.turn.instructions.opening.startswith("You are the harbour's clerk.\nYou answer")
