"""The command line. Heavy modules are imported by the commands, so that --help stays fast."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.cache import app as cache_app
from ragstone.cli.conversations import app as conversations_app
from ragstone.cli.document import app as document_app
from ragstone.cli.jobs import app as jobs_app
from ragstone.cli.keys import app as keys_app
from ragstone.cli.maintenance import app as maintenance
from ragstone.cli.managing import app as managing
from ragstone.cli.mcp import app as mcp_app
from ragstone.cli.models import app as models_app
from ragstone.cli.people import app as people_app
from ragstone.cli.plugins import ExtensibleGroup
from ragstone.cli.plugins import app as plugins_app
from ragstone.cli.readers import app as readers_app
from ragstone.cli.running import (
    CommandContext,
    Context,
    context_settings,
    fail,
    pause_garbage_collection,
    run,
    run_guarded,
    seldom_collected,
)
from ragstone.cli.settings import app as settings_app
from ragstone.cli.topics import app as topics_app
from ragstone.core.errors import RagstoneError
from ragstone.core.turn import Ask, Level, SearchOptions

if TYPE_CHECKING:
    from ragstone.service import Service

app = typer.Typer(
    name="ragstone",
    cls=ExtensibleGroup,
    help="Answers from your own documents, with the source of every sentence.",
    no_args_is_help=True,
    # Rich would triple the time of --help, and print tracebacks with local variables.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(managing)
app.add_typer(maintenance)
app.add_typer(mcp_app)
app.add_typer(plugins_app)
app.add_typer(document_app, name="document")
app.add_typer(readers_app, name="readers")
app.add_typer(topics_app, name="topics")
app.add_typer(cache_app, name="cache")
app.add_typer(conversations_app, name="conversations")
app.add_typer(settings_app, name="settings")
app.add_typer(jobs_app, name="jobs")
app.add_typer(keys_app, name="keys")
app.add_typer(people_app, name="people")
app.add_typer(models_app, name="models")


def _print_version(wanted: bool) -> None:
    if wanted:
        from ragstone import __version__

        typer.echo(f"ragstone {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: Context,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The data directory, instead of RAGSTONE_DATA."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A YAML file of settings, instead of RAGSTONE_CONFIG."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    context.obj = CommandContext(data, config)
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
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata",
            metavar="KEY=VALUE",
            help="Metadata of every document; may be repeated, a key too.",
        ),
    ] = None,
    readers: Annotated[
        list[str] | None,
        typer.Option(
            "--readers",
            metavar="NAMES",
            help="Who may read them, within what their folders allow: group:hr,user:ada or "
            "everyone. Without it, documents keep their readers, and new ones have those of their "
            "folder or collection.",
        ),
    ] = None,
    skip_copies: Annotated[
        bool,
        typer.Option(
            "--skip-copies", help="Pass over new files whose content is in another document."
        ),
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Index files and folders. The exit status is 1 if any file failed."""
    from ragstone.cli import commands
    from ragstone.core.metadata import parse_pairs
    from ragstone.core.readers import parse_readers
    from ragstone.service import IngestRequest

    settings = context_settings(context)
    try:
        said = parse_pairs(metadata or ())
        request = IngestRequest(
            commands.absolute(paths),
            collection,
            allowed=parse_readers(readers or ()),
            prune=prune,
            metadata=said,
            skip_copies=skip_copies,
        )
    except RagstoneError as error:
        fail(error.message)
    data = settings.ragstone_data.expanduser().absolute()

    async def index(service: "Service") -> int:
        async with commands.reachable(service, settings):
            return await commands.ingest(service, request, as_json=as_json, watch=watch, data=data)

    run(settings, index)


@app.command()
def ask(
    context: Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")],
    collection: opt.Collection = "default",
    level: Annotated[Level, typer.Option(help="How much work to spend.")] = "standard",
    top_k: Annotated[
        int | None, typer.Option(min=1, max=100, help="Passages that the answer is made from.")
    ] = None,
    prefer: opt.Prefer = None,
    mode: opt.ModeOption = None,
    strategy: opt.StrategyOption = None,
    under: opt.Under = None,
    where: opt.Where = None,
    cache: opt.UseCache = True,
    room: opt.Room = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="Let the chat model call tools until it has enough.")
    ] = False,
    organisation: Annotated[
        str, typer.Option(help="Whose tools of the MCP gateway an agent may call.")
    ] = "",
    comments: Annotated[
        bool, typer.Option("--comments", help="Count and quote customers' comments for it.")
    ] = False,
    as_json: opt.AsJson = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show what each stage did.")] = False,
) -> None:
    """Answer a question from the documents, with sources."""
    from ragstone.cli import commands

    if agent and comments:
        fail("--agent and --comments exclude each other: leave one of them out.")
    asked = Ask(
        question,
        collection=collection,
        level=level,
        top_k=top_k,
        prefer=prefer,
        mode=mode,
        strategy=strategy,
        where=opt.condition(under, where),
        cache=cache,
        room=room,
        search_type="pa" if agent else "voc" if comments else "rag",
        organisation=organisation,
        # A call that changes anything is asked about where somebody sits.
        approves=agent and sys.stdin.isatty(),
    )
    run(
        context_settings(context),
        lambda s: commands.ask(s, asked, under=under or (), as_json=as_json, trace=trace),
    )


@app.command()
def chat(
    context: Context,
    collection: opt.Collection = "default",
    level: Annotated[Level, typer.Option(help="How much work to spend.")] = "standard",
    under: opt.Under = None,
    where: opt.Where = None,
    room: opt.Room = None,
    agent: Annotated[
        bool, typer.Option("--agent", help="Let the chat model call tools until it has enough.")
    ] = False,
) -> None:
    """Ask one question after another; each line of standard input where it is no terminal."""
    from ragstone.cli.chat import chat, new_room

    asked = Ask(
        "",
        collection=collection,
        level=level,
        where=opt.condition(under, where),
        room=room or new_room(),
        search_type="pa" if agent else "rag",
        approves=agent and sys.stdin.isatty(),
    )
    run(context_settings(context), lambda service: chat(service, asked))


@app.command()
@opt.expand_search_options
def search(
    context: Context,
    question: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most passages to show.")] = 10,
    strategy: opt.StrategyOption = None,
    *,
    wanted: SearchOptions,
    under: opt.Under = None,
    where: opt.Where = None,
    cache: opt.UseCache = True,
    as_json: opt.AsJson = False,
) -> None:
    """Show the passages that fit a query best, with scores."""
    from ragstone.cli import commands

    asked = Ask(
        question,
        collection=collection,
        top_k=limit,
        strategy=strategy,
        wanted=wanted,
        where=opt.condition(under, where),
        cache=cache,
    )
    run(
        context_settings(context),
        lambda s: commands.search(s, asked, under=under or (), as_json=as_json),
    )


@app.command()
def serve(
    context: Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0 picks one.")] = None,
    opens: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Show the web app in the browser or not; in a terminal of a desktop it is shown.",
        ),
    ] = None,
) -> None:
    """Serve the web app and the HTTP API on this machine until Ctrl-C."""
    with pause_garbage_collection() as started:
        from ragstone.http import server

        def say(line: str) -> None:
            started()
            print(line)

        given = {"server.host": host, "server.port": port}
        settings = context_settings(
            context, **{key: v for key, v in given.items() if v is not None}
        )
        run_guarded(lambda: server.serve(settings, say, opens), settings, tracebacks=True)


@app.command()
def worker(context: Context) -> None:
    """Run the jobs of a server on another machine until Ctrl-C. Needs STATE__URL and INDEX__URL."""
    from ragstone import worker

    settings = context_settings(context)
    run_guarded(lambda: worker.work(settings), settings, tracebacks=True)


@app.command()
def version() -> None:
    """Print the version."""
    _print_version(True)


def main() -> None:
    """The entry point of the `ragstone` command."""
    if sys.getfilesystemencoding() == "ascii":
        # As with LC_ALL=C and PYTHONUTF8=0: names of files would be read as no text.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    os.umask(0o077)  # What it writes is its user's alone.
    seldom_collected()
    try:
        app()
    except RagstoneError as error:
        sys.exit(f"ragstone: {error.message}")
