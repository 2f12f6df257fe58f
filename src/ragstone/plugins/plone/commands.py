"""`ragstone plone`: a Plone site's content as documents."""

from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import err, out_json, print_text
from ragstone.cli.running import Context, context_settings, run

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.settings import Settings

app = typer.Typer(name="plone", help="Index a Plone site.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep `sync` a command of its own while it is the only one."""


@app.command()
def sync(
    context: Context,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The site's address, instead of PLONE__URL.")
    ] = "",
    token: Annotated[
        str,
        typer.Option(metavar="TOKEN", help="A bearer token, or name:password, for PLONE__TOKEN."),
    ] = "",
    full: Annotated[
        bool, typer.Option("--full", help="Everything, not only what changed since the last run.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Index what is new or changed, and forget what is gone. The exit status is 1 if any object
    failed."""
    from pydantic import SecretStr

    from ragstone.plugins.plone.settings import PloneSettings

    settings = context_settings(context)
    plone = PloneSettings.of(settings).model_copy(
        update={**({"url": url} if url else {}), **({"token": SecretStr(token)} if token else {})}
    )
    settings = settings.model_copy(update={"plone": plone})
    run(settings, lambda service: _sync(service, settings, full, as_json))


async def _sync(service: "Service", settings: "Settings", full: bool, as_json: bool) -> int:
    from ragstone.plugins.plone.client import PloneClient
    from ragstone.plugins.plone.settings import PloneSettings
    from ragstone.plugins.plone.sync import PloneSync, Synced

    done = Synced()
    plone = PloneSettings.of(settings)
    async with aclosing(PloneClient(plone)) as client:
        site = PloneSync(service, client, plone, settings.ragstone_data)
        async for done in site.run(full):
            if not as_json and not done.finished:
                err(f"{done.seen:,} of {done.total or 0:,} objects")
    if as_json:
        out_json(asdict(done))
    else:
        for failure in done.failed:
            err(f"{failure.path}: {failure.reason}")
        for note in done.notes:
            err(note)
        print_text(
            f"{done.indexed:,} indexed, {done.unchanged:,} unchanged, {done.deleted:,} deleted, "
            f"{len(done.failed):,} failed."
        )
    return 1 if done.failed else 0
