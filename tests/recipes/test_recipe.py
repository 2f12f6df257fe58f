"""Recipes: their variants, what they are made of, and what is refused before a question comes."""

from typing import ClassVar

import pytest

from ragstone.core.errors import ConfigError
from ragstone.core.turn import LEVELS, Ask, Level
from ragstone.engine.recipe import Recipe
from ragstone.engine.stage import TURN, Stage
from ragstone.recipes.recipe import EACH, FORMS, ROUNDS, Recipes, Variant, stages
from ragstone.settings import RagSettings, Settings
from ragstone.settings.rag import SelfRagSettings


def names(recipe: Recipe) -> list[str]:
    return [stage.name for stage in recipe.stages]


def test_given_a_graph_then_the_search_asks_it_behind_what_is_found() -> None:
    with_graph = Settings(rag=RagSettings(knowledge_graph_enabled=True))
    found = names(Recipes(with_graph).of("search", "standard"))
    assert found[found.index("add_related") - 1] == "deduplicate"
    assert "add_related" not in names(Recipes(Settings()).of("search", "standard"))


@pytest.mark.parametrize("level", LEVELS)
def test_given_a_variant_then_every_name_in_it_is_a_stage(level: Level) -> None:
    known = stages(Settings(), level)
    for form in FORMS.values():
        inside = [name for inner in form.inner.values() for name in inner]
        assert {*form.stages, *form.tail, *inside, *form.inner, *form.options} <= set(known)
        for name, options in form.options.items():
            assert set(options) <= set(type(known[name]).model_fields)
    assert len(list(Recipes(Settings()).every())) == len(FORMS) * len(LEVELS)


def test_given_a_question_then_the_variant_that_it_takes() -> None:
    recipes = Recipes(Settings())
    for level in LEVELS:
        judged, plain = recipes.of("judged", level), recipes.of("plain", level)
        usual = recipes.answer_recipe(Ask("q", level=level))
        assert usual is (judged if level in ROUNDS else plain)
        assert recipes.answer_recipe(Ask("q", level=level, verifies=True)) is judged
        assert recipes.answer_recipe(Ask("q", level=level, verifies=False)) is plain
    never = Recipes(Settings(self_rag=SelfRagSettings(enabled=False)))
    assert "rounds" not in names(never.answer_recipe(Ask("q", level="maximum")))
    assert "rounds" in names(never.answer_recipe(Ask("q", level="maximum", verifies=True)))
    assert "converse" in names(recipes.answer_recipe(Ask("q", search_type="gpt")))
    assert "tool_agent" in names(recipes.answer_recipe(Ask("q", search_type="pa")))


def test_given_stages_inside_others_then_they_are_made_as_the_variant_wants_them() -> None:
    recipes = Recipes(Settings())
    [rounds] = [stage for stage in recipes.of("judged", "maximum").stages if stage.name == "rounds"]
    inner = {item.name: item for item in rounds.inner}
    assert inner["generate"].holds  # type: ignore[attr-defined]
    assert [item.name for item in inner["grade_passages"].inner] == names(
        recipes.of("search", "maximum")
    )[-6:-1]
    plain = {stage.name: stage for stage in recipes.of("plain", "maximum").stages}
    assert not plain["generate"].holds  # type: ignore[attr-defined]
    searched = {stage.name: stage for stage in recipes.of("search", "maximum").stages}
    assert searched["deduplicate"].near_duplicate == 1  # type: ignore[attr-defined]
    assert not searched["guard"].answers  # type: ignore[attr-defined]


def test_given_tools_or_json_then_no_stage_computes_the_answer_before_them() -> None:
    recipes = Recipes(Settings())
    computing = {"tables", "ask_comments"}
    assert computing <= set(names(recipes.of("plain", "standard")))
    others: set[Variant] = {"search", "functions", "tools", "conversation", "structured"}
    for variant in others:
        assert not computing & set(names(recipes.of(variant, "standard")))


def test_given_any_variant_then_each_question_of_several_is_searched() -> None:
    waiting = [stage for recipe in Recipes(Settings()).every() for stage in recipe.stages]
    for stage in waiting:
        waiting.extend(stage.inner)
        if stage.name == "search_subqueries":
            assert [item.name for item in stage.inner] == list(EACH[stage.name])
    assert any(stage.name == "search_subqueries" for stage in waiting)


def test_given_a_stage_that_names_no_field_of_a_turn_then_it_is_refused_at_import() -> None:
    assert {"question", "hits", "answer"} <= TURN
    with pytest.raises(TypeError, match="citations"):

        class Wrong(Stage):
            """Gives what a Turn has not."""

            name: ClassVar[str] = "wrong"
            gives: ClassVar[frozenset[str]] = frozenset({"citations"})


class NeedsHits(Stage):
    """Cannot stand first."""

    name: ClassVar[str] = "needs"
    needs: ClassVar[frozenset[str]] = frozenset({"hits"})


def test_given_a_wrong_order_inside_a_stage_then_the_recipe_is_refused() -> None:
    with pytest.raises(ConfigError, match="'needs' needs hits"):
        Recipe((Around(inner=(NeedsHits(),)),))


class Around(Stage):
    """Runs others."""

    name: ClassVar[str] = "around"
