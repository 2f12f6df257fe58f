"""Writes `docs/reference.md` and `docs/ragstone.1` from the code: settings, stages, events, errors,
commands.

`python -m tests.documentation.reference docs` writes them; a test fails when they are out of date.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from ragstone import __version__
from ragstone.cli import app
from ragstone.cli.plugins import command_tree
from ragstone.core import errors, events
from ragstone.engine.stage import Stage
from ragstone.language.templates import PROMPTS
from ragstone.recipes import setting_table
from ragstone.recipes.recipe import stages
from ragstone.recipes.stage_options import PREFIX
from ragstone.recipes.stages import RecipeKey, with_added
from ragstone.settings import Settings, aliases
from ragstone.settings.added import find_aliases
from ragstone.settings.profiles import PROFILES

FILE = "reference.md"
MAN_PAGE = "ragstone.1"


def reference() -> str:
    """The whole page as Markdown."""
    parts = [
        "# Reference\n\nMade from the code by `make docs`.\n",
        "## Settings\n\nRead from the file of `--config` or `RAGSTONE_CONFIG`, a `.env` file in "
        "the working directory, and the environment, where the later counts; see "
        "[settings.md](settings.md). Those with scopes can change at run time too.\n\n"
        "| setting | variable | default | scopes | what it is |\n| --- | --- | --- | --- | --- |\n",
        "".join(_settings()),
        "\n### Profiles of the dialects\n\nThe numbers that the documents print, where they differ "
        "from ours: the defaults for questions that come through a dialect, unless "
        "`PROFILE=ragstone`.\n\n| dialect | setting | its document's | ours |\n"
        "| --- | --- | --- | --- |\n",
        "".join(_profiles()),
        "\n### Names of other systems\n\nWhat their documents call these settings; it works in the "
        "environment, in the file, and for `ragstone settings`.\n\n"
        "| name | document | setting |\n| --- | --- | --- |\n",
        "".join(_aliases()),
        "\n## Prompts\n\n| prompt | places | what it is for |\n| --- | --- | --- |\n",
        "".join(_prompts()),
        "\n## Stages\n\nIn the order of the `standard` recipe.\n",
        "".join(_stages()),
        "\n## Events\n\n| event | meaning |\n| --- | --- |\n",
        "".join(_row(kind.__name__, _summary(kind)) for kind in get_args(events.Event)),
        "\n## Errors\n\n| code | HTTP status | retry | class |\n| --- | --- | --- | --- |\n",
        "".join(_errors(errors.RagstoneError)),
        "\n## Commands\n",
        "".join(_commands(command_tree(app), "ragstone")),
    ]
    return "".join(parts)


def _settings() -> Iterator[str]:
    for item in setting_table.table().values():
        default = "~/.local/share/ragstone" if item.key == "ragstone_data" else item.default
        shown = f"`{default}`" if default not in ("", None) else "none"
        scopes = ", ".join(item.scopes) or "at the start"
        yield _row(f"`{item.key}`", f"`{item.variable}`", shown, scopes, item.help)


def _profiles() -> Iterator[str]:
    usual = stages(Settings(), "standard")
    for dialect, values in PROFILES.items():
        for key, value in values.items():
            if key.startswith(f"{PREFIX}."):
                _, stage, option = key.split(".")
                ours = getattr(usual[stage], option)
            else:
                ours = setting_table.table()[key].default
            shown = "the model's" if ours is None and key.startswith("llm.") else f"`{ours}`"
            yield _row(f"`{dialect}`", f"`{key}`", f"`{value}`", shown)


def _aliases() -> Iterator[str]:
    for item in find_aliases():
        of_parts = aliases.MADE_OF_PARTS.get(item.key)
        made = f"`{of_parts}` ({item.key})" if of_parts else f"`{item.key}`"
        yield _row(f"`{item.name}`", item.document, made if item.key else item.note or "no effect")


def _prompts() -> Iterator[str]:
    for name, item in PROMPTS.items():
        places = [*(f"`{{{place}}}`" for place in sorted(item.needed))]
        places += [f"`{{{place}}}` (may be left out)" for place in sorted(item.allowed)]
        yield _row(f"`{name}`", ", ".join(places), item.help)


def _stages() -> Iterator[str]:
    core = tuple(stages(Settings(), "standard").values())
    for stage in with_added(core, RecipeKey(Settings(), "standard", "plain")):
        yield f"\n### {stage.name}\n\n{_doc(type(stage))}\n\nFails {stage.fails}."
        yield "\n\n| option | default | what it is |\n| --- | --- | --- |\n"
        yield from _options(stage)


def _options(stage: Stage) -> Iterator[str]:
    for name, field in type(stage).model_fields.items():
        if field.exclude:
            continue
        described = field.description or Stage.model_fields[name].description or ""
        yield _row(f"`{name}`", f"`{getattr(stage, name)}`", described)


def _errors(kind: type[errors.RagstoneError]) -> Iterator[str]:
    if not kind.__name__.startswith("_"):
        yield _row(f"`{kind.code}`", str(kind.status), "yes" if kind.retry else "no", kind.__name__)
    for child in kind.__subclasses__():
        # An adapter's own are those to a caller.
        if child.__module__.startswith(f"{errors.__name__}."):
            yield from _errors(child)


def _commands(command: Any, name: str) -> Iterator[str]:
    children = getattr(command, "commands", {})
    if command.params or not children:
        yield from _command(command, name)
    for child in sorted(children):
        yield from _commands(children[child], f"{name} {child}")


def _command(command: Any, name: str) -> Iterator[str]:
    yield f"\n### {name}\n\n{inspect.cleandoc(command.help or '')}\n\n"
    yield "| argument or option | what it is |\n| --- | --- |\n"
    for parameter in command.params:
        yield _row(f"`{_spelling(parameter)}`", getattr(parameter, "help", "") or "")


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return (parameter.name or "").upper()
    return ", ".join([*parameter.opts, *parameter.secondary_opts])


def man_page() -> str:
    """Return the manual of the command line in the macros of man(7)."""
    command = command_tree(app)
    parts = [
        f'.TH RAGSTONE 1 "" "ragstone {__version__}" "User commands"\n',
        f".SH NAME\nragstone \\- {_roff(command.help)}\n",
        ".SH SYNOPSIS\n.B ragstone\n[OPTIONS] COMMAND [ARGS]...\n",
        ".SH OPTIONS\n",
        *map(_man_parameter, command.params),
        ".SH COMMANDS\n",
    ]
    for name, item in _leaves(command, "ragstone"):
        parts += [f".SS {name}\n{_roff(item.help)}\n", *map(_man_parameter, item.params)]
    return "".join(parts)


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands that have no commands below them, with their whole names."""
    for child, item in sorted(command.commands.items()):
        below = f"{name} {child}"
        yield from _leaves(item, below) if hasattr(item, "commands") else [(below, item)]


def _man_parameter(parameter: Any) -> str:
    text = _roff(getattr(parameter, "help", "")) or "."
    return f".TP\n.B {_roff(_spelling(parameter))}\n{text}\n"


def _roff(text: str | None) -> str:
    """Escape what man(7) would read as a request or typeset as another sign."""
    line = " ".join((text or "").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in (".", "'") else line


def _summary(kind: type[Any]) -> str:
    return _doc(kind).split("\n\n")[0].replace("\n", " ")


def _doc(kind: type[Any]) -> str:
    return inspect.cleandoc(kind.__doc__ or "")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"


if __name__ == "__main__":
    Path(sys.argv[1], FILE).write_text(reference(), encoding="utf-8")
    Path(sys.argv[1], MAN_PAGE).write_text(man_page(), encoding="utf-8")
