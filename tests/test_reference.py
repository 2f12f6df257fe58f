"""Nothing is undocumented: settings, stages, events, commands, dependencies."""

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ragstone.cli import app
from ragstone.cli.plugins import command_tree
from ragstone.recipes.recipe import Recipes
from ragstone.settings import Settings
from ragstone.settings.all import complete_settings
from tests.documentation.reference import FILE, MAN_PAGE, man_page, reference

ROOT = Path(__file__).parents[1]


def test_the_reference_page_is_what_the_code_says() -> None:
    written = (ROOT / "docs" / FILE).read_text(encoding="utf-8")
    assert written == reference(), "run `make docs`"


def test_the_manual_is_what_the_code_says_and_reads_without_a_warning() -> None:
    path = ROOT / "docs" / MAN_PAGE
    assert path.read_text(encoding="utf-8") == man_page(), "run `make docs`"
    if groff := shutil.which("groff"):
        read = [groff, "-man", "-Tutf8", "-ww", path]
        assert subprocess.run(read, capture_output=True, check=True).stderr == b""


def sections() -> list[type[BaseModel]]:
    nested = [f.annotation for f in complete_settings().model_fields.values()]
    return [Settings, *(n for n in nested if isinstance(n, type) and issubclass(n, BaseModel))]


def test_every_setting_says_what_it_is() -> None:
    silent = [
        f"{section.__name__}.{name}"
        for section in sections()
        for name, field in section.model_fields.items()
        if not field.description
        and not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel))
    ]
    assert not silent


def test_every_stage_says_what_it_does() -> None:
    for recipe in Recipes(Settings()).every():
        for stage in (*recipe.stages, *recipe.tail):
            assert type(stage).__doc__
            assert type(stage).__name__.lower().startswith(stage.name.replace("_", ""))


def commands(command: Any) -> list[Any]:
    if hasattr(command, "commands"):
        return [leaf for child in command.commands.values() for leaf in commands(child)]
    return [command]


def test_every_command_and_option_says_what_it_is() -> None:
    every = commands(command_tree(app))
    assert [command.name for command in every if not command.help] == []
    silent = [
        (command.name, option.name)
        for command in every
        for option in command.params
        if option.name != "help" and not getattr(option, "help", None)
    ]
    assert not silent


def test_every_dependency_is_justified() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    optional = [d for extra in project["optional-dependencies"].values() for d in extra]
    names = {
        d.split("[")[0].split(">")[0].split("=")[0] for d in (*project["dependencies"], *optional)
    }
    assert not {name for name in names if f"| {name} |" not in listed}
