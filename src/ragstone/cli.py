"""The command line. Heavy modules are imported by the commands, so that --help stays fast."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from ragstone.errors import RagstoneError
from ragstone.evaluation.commands import app as eval_app
from ragstone.terminal import options as opt
from ragstone.terminal.cache import app as cache_app
from ragstone.terminal.running import guarded, opened, run
from ragstone.turn import Level

app = typer.Typer(
    name="ragstone",
    help="Answers from your own documents, with the source of every sentence.",
    no_args_is_help=True,
    add_completion=False,
    # Rich would triple the time of --help, and print tracebacks with local variables.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(eval_app, name="eval")
app.add_typer(cache_app, name="cache")

Context = typer.Context


@app.callback()
def _options(
    context: Context,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The data directory, instead of RAGSTONE_DATA."),
    ] = None,
) -> None:
    context.obj = data
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows another; it is no reason to stop.
            stream.reconfigure(errors="replace")


@app.command()
def ingest(
    context: Context,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders.")],
    collection: opt.Collection = "default",
    watch: Annotated[
        bool, typer.Option("--watch", help="Index again whenever something changes.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Forget documents whose file below PATH is gone.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Index files and folders. The exit status is 1 if any file failed."""
    from ragstone.service import IngestRequest
    from ragstone.terminal import commands

    settings = opened(context)
    request = IngestRequest(commands.absolute(paths), collection, prune=prune)
    data = settings.ragstone_data.expanduser().absolute()
    run(
        settings,
        lambda s: commands.ingest(s, request, as_json=as_json, watch=watch, data=data),
    )


@app.command()
def ask(
    context: Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")],
    collection: opt.Collection = "default",
    level: Annotated[Level, typer.Option(help="How much work to spend.")] = "standard",
    top_k: Annotated[
        int | None, typer.Option(min=1, max=100, help="Passages that the answer is made from.")
    ] = None,
    strategy: opt.StrategyOption = None,
    under: opt.Under = None,
    where: opt.Where = None,
    cache: opt.UseCache = True,
    as_json: opt.AsJson = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show what each stage did.")] = False,
) -> None:
    """Answer a question from the documents, with sources."""
    from ragstone.terminal import commands
    from ragstone.turn import Ask

    asked = Ask(
        question,
        collection=collection,
        level=level,
        top_k=top_k,
        strategy=strategy,
        where=opt.condition(under, where),
        cache=cache,
    )
    run(opened(context), lambda s: commands.ask(s, asked, as_json=as_json, trace=trace))


@app.command()
def search(
    context: Context,
    question: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most passages to show.")] = 10,
    strategy: opt.StrategyOption = None,
    fusion: opt.FusionOption = None,
    dense_weight: opt.DenseWeight = None,
    rerank: opt.Rerank = None,
    min_similarity: opt.MinSimilarity = None,
    diversity: opt.Diversity = None,
    unit: opt.UnitOption = None,
    neighbours: opt.Neighbours = None,
    under: opt.Under = None,
    where: opt.Where = None,
    cache: opt.UseCache = True,
    as_json: opt.AsJson = False,
) -> None:
    """Show the passages that fit a query best, with scores."""
    from ragstone.terminal import commands
    from ragstone.turn import Ask, Wanted

    wanted = Wanted(fusion, dense_weight, rerank, min_similarity, diversity, unit, neighbours)
    asked = Ask(
        question,
        collection=collection,
        top_k=limit,
        strategy=strategy,
        wanted=wanted,
        where=opt.condition(under, where),
        cache=cache,
    )
    run(opened(context), lambda s: commands.search(s, asked, as_json=as_json))


@app.command()
def serve(
    context: Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0 picks one.")] = None,
) -> None:
    """Serve the HTTP API on this machine until Ctrl-C."""
    from ragstone import server

    settings = opened(context)
    given = {name: v for name, v in (("host", host), ("port", port)) if v is not None}
    changed = settings.server.model_copy(update=given)
    settings = settings.model_copy(update={"server": changed})
    guarded(lambda: server.serve(settings), settings, tracebacks=True)


@app.command()
def status(context: Context, as_json: opt.AsJson = False) -> None:
    """Show what is indexed, by which models, and whether a server runs."""
    from ragstone.terminal import commands

    run(opened(context), lambda s: commands.status(s, as_json=as_json))


@app.command()
def collections(context: Context, as_json: opt.AsJson = False) -> None:
    """List the collections."""
    from ragstone.terminal import commands

    run(opened(context), lambda s: commands.collections(s, as_json=as_json))


@app.command()
def documents(
    context: Context, collection: opt.Collection = "default", as_json: opt.AsJson = False
) -> None:
    """List the documents of a collection."""
    from ragstone.terminal import commands

    run(opened(context), lambda s: commands.documents(s, collection, as_json=as_json))


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
    from ragstone.terminal import commands

    if bool(paths) == everything:
        raise typer.BadParameter("name the documents to delete, or give --all, but not both")
    what = "all documents" if everything else " and ".join(paths or ())
    if not yes:
        _confirm(f"Delete {what} of the collection {collection!r} from the index?")
    run(opened(context), lambda s: commands.delete(s, collection, paths or None))


@app.command()
def rebuild(
    context: Context,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="The collection to rebuild.")
    ],
    as_json: opt.AsJson = False,
) -> None:
    """Index a collection anew with the configured embedding model."""
    from ragstone.terminal import commands

    run(opened(context), lambda s: commands.rebuild(s, "default", collection, as_json=as_json))


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
    from ragstone.terminal import migrate

    settings = opened(context)
    source = settings.index.url if from_ is None else from_
    move = migrate.Move((source, from_key), (to, to_key), collection)
    guarded(lambda: asyncio.run(migrate.run(settings, move, as_json=as_json)), settings)


@app.command()
def version() -> None:
    """Print the version."""
    from ragstone import __version__

    typer.echo(f"ragstone {__version__}")


def main() -> None:
    """The entry point of the `ragstone` command."""
    try:
        app()
    except RagstoneError as error:
        sys.exit(f"ragstone: {error.message}")


def _confirm(question: str) -> None:
    from ragstone.terminal.show import one_line

    if not sys.stdin.isatty():
        raise typer.BadParameter("add --yes to delete without being asked")
    if not typer.confirm(one_line(question)):
        raise typer.Exit(1)
