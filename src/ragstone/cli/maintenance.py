"""The commands that look after the whole: backup, restore, doctor."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.running import Context, confirm, run, settings_of

if TYPE_CHECKING:
    from ragstone.service.maintenance import Upkeep

app = typer.Typer(add_completion=False)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup's file.")]


@app.command()
def backup(context: Context, file: File, as_json: opt.AsJson = False) -> None:
    """Write everything that Ragstone holds to one file, while it goes on working."""
    place = str(file.expanduser().absolute())
    run(settings_of(context), lambda s: _show(s.maintenance.back_up(place), as_json))


@app.command()
def restore(
    context: Context,
    file: File,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Put a backup in the place of everything that Ragstone holds."""
    if not yes:
        confirm("Replace everything that Ragstone holds by the backup?")
    place = str(file.expanduser().absolute())
    run(settings_of(context), lambda s: _show(s.maintenance.restore(place), as_json))


@app.command()
def doctor(
    context: Context,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; status 1 if ill.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Find what disagrees between documents, index and cache, and mend it; say which models are in
    use."""
    run(
        settings_of(context),
        lambda s: _show(s.maintenance.examine(not check), as_json, "Nothing disagrees.", check),
    )


async def _show(
    steps: "AsyncGenerator[Upkeep, None]", as_json: bool, nothing: str = "", strict: bool = False
) -> int:
    """Show the progress and then the result; returns the exit status."""
    from ragstone.cli.show import ProgressView, out, out_json

    notes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    with ProgressView(as_json) as view:
        async with aclosing(steps) as source:
            async for step in source:
                notes, models = step.notes, step.models
                of = "" if step.total is None else f"/{step.total:,}"
                view.at(step.total, step.done, f"{step.phase}: {step.done:,}{of}", step.finished)
    if as_json:
        out_json({"notes": list(notes), **({"models": list(models)} if models else {})})
    else:
        out("\n".join([*models, *notes]) if notes else "\n".join([*models, nothing]))
    return int(strict and bool(notes))
