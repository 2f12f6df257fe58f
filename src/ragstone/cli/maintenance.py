"""The commands that look after the whole: backup, restore, doctor."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import err, out_json, print_text
from ragstone.cli.running import Context, confirm, context_settings, run, run_step

if TYPE_CHECKING:
    from ragstone.service import Service
    from ragstone.service.maintenance import Upkeep
    from ragstone.settings import Settings

app = typer.Typer(add_completion=False)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup's file.")]


@app.command()
def backup(
    context: Context,
    file: File,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="EARLIER", help="Write only what this backup and those before it lack."
        ),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Write everything that Ragstone holds to one file, while it goes on working."""
    place, base = _place(file), _place(since) if since else None
    run(context_settings(context), lambda s: _show(s.maintenance.back_up(place, base), as_json))


@app.command()
def restore(
    context: Context,
    file: File,
    earlier: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="EARLIER", help="The backups that it continues, if they are not beside it."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Put a backup in the place of everything that Ragstone holds."""
    if not yes:
        confirm("Replace everything that Ragstone holds by the backup?")
    place, before = _place(file), tuple(_place(item) for item in earlier or ())
    settings = context_settings(context)
    run_step(lambda: _make_way(settings, place, before, as_json), settings)
    run(settings, lambda s: _show(s.maintenance.restore(place, before), as_json))


def _place(file: Path) -> str:
    return str(file.expanduser().absolute())


@app.command()
def doctor(
    context: Context,
    check: Annotated[
        bool, typer.Option("--check", "--dry-run", help="Change nothing; status 1 if ill.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Mend without asking first.")] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Also forget what cannot be brought back.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Find damaged files and what disagrees between documents, index and cache, and mend it; say
    which models are in use."""
    settings = context_settings(context)
    if run_step(lambda: _mend_files(settings, check, yes, as_json), settings):
        raise typer.Exit(1)
    run(settings, lambda s: _examine(s, check, yes, forget, as_json))


def _make_way(settings: "Settings", backup: str, earlier: Sequence[str], as_json: bool) -> None:
    """Set aside what would keep a backup from being restored, unless a server has the data."""
    if _has_server(settings):
        return
    from ragstone.local.repair import make_way

    for sentence in make_way(settings, Path(backup), [Path(text) for text in earlier]):
        _say(sentence, as_json)


def _mend_files(settings: "Settings", check: bool, yes: bool, as_json: bool) -> bool:
    """Look for damaged files, unless a server has them open, and mend them if that is wanted;
    whether something stays damaged."""
    if _has_server(settings):
        return False
    from ragstone.local.repair import find_damage

    found = find_damage(settings)
    if not found:
        return False
    for damage in found:
        _say(f"{damage.what} {damage.remedy}", as_json and not check)
    if check:
        return True
    mendable = [damage.mend for damage in found if damage.mend]
    if mendable and not yes:
        confirm("Do that?", "add --yes to mend without being asked")
    for mend in mendable:
        _say(mend(), as_json)
    return len(mendable) < len(found)


async def _examine(service: "Service", check: bool, yes: bool, forget: bool, as_json: bool) -> int:
    """Show what disagrees, ask, and mend it; returns the exit status."""
    found = await _finish(service.maintenance.examine(False), as_json)
    if check or not found.notes:
        _tell(found, as_json, "Nothing disagrees.")
        return int(bool(found.notes))
    for sentence in (*found.models, *found.notes):
        _say(sentence, as_json)
    if not yes:
        confirm("Do that?", "add --yes to mend without being asked")
    mended = await _finish(service.maintenance.examine(True, forget), as_json)
    _tell(mended if as_json else replace(mended, models=()), as_json)
    return 0


def _has_server(settings: "Settings") -> bool:
    from ragstone.service.server_file import find_server

    return find_server(settings.ragstone_data.expanduser().absolute()) is not None


def _say(sentence: str, quiet: bool) -> None:
    (err if quiet else print_text)(sentence)


async def _show(steps: "AsyncGenerator[Upkeep, None]", as_json: bool) -> int:
    """Show the progress and then the result; returns the exit status."""
    _tell(await _finish(steps, as_json), as_json)
    return 0


async def _finish(steps: "AsyncGenerator[Upkeep, None]", as_json: bool) -> "Upkeep":
    """The last step, with the progress shown."""
    from ragstone.cli.show import ProgressView

    with ProgressView(as_json) as view:
        async with aclosing(steps) as source:
            async for step in source:
                of = "" if step.total is None else f"/{step.total:,}"
                view.update(
                    step.total, step.done, f"{step.phase}: {step.done:,}{of}", step.finished
                )
    return step


def _tell(step: "Upkeep", as_json: bool, nothing: str = "") -> None:
    if as_json:
        models = {"models": list(step.models)} if step.models else {}
        out_json({"notes": list(step.notes), **models})
    else:
        print_text("\n".join([*step.models, *(step.notes or [nothing])]))
