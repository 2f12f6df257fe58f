"""The `ragstone settings` commands: what is set, where it comes from, and changes at run time."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragstone.cli import options as opt
from ragstone.cli.running import run, settings_of

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
Place = tuple[str, str, str]
"""A tenant, a collection and a dialect, empty for none."""
WHO = "local"
"""Who the log says it was; a server takes that from the credential."""


@app.command("list")
def list_(
    context: Context,
    section: Annotated[str, typer.Argument(metavar="[SECTION]", help="Like rag.")] = "",
    changed: Annotated[
        bool, typer.Option("--changed", help="Only what is not the default.")
    ] = False,
    tenant: Tenant = "",
    collection: Collection = "",
    dialect: Dialect = "",
    as_json: opt.AsJson = False,
) -> None:
    """List the settings with their values and where those come from."""
    run(
        settings_of(context),
        lambda service: _list(service, section, changed, (tenant, collection, dialect), as_json),
    )


@app.command()
def get(
    context: Context,
    key: Key,
    tenant: Tenant = "",
    collection: Collection = "",
    dialect: Dialect = "",
    as_json: opt.AsJson = False,
) -> None:
    """Print the value of a setting."""
    run(
        settings_of(context),
        lambda service: _get(service, key, (tenant, collection, dialect), as_json),
    )


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
    run(settings_of(context), lambda service: _set(service, scope, values))


@app.command()
def unset(
    context: Context,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Settings.")],
    scope: Scope = "global",
) -> None:
    """Take settings out of a scope: what stands below it holds again."""
    run(settings_of(context), lambda service: _unset(service, scope, keys))


@app.command()
def explain(
    context: Context,
    key: Key,
    tenant: Tenant = "",
    collection: Collection = "",
    dialect: Dialect = "",
    as_json: opt.AsJson = False,
) -> None:
    """Show what a setting is, what it may be, and every place that has a value for it."""
    run(
        settings_of(context),
        lambda service: _explain(service, key, (tenant, collection, dialect), as_json),
    )


@app.command()
def log(
    context: Context,
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="Only this one.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most changes to show.")] = 50,
    as_json: opt.AsJson = False,
) -> None:
    """Show who changed what, the newest first."""
    run(settings_of(context), lambda service: _log(service, key, limit, as_json))


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


async def _list(
    service: "Service", section: str, changed: bool, where: Place, as_json: bool
) -> int:
    from ragstone.cli.show import out, out_json, table
    from ragstone.service import wire

    found = [
        one
        for one in await service.settings.listed(*where)
        if (not section or one.key == section or one.key.startswith(f"{section}."))
        and not (changed and one.source == "default")
    ]
    if as_json:
        out_json({"settings": [wire.dump(one) for one in found]})
    elif not found:
        out("There are no such settings.")
    else:
        rows = [
            (
                one.key,
                _display_value(one.value),
                f"{one.source} {one.where}".strip(),
                _when(one.restart),
            )
            for one in found
        ]
        table(("setting", "value", "from", "changes"), rows)
    return 0


async def _get(service: "Service", key: str, where: Place, as_json: bool) -> int:
    from ragstone.cli.show import out, out_json
    from ragstone.service import wire

    found = await service.settings.get(key, *where)
    if as_json:
        out_json(wire.dump(found))
    else:
        out(_display_value(found.value))
    return 0


async def _set(service: "Service", scope: str, values: dict[str, str]) -> int:
    from ragstone.cli.show import out

    for one in await service.settings.put(scope, values, WHO):
        out(f"{one.key} is {_display_value(one.value)} ({one.source} {one.where}).")
    return 0


async def _unset(service: "Service", scope: str, keys: list[str]) -> int:
    from ragstone.cli.show import out

    for one in await service.settings.unset(scope, keys, WHO):
        out(f"{one.key} is {_display_value(one.value)} ({one.source} {one.where}".rstrip() + ").")
    return 0


async def _explain(service: "Service", key: str, where: Place, as_json: bool) -> int:
    from ragstone.cli.show import out, out_json, table
    from ragstone.service import wire

    one = await service.settings.get(key, *where)
    layers = await service.settings.explain(key, *where)
    if as_json:
        out_json({**wire.dump(one), "layers": [wire.dump(layer) for layer in layers]})
        return 0
    out(f"{one.key}: {one.help}")
    out(
        f"It is {one.kind}{', ' + one.bounds if one.bounds else ''}; the default is "
        f"{_display_value(one.default) or 'none'}."
    )
    names = ", ".join((one.variable, *one.names))
    out(f"Set at the start by {names} in the environment or in .env, or in the file of --config.")
    out(_where(one.scopes))
    rows = [(layer.source, layer.where, _display_value(layer.value)) for layer in layers]
    table(("from", "where", "value"), rows)
    out(f"{f'{one.source} {one.where}'.strip()} counts: {_display_value(one.value) or 'none'}.")
    return 0


async def _log(service: "Service", key: str, limit: int, as_json: bool) -> int:
    from datetime import datetime

    from ragstone.cli.show import out, out_json, table
    from ragstone.service import wire

    found = await service.settings.log(limit, key)
    if as_json:
        out_json({"changes": [wire.dump(one) for one in found]})
    elif not found:
        out("No setting was changed.")
    else:
        rows = [
            (
                datetime.fromtimestamp(one.at).strftime("%Y-%m-%d %H:%M:%S"),
                one.who,
                one.scope,
                one.key,
                _display_value(one.old),
                "unset" if one.action == "unset" else _display_value(one.new),
            )
            for one in found
        ]
        table(("when", "who", "scope", "setting", "before", "after"), rows)
    return 0


def _display_value(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _when(restart: bool) -> str:
    return "at the start" if restart else "at once"


def _where(scopes: tuple[str, ...]) -> str:
    if not scopes:
        return "It is read when the server starts."
    return f"It can change at run time: {', '.join(scopes)}."
