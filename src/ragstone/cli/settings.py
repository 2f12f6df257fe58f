"""The `ragstone settings` commands: what is set, where it comes from, and changes at run time."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import format_time, out_json, print_text, show_list, table
from ragstone.cli.running import command, context_settings, run

if TYPE_CHECKING:
    from ragstone.service import Service

app = typer.Typer(
    help="Settings: what holds, why, and changes while the server runs.",
    add_completion=False,
    no_args_is_help=True,
)

Context = typer.Context
Key = Annotated[str, typer.Argument(metavar="KEY", help="Like rag.top_k, or a document's name.")]
Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="As it holds for it.")]
Collection = Annotated[
    str, typer.Option("--collection", "-c", metavar="NAME", help="And for this collection of it.")
]
Scope = Annotated[
    str,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help="global, dialect:NAME, tenant:NAME or collection:TENANT/NAME.",
    ),
]
Dialect = Annotated[
    str, typer.Option("--dialect", metavar="NAME", help="As it holds for questions through it.")
]
WHO = "local"
"""Who the log says it was; a server takes that from the credential."""


@command(app, "list")
async def list_(
    service: "Service",
    section: Annotated[str, typer.Argument(metavar="[SECTION]", help="Like rag.")] = "",
    changed: Annotated[
        bool, typer.Option("--changed", help="Only what is not the default.")
    ] = False,
    tenant: Tenant = "",
    collection: Collection = "",
    dialect: Dialect = "",
    as_json: opt.AsJson = False,
) -> int:
    """List the settings with their values and where those come from."""
    found = [
        item
        for item in await service.settings.list_all(tenant, collection, dialect)
        if (not section or item.key == section or item.key.startswith(f"{section}."))
        and not (changed and item.source == "default")
    ]
    rows = (
        (
            item.key,
            _display_value(item.value),
            f"{item.source} {item.where}".strip(),
            "at the start" if item.restart else "at once",
        )
        for item in found
    )
    head = ("setting", "value", "from", "changes")
    return show_list("settings", found, as_json, head, rows, "There are no such settings.")


@command(app)
async def get(
    service: "Service",
    key: Key,
    tenant: Tenant = "",
    collection: Collection = "",
    dialect: Dialect = "",
    as_json: opt.AsJson = False,
) -> int:
    """Print the value of a setting."""

    found = await service.settings.get(key, tenant, collection, dialect)
    if as_json:
        out_json(found)
    else:
        print_text(_display_value(found.value))
    return 0


@app.command("set")
def set_(
    context: Context,
    pairs: Annotated[
        list[str], typer.Argument(metavar="KEY VALUE | KEY=VALUE...", help="What to set to what.")
    ],
    scope: Scope = "global",
) -> None:
    """Change settings; all of those named or, if one cannot be, none."""
    values = _values(pairs)
    run(context_settings(context), lambda service: _set(service, scope, values))


@command(app)
async def unset(
    service: "Service",
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Settings.")],
    scope: Scope = "global",
) -> int:
    """Take settings out of a scope: what stands below it holds again."""
    for item in await service.settings.unset(scope, keys, WHO):
        print_text(
            f"{item.key} is {_display_value(item.value)} ({item.source} {item.where}".rstrip()
            + ")."
        )
    return 0


@command(app)
async def explain(
    service: "Service",
    key: Key,
    tenant: Tenant = "",
    collection: Collection = "",
    dialect: Dialect = "",
    as_json: opt.AsJson = False,
) -> int:
    """Show what a setting is, what it may be, and every place that has a value for it."""
    from ragstone.service import wire

    one = await service.settings.get(key, tenant, collection, dialect)
    layers = await service.settings.explain(key, tenant, collection, dialect)
    if as_json:
        out_json({**wire.dump(one), "layers": layers})
        return 0
    print_text(f"{one.key}: {one.help}")
    print_text(
        f"It is {one.kind}{', ' + one.bounds if one.bounds else ''}; the default is "
        f"{_display_value(one.default) or 'none'}."
    )
    names = ", ".join((one.variable, *one.names))
    print_text(
        f"Set at the start by {names} in the environment or in .env, or in the file of --config."
    )
    print_text(_where(one.scopes))
    rows = [(layer.source, layer.where, _display_value(layer.value)) for layer in layers]
    table(("from", "where", "value"), rows)
    print_text(
        f"{f'{one.source} {one.where}'.strip()} counts: {_display_value(one.value) or 'none'}."
    )
    return 0


@command(app)
async def log(
    service: "Service",
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="Only this one.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most changes to show.")] = 50,
    as_json: opt.AsJson = False,
) -> int:
    """Show who changed what, the newest first."""
    found = await service.settings.log(limit, key)
    rows = (
        (
            format_time(item.at, seconds=True),
            item.who,
            item.scope,
            item.key,
            _display_value(item.old),
            "unset" if item.action == "unset" else _display_value(item.new),
        )
        for item in found
    )
    head = ("when", "who", "scope", "setting", "before", "after")
    return show_list("changes", found, as_json, head, rows, "No setting was changed.")


def _values(pairs: list[str]) -> dict[str, str]:
    """`KEY VALUE`, or any number of `KEY=VALUE`."""
    if len(pairs) == 2 and "=" not in pairs[0]:
        return {pairs[0]: pairs[1]}
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals or key in values:
            raise typer.BadParameter("give KEY VALUE, or KEY=VALUE for each of several")
        values[key] = value
    return values


async def _set(service: "Service", scope: str, values: dict[str, str]) -> int:
    for item in await service.settings.put(scope, values, WHO):
        print_text(f"{item.key} is {_display_value(item.value)} ({item.source} {item.where}).")
    return 0


def _display_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _where(scopes: tuple[str, ...]) -> str:
    if not scopes:
        return "It is read when the server starts."
    return f"It can change at run time: {', '.join(scopes)}."
