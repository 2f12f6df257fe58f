"""`ragstone plugins`: every extension point, what fills it, and from which package.

Commands that plugins and other packages add below `ragstone`.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from ragstone.cli import options as opt
from ragstone.cli.printing import err, out_json, print_text
from ragstone.core.errors import ConfigError
from ragstone.registry import (
    OURS,
    PLUGINS_OFF,
    Extension,
    Registry,
    find_installed,
    find_plugins,
    summary,
)

if TYPE_CHECKING:
    from ragstone.registry import Registry

app = typer.Typer(add_completion=False)

POINTS = (
    "ragstone.ingest.formats.types:FORMATS",
    "ragstone.ingest.formats.recognition:RECOGNIZERS",
    "ragstone.index.connect:INDEXES",
    "ragstone.index.connect:RETRIEVERS",
    "ragstone.models.embedders:EMBEDDERS",
    "ragstone.models.named:NAMED_MODELS",
    "ragstone.retrieve.rerankers:RERANKERS",
    "ragstone.models.configured_chat:CHAT_MODELS",
    "ragstone.recipes.stages:STAGES",
    "ragstone.http.dialects:DIALECTS",
    "ragstone.http.dialects:MIDDLEWARE",
    "ragstone.store.connect:STATE_STORES",
    "ragstone.store.connect:CONVERSATION_STORES",
    "ragstone.cache.shared:SHARED_SERVERS",
    "ragstone.cli.plugins:COMMANDS",
    "ragstone.service.added:ADDED_SERVICES",
    "ragstone.local.added:ADDED_ADAPTERS",
    "ragstone.local.added:ADDED_DIRECTORIES",
    "ragstone.local.added:ADDED_ENRICHERS",
    "ragstone.local.added:ADDED_WORK",
    "ragstone.local.added:ADDED_OBSERVERS",
    "ragstone.settings.added:ADDED_SECTIONS",
)
"""Where the registry of each extension point of the core is."""


_DESCRIBED = {"ragstone.formats": "parse", "ragstone.stages": "stage"}
"""Which field of a thing says what it is for, where the thing is plain data."""


def points() -> "list[Registry[Any]]":
    """The registries of all extension points."""
    added = (point for plugin in find_plugins().values() for point in plugin.points)
    return [Extension(place).load() for place in (*POINTS, *added)]


@app.command()
def plugins(
    point: Annotated[
        str | None, typer.Argument(metavar="POINT", help="One point alone, such as formats.")
    ] = None,
    added: Annotated[bool, typer.Option("--added", help="Only what other packages bring.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Show what can be added by a package, and what is there. The exit status is 1 if anything of
    another package is broken. Packages are imported to find that out."""
    known = points()
    names = [item.group.removeprefix(f"{OURS}.") for item in known]
    if point is not None and point not in names:
        raise typer.BadParameter(f"there is no point {point!r}; use one of {', '.join(names)}")
    shown = {
        name: _rows(item, added)
        for name, item in zip(names, known, strict=True)
        if point in (None, name)
    }
    problems = _problems(known)
    whole = point is None and not added
    parts = {name: plugin.help for name, plugin in find_plugins().items()} if whole else {}
    if as_json:
        out_json({"plugins": parts, "points": shown, "problems": problems})
    else:
        if parts:
            width = max(map(len, parts))
            print_text(f"Plugins of Ragstone, which {PLUGINS_OFF}=NAME,NAME switches off")
            print_text("".join(f"  {name:<{width}}  {text}\n" for name, text in parts.items()))
        print_text("\n\n".join(_section(name, rows) for name, rows in shown.items()))
        for problem in problems:
            err(problem)
    raise typer.Exit(int(bool(problems)))


def _rows(registry: "Registry[Any]", added: bool) -> list[dict[str, str]]:
    return [
        {"name": name, "package": item.package, "help": item.help or _summary(registry, name)}
        for name, item in registry.items()
        if not added or item.package != OURS
    ]


def _summary(registry: "Registry[Any]", name: str) -> str:
    """The first line of an extension's description, and its error if it has one."""
    try:
        found = registry.load(name)
    except ConfigError:
        return "broken"
    return summary(getattr(found, _DESCRIBED.get(registry.group, ""), found))


def _problems(known: "list[Registry[Any]]") -> list[str]:
    """One sentence for everything of another package that cannot be used."""
    problems: list[str] = []
    for registry in known:
        problems += registry.refusals
        for name in registry.others:
            try:
                registry.load(name)
            except ConfigError as error:
                problems.append(error.message)
    for group in sorted(find_installed().keys() - {item.group for item in known}):
        if group.startswith(f"{OURS}."):
            problems += [
                f"{item.package} adds {name!r} to {group}, which is not an extension point."
                for name, item in find_installed()[group]
            ]
    return problems


def _section(name: str, rows: list[dict[str, str]]) -> str:
    names = [row["name"] or "(none)" for row in rows]
    width = max(map(len, names), default=0)
    lines = [
        f"  {item:<{width}}  {row['help']} ({row['package']})"
        for item, row in zip(names, rows, strict=True)
    ]
    return "\n".join([f"{name} ({OURS}.{name})", *lines])


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
