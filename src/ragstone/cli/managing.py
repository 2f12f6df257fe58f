"""The commands that look after what is indexed."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import one_line, out_json, print_text, show_list, table, value_text
from ragstone.cli.running import Context, command, confirm, context_settings, run, run_guarded
from ragstone.core.errors import ConfigError
from ragstone.core.turn import Principal

if TYPE_CHECKING:
    from ragstone.core.records import Document
    from ragstone.service import Service
    from ragstone.settings import Settings

app = typer.Typer(add_completion=False)

PAGE = 1000


@command(app)
async def status(service: "Service", as_json: opt.AsJson = False) -> int:
    """Show what is indexed, by which models, and whether a server runs."""
    from ragstone.cli.show import describe

    overview = await service.overview()
    if as_json:
        out_json(overview)
        return 0
    models = ", ".join(f"{name} ({use})" for name, use in overview.models.items())
    rows = [
        ("Ragstone", overview.version),
        ("Data", f"{overview.data} ({overview.disk_bytes / 1e6:,.1f} MB)"),
        ("Server", overview.server or "none"),
        ("Collections", f"{overview.collections:,}"),
        ("Documents", f"{overview.documents:,} ({overview.failed:,} failed)"),
        ("Chunks", f"{overview.chunks:,}"),
        ("Answers by", overview.answerer),
        ("Models", models or "none"),
    ]
    for name, value in rows:
        print_text(f"{name + ':':<13}{one_line(value)}")
    for job in overview.jobs:
        print_text(f"Job {job.job}: {describe(job)}")
    return 0


@app.command()
def token(
    context: Context,
    login: Annotated[
        bool, typer.Option("--login", help="The address for a browser, of a server that runs.")
    ] = False,
) -> None:
    """Print the token that requests to the server need as long as there are no keys."""
    settings = context_settings(context)
    run_guarded(lambda: _show_token(settings, login), settings)


def _show_token(settings: "Settings", login: bool) -> None:
    """Raises ConfigError without a data directory, or for `login` a server that takes it."""
    from ragstone.service.server_file import check_login, find_server, local_token, login_address

    data = settings.ragstone_data.expanduser().absolute()
    if not data.is_dir():
        raise ConfigError(
            f"There is no data directory {data}. Start 'ragstone serve', or name another with "
            "--data."
        )
    found = local_token(data)
    if not login:
        print_text(found)
        return
    server = find_server(data)
    if server is None:
        raise ConfigError(f"No server runs on {data}. Start one with 'ragstone serve'.")
    address = login_address(server[0], found)
    if not check_login(address):
        raise ConfigError(
            f"{server[0]} takes no address that signs in: keys are set, guests may do everything, "
            "or a command holds the data directory. Sign in with a key, or start 'ragstone serve'."
        )
    print_text(address)


@command(app)
async def collections(service: "Service", as_json: opt.AsJson = False) -> int:
    """List the collections."""
    found = await service.collections(Principal(), operator=True)
    if as_json:
        out_json({"collections": found})
    elif not found:
        print_text("There are no collections yet; create one with 'ragstone ingest'.")
    else:
        head = ("collection", "documents", "chunks", "failed", "pending", "model")
        rows = [
            (s.collection.name, s.documents, s.chunks, s.failed, s.pending, s.collection.model)
            for s in found
        ]
        table(head, rows)
        for note in (s.note for s in found if s.note):
            print_text(note)
    return 0


@command(app)
async def documents(
    service: "Service", collection: opt.Collection = "default", as_json: opt.AsJson = False
) -> int:
    """List the documents of a collection."""
    found: list[Document] = []
    while True:
        after = found[-1].path if found else ""
        page = await service.documents(
            Principal(), collection, limit=PAGE, after=after, operator=True
        )
        found.extend(page)
        if len(page) < PAGE:
            break
    rows = ((d.path, d.title, d.status, d.pages, d.chunks, d.error) for d in found)
    head = ("path", "title", "status", "pages", "chunks", "error")
    empty = f"There are no documents in the collection {collection!r}."
    return show_list("documents", found, as_json, head, rows, empty)


@command(app)
async def facets(
    service: "Service",
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="Only the values of this key.")] = "",
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most values of a key.")] = 10,
    as_json: opt.AsJson = False,
) -> int:
    """Show the metadata of a collection's documents: keys, values, and how many have them."""
    found = await service.reading.facets(Principal(), collection, key=key, limit=limit)
    if as_json:
        out_json({"facets": found})
    elif not found:
        what = f"the key {key!r}" if key else "metadata"
        print_text(f"No document of the collection {collection!r} has {what}.")
    for item in () if as_json else found:
        values = [f"{value_text(v.value)} ({v.documents:,})" for v in item.values]
        more = item.different - len(values)
        print_text(f"{item.key}: {', '.join(values)}{f' and {more:,} more' if more else ''}")
    return 0


@app.command()
def delete(
    context: Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="Paths as 'ragstone documents' shows them."),
    ] = None,
    collection: opt.Collection = "default",
    everything: Annotated[bool, typer.Option("--all", help="Delete the whole collection.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
) -> None:
    """Delete documents, folders of documents, or a whole collection from the index."""
    from ragstone.cli import commands

    if bool(paths) == everything:
        raise typer.BadParameter("name the documents to delete, or give --all, but not both")
    what = "all documents" if everything else " and ".join(paths or ())
    if not yes:
        confirm(f"Delete {what} of the collection {collection!r} from the index?")
    run(context_settings(context), lambda s: commands.delete(s, collection, paths or None))


@command(app)
async def rename(
    service: "Service",
    old: Annotated[str, typer.Argument(metavar="OLD", help="The collection's name.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What it shall be called.")],
) -> int:
    """Give a collection another name; nothing is indexed anew."""
    renamed = await service.rename_collection(Principal(), old, new)
    print_text(f"The collection {one_line(old)} is now {one_line(renamed.name)}.")
    return 0


@app.command()
def rebuild(
    context: Context,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="The collection to rebuild.")
    ],
    as_json: opt.AsJson = False,
) -> None:
    """Index a collection anew with the configured embedding model."""
    from ragstone.cli import commands

    settings = context_settings(context)

    async def build(service: "Service") -> int:
        async with commands.reachable(service, settings):
            return await commands.rebuild(service, "default", collection, as_json=as_json)

    run(settings, build)


@app.command()
def migrate(
    context: Context,
    to: Annotated[str, typer.Option(metavar="URL", help="Where to; 'embedded' for the default.")],
    from_: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Where from; INDEX__URL if absent.")
    ] = None,
    from_key: Annotated[str, typer.Option(envvar="INDEX__API_KEY", help="The key there.")] = "",
    to_key: Annotated[str, typer.Option(envvar="INDEX__TO_API_KEY", help="The key there.")] = "",
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="Only this one.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Move collections to another index with their vectors; run it again if it was cut off."""
    import asyncio

    from ragstone.cli import migrate

    settings = context_settings(context)
    source = settings.index.url if from_ is None else from_
    move = migrate.Move((source, from_key), (to, to_key), collection)
    run_guarded(lambda: asyncio.run(migrate.run(settings, move, as_json=as_json)), settings)


@app.command()
def migrate_state(
    context: Context,
    to: Annotated[str, typer.Option(metavar="URL", help="Where to; 'embedded' for the default.")],
    from_: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Where from; STATE__URL if absent.")
    ] = None,
    from_password: Annotated[
        str, typer.Option(envvar="PGPASSWORD", help="The password there.")
    ] = "",
    to_password: Annotated[
        str, typer.Option(envvar="STATE__TO_PASSWORD", help="The password there.")
    ] = "",
    as_json: opt.AsJson = False,
) -> None:
    """Move documents, conversations and all other state to another database, or nothing."""
    import asyncio

    from ragstone.cli.migrate import run_state

    settings = context_settings(context)
    source = settings.state.url if from_ is None else from_
    ends = (source, from_password), (to, to_password)
    run_guarded(lambda: asyncio.run(run_state(settings, *ends, as_json=as_json)), settings)


@app.command()
def stats(
    context: Context,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Today and the days before.")] = 30,
    by: Annotated[
        str, typer.Option(metavar="WHAT", help="user, room, model, or stage; else by day.")
    ] = "",
    as_json: opt.AsJson = False,
) -> None:
    """Show what was asked, what it cost, and how each search strategy did."""
    from ragstone.cli import commands

    if by and by not in commands.KINDS:
        raise typer.BadParameter(f"--by takes one of {', '.join(commands.KINDS)}")
    if by:
        run(context_settings(context), lambda s: commands.show_use(s, days, by, as_json))
    else:
        run(context_settings(context), lambda s: commands.stats(s, days, as_json=as_json))


@app.command()
def trace(
    context: Context,
    id: Annotated[
        str, typer.Argument(metavar="[ID]", help="The id of an answer; none lists the newest.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 20,
    as_json: opt.AsJson = False,
) -> None:
    """Show what became of the last questions, or what each stage did for one."""
    from ragstone.cli import commands

    if id:
        run(context_settings(context), lambda s: commands.trace(s, id, as_json))
    else:
        run(context_settings(context), lambda s: commands.traces(s, limit, as_json))
