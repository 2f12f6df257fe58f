"""Commands that plugins and other packages add below `ragstone`."""

from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from ragstone.registry import Registry

COMMANDS: Registry[typer.Typer] = Registry("ragstone.commands", "command", {}, is_a=typer.Typer)
"""Groups of commands by their name on the command line."""


def command_tree(app: typer.Typer) -> Any:
    """The command of `app` with those of Ragstone's plugins loaded into its `commands`."""
    command: Any = get_command(app)
    for name in COMMANDS.ours:
        command.add_command(command.get_command(None, name), name)
    return command


class ExtensibleGroup(TyperGroup):
    """The commands of the core, and those of `COMMANDS`, which are imported when they are called.
    A command of the core cannot be replaced."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name. Raises ConfigError for one of a package that is broken."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in COMMANDS:
            return own
        parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
        parent.add_typer(COMMANDS.get(cmd_name), name=cmd_name)
        return get_group(parent).get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of Ragstone's commands; those of other packages are not looked for, as that
        takes 40 ms (`ragstone plugins` shows them)."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in COMMANDS.ours if name not in own)]
