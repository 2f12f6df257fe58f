"""No setting is read and changes nothing.

What a question meets is made of recipes: every setting of those sections changes a stage. Each
other one stands in `tested.tsv` with the test that changes it and sees what it does, against the
real engine where it needs one. A new setting without either fails here.
"""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

import ragstone
from ragstone.core.turn import LEVELS, Ask
from ragstone.engine.stage import Stage
from ragstone.local.configured import merge_settings
from ragstone.recipes.recipe import Recipes, stages
from ragstone.recipes.setting_table import table
from ragstone.settings import Settings

SOURCE = Path(ragstone.__file__).parent
TESTS = Path(__file__).parents[1]
OF_RECIPES = (
    "rag",
    "self_rag",
    "adaptive",
    "spelling",
    "conversation",
    "ensemble",
    "cache",
    "statistics",
)

TESTED: Mapping[str, str] = dict(
    line.split("\t")
    for line in Path(__file__).with_name("tested.tsv").read_text("utf-8").splitlines()
)
"""Settings that make no stage: the test, below `tests/`, that changes each and sees it."""

VALUES: tuple[Any, ...] = (1, 2, 5, 7, 50, 1000, 0.25, 0.5, 0.9, True, False, "other text", 3000)


def others(key: str) -> Iterator[Settings]:
    """Settings in which this one has another value."""
    section, _, name = key.partition(".")
    field = type(Settings().part(section)).model_fields[name]
    for value in (*get_args(field.annotation), *VALUES):
        try:
            yield merge_settings(Settings(), {key: value})
        except (ValidationError, TypeError):
            continue


def shown(settings: Settings) -> str:
    """Every stage of every level with its options, and which of them answer; without what only
    tells settings apart."""
    made = [(level, stage) for level in LEVELS for stage in stages(settings, level).values()]
    recipes = Recipes(settings)
    options = [
        (level, item.name, name, getattr(item, name))
        for level, item in made
        for name in type(item).model_fields
        if name not in ("inner", "recipe", "since")
    ]
    answers = [
        [stage.name for stage in recipes.answer_recipe(Ask("q", level=level)).stages]
        for level in LEVELS
    ]
    return repr((options, answers))


USUAL = shown(Settings())


@pytest.mark.parametrize(
    "key",
    [key for key in table() if key.partition(".")[0] in OF_RECIPES and key not in TESTED],
)
def test_given_another_value_then_a_stage_is_another(key: str) -> None:
    tried = [
        settings for settings in others(key) if settings.model_dump() != Settings().model_dump()
    ]
    assert tried, key
    if key == "conversation.db_rehydration_enabled":
        assert any(
            getattr(stages(item, "standard")["contextualize"], "since", 0.0) for item in tried
        )  # Turns from before the start are left out.
        return
    assert any(shown(item) != USUAL for item in tried), f"{key} changes nothing"


def test_every_option_of_a_stage_is_read_by_it() -> None:
    unread = [
        f"{stage.name}.{option}"
        for level in LEVELS
        for stage in stages(Settings(), level).values()
        for option in type(stage).model_fields
        if not _reads(type(stage), option)
    ]
    assert not unread


def _reads(stage: type[Stage], option: str) -> bool:
    """Whether the code of a stage, or of what runs it, reads an option."""
    files = {inspect.getsourcefile(item) for item in stage.__mro__ if issubclass(item, Stage)}
    files |= {str(path) for path in (SOURCE / "engine").glob("*.py")}
    return any(option in _attributes(Path(str(file))) for file in files)


@cache
def _attributes(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


def test_every_other_setting_is_tested_by_its_effect() -> None:
    for key in table():
        if key.startswith("stages."):
            continue
        if key in TESTED:
            file, _, name = TESTED[key].partition("::")
            assert name in _tests(TESTS / file), f"{key}: there is no {TESTED[key]}"
            assert _names(key) & _said(TESTS / file), f"{file} does not name {key}"
        else:
            assert key.partition(".")[0] in OF_RECIPES, f"{key} stands nowhere in tested.tsv"


def test_no_setting_stands_in_the_table_that_is_none() -> None:
    assert not TESTED.keys() - table().keys()


def _names(key: str) -> set[str]:
    """What a test may call a setting: its field, its variable, or a document's name."""
    known = table()[key]
    return {key.rpartition(".")[2], key, known.variable, *known.names}


@cache
def _tests(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    made = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, made))


@cache
def _said(file: Path) -> frozenset[str]:
    """The names, keywords and whole texts in a file of tests and in what it imports of others."""
    found: set[str] = set()
    for item in (file, *_imported(file)):
        for node in ast.walk(ast.parse(item.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword | ast.arg) and node.arg:
                found.add(node.arg)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, node.value.partition("=")[0], node.value.partition(":")[0]}
    return frozenset(found)


def _imported(file: Path) -> Iterator[Path]:
    """The helpers of the tests that a file imports or starts as programs, and those beside it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        named = node.module if isinstance(node, ast.ImportFrom) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value
        if named and re.fullmatch(r"tests(\.\w+)+", named):
            module = TESTS.parent / f"{named.replace('.', '/')}.py"
            if module.is_file():
                yield module
    if (beside := file.with_name("conftest.py")).is_file():
        yield beside
