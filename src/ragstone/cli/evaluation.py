"""The `ragstone eval` commands on one's own documents: a set of questions, and its runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.running import Context, fail, run, settings_of
from ragstone.core.turn import Principal
from ragstone.evaluation.commands import app

if TYPE_CHECKING:
    from ragstone.core.evaluation import AskSetting, EvaluationRun
    from ragstone.service import Service

__all__ = ["app"]

LARGEST = 20_000_000
"""Bytes of a file of questions."""


@app.command("run")
def run_(
    context: Context,
    file: Annotated[
        Path,
        typer.Argument(help="JSON lines, a JSON list, CSV, or a question in each line."),
    ],
    collection: opt.Collection = "default",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="KEY=VALUE,...",
            help="Ask with these instead of as planned, such as level=enhanced,top_k=5; may be "
            "repeated, to compare.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report here, as one page.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Ask a file of questions of your own documents: is it right, by which setting, and what
    changed since the last run? 'ragstone eval runs' lists the runs."""
    from ragstone.core.errors import InputError

    try:
        text, settings = _text(file), [_setting(one) for one in setting or ()]
    except InputError as error:
        fail(error.message)
    name = file.name.removesuffix(file.suffix)
    run(
        settings_of(context),
        lambda s: _run(s, text, name, collection, settings, html, as_json),
    )


@app.command()
def runs(
    context: Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most runs to show.")] = 20,
    as_json: opt.AsJson = False,
) -> None:
    """List the runs over your own documents, the newest first, with the share that is right."""
    run(settings_of(context), lambda s: _runs(s, limit, as_json))


@app.command()
def feedback(
    context: Context,
    file: Annotated[Path, typer.Argument(help="Where the questions are written.")],
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Newest opinions.")] = 500,
) -> None:
    """Write what people thought of answers as a file of questions for 'ragstone eval run'."""
    run(settings_of(context), lambda s: _feedback(s, file, collection, limit))


def _text(file: Path) -> str:
    from ragstone.core.errors import InputError

    try:
        if file.stat().st_size > LARGEST:
            raise InputError(f"{file} is larger than {LARGEST / 1e6:g} MB. Make several of it.")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no text in UTF-8. Save it as that.") from error


def _write(file: Path, text: str) -> None:
    from ragstone.core.errors import RagstoneError

    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RagstoneError(f"{file} cannot be written: {error.strerror}.") from error


def _setting(text: str) -> "AskSetting":
    """A setting as it is typed; raises InputError."""
    import json
    from dataclasses import fields

    from ragstone.core.errors import InputError
    from ragstone.core.evaluation import AskSetting
    from ragstone.core.turn import SearchOptions
    from ragstone.service import wire

    inner = {one.name for one in fields(SearchOptions)}
    outer = {one.name for one in fields(AskSetting)} - {"wanted"}
    given: dict[str, object] = {}
    wanted: dict[str, object] = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        key, sign, value = (part.strip() for part in pair.partition("="))
        if not sign or key not in inner | outer:
            names = ", ".join(sorted(inner | outer))
            raise InputError(f"--with is given as KEY=VALUE, but {pair!r} is not; keys: {names}.")
        try:
            read = json.loads(value) if key != "name" else value
        except ValueError:
            read = value
        (wanted if key in inner else given)[key] = read
    return wire.load(AskSetting, {**given, "wanted": wanted}, exact=True)


async def _run(
    service: "Service",
    text: str,
    name: str,
    collection: str,
    settings: "list[AskSetting]",
    html: Path | None,
    as_json: bool,
) -> int:
    from ragstone.cli.show import err, out, out_json
    from ragstone.core.errors import RagstoneError
    from ragstone.service import wire

    me = Principal()
    questions = await service.evaluation.read_file(me, text)
    kept = await service.evaluation.put_set(me, collection, name, questions)
    earlier = [one for one in await service.evaluation.runs(me, kept.id, 1) if one.figures]
    begun = await service.evaluation.start(me, kept.id, settings)
    await _follow(service, begun.id, as_json)
    done = await service.evaluation.run(me, begun.id)
    if not done.figures:
        raise RagstoneError(done.error or f"The run {done.id} was {done.state}.")
    before = earlier[0] if earlier else None
    changed = await service.evaluation.changes(me, done.id, before.id) if before else []
    if html:
        _write(html, await service.evaluation.report(me, done.id, before.id if before else ""))
    if as_json:
        out_json({**wire.dump(done), "changes": [wire.dump(one) for one in changed]})
        return 0
    await _show(service, done, before)
    for one in changed:
        words = {True: "right", False: "wrong", None: "not judged"}
        out(f"{words[one.before]} before, now {words[one.after]} ({one.setting}): {one.question}")
    if html:
        err(f"The report is in {html}.")
    return 0


async def _follow(service: "Service", id: str, quiet: bool) -> None:
    """Show how far a run is, until it has ended."""
    from contextlib import aclosing

    from ragstone.cli.show import duration, err

    shown = -1
    watched = service.jobs.watch(Principal(), id)
    async with aclosing(watched) as views:
        async for view in views:
            share = view.progress.get("share")
            tenth = int(10 * share) if isinstance(share, float) else -1
            if not quiet and tenth > shown and not view.ended:
                shown = tenth
                left = f", about {duration(view.eta)} left" if view.eta else ""
                err(f"{view.progress.get('asked', 0)} of {view.progress.get('total')} asked{left}")


async def _show(service: "Service", done: "EvaluationRun", before: "EvaluationRun | None") -> None:
    from ragstone.cli.show import one_line, out, table
    from ragstone.evaluation.sets.reporting import (
        LABELS,
        REASONS,
        difference,
        figures_before,
        shown,
    )

    rows = []
    for name, label in LABELS.items():
        cells = []
        for place, one in enumerate(done.figures):
            now, old = one.measures.get(name), figures_before(before, one.setting, place)
            moved = difference(name, now, old.measures.get(name) if old else None)
            cells.append(f"{shown(name, now)} ({moved})" if moved else shown(name, now))
        if any(cell != "–" for cell in cells):
            rows.append((label, *cells))
    table(("", *(one.setting for one in done.figures)), rows)
    wrong = await service.evaluation.outcomes(Principal(), done.id, which="wrong", limit=1000)
    for outcome in wrong:
        name = done.settings[outcome.setting].name
        asked = one_line(outcome.question.question)
        out(f"wrong ({name}): {asked} {REASONS[outcome.reason]}")


async def _runs(service: "Service", limit: int, as_json: bool) -> int:
    from datetime import datetime

    from ragstone.cli.show import out, out_json, table
    from ragstone.evaluation.sets.reporting import shown
    from ragstone.service import wire

    found = await service.evaluation.runs(Principal(), limit=limit)
    if as_json:
        out_json({"runs": [wire.dump(one) for one in found]})
        return 0
    if not found:
        out("There are no runs. 'ragstone eval run FILE' begins one.")
        return 0
    rows = [
        (
            datetime.fromtimestamp(one.started_at).strftime("%Y-%m-%d %H:%M"),
            one.id,
            one.set_name,
            one.collection,
            one.state,
            f"{one.asked} of {one.total}",
            ", ".join(
                f"{figure.setting} {shown('right', figure.measures.get('right'))}"
                for figure in one.figures
            ),
        )
        for one in found
    ]
    table(("begun", "id", "set", "collection", "state", "asked", "right"), rows)
    return 0


async def _feedback(service: "Service", file: Path, collection: str, limit: int) -> int:
    from ragstone.cli.show import out
    from ragstone.core.errors import RagstoneError
    from ragstone.evaluation.sets.reading import lines

    found = await service.evaluation.from_feedback(Principal(), collection, limit)
    if not found:
        raise RagstoneError(f"Nobody has judged an answer about {collection!r} yet.")
    _write(file, lines(found))
    out(f"{len(found):,} questions are in {file}.")
    return 0
