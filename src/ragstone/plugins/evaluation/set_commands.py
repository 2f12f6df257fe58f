"""The `ragstone eval` commands on one's own documents: a set of questions, and its runs."""

import json
from contextlib import aclosing
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli import options as opt
from ragstone.cli.printing import duration, err, one_line, out_json, print_text, table
from ragstone.cli.running import Context, context_settings, fail, run
from ragstone.core.errors import InputError, RagstoneError
from ragstone.core.turn import Principal, SearchOptions
from ragstone.core.wording import format_count
from ragstone.plugins.evaluation.commands import app

if TYPE_CHECKING:
    from ragstone.plugins.evaluation.contract import AskSetting, EvaluationRun, EvaluationService
    from ragstone.service import Service

__all__ = ["app"]

LARGEST = 20_000_000
"""Bytes of a file of questions."""


@app.command("run")
def run_(
    context: Context,
    file: Annotated[
        Path, typer.Argument(help="JSON lines, a JSON list, CSV, or a question in each line.")
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
    try:
        text, settings = _text(file), [_setting(item) for item in setting or ()]
    except InputError as error:
        fail(error.message)
    name = file.name.removesuffix(file.suffix)
    run(
        context_settings(context),
        lambda s: _run(s, text, name, collection, settings, html, as_json),
    )


@app.command()
def runs(
    context: Context,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most runs to show.")] = 20,
    as_json: opt.AsJson = False,
) -> None:
    """List the runs over your own documents, the newest first, with the share that is right."""
    run(context_settings(context), lambda s: _runs(s, limit, as_json))


@app.command()
def feedback(
    context: Context,
    file: Annotated[Path, typer.Argument(help="Where the questions are written.")],
    collection: opt.Collection = "default",
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Newest opinions.")] = 500,
) -> None:
    """Write what people thought of answers as a file of questions for 'ragstone eval run'."""
    run(context_settings(context), lambda s: _feedback(s, file, collection, limit))


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST:
            raise InputError(f"{file} is larger than {LARGEST / 1e6:g} MB. Make several of it.")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not text in UTF-8. Save it as that.") from error


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RagstoneError(f"{file} cannot be written: {error.strerror}.") from error


def _setting(text: str) -> "AskSetting":
    """Return a setting as it is typed; raises InputError."""
    from ragstone.plugins.evaluation.contract import AskSetting
    from ragstone.service import wire

    inner = {field.name for field in fields(SearchOptions)}
    outer = {field.name for field in fields(AskSetting)} - {"wanted"}
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
    from ragstone.service import wire

    me = Principal()
    questions = await _operations(service).read_file(me, text)
    kept = await _operations(service).put_set(me, collection, name, questions)
    earlier = [item for item in await _operations(service).runs(me, kept.id, 1) if item.figures]
    begun = await _operations(service).start(me, kept.id, settings)
    await _follow(service, begun.id, as_json)
    done = await _operations(service).run(me, begun.id)
    if not done.figures:
        raise RagstoneError(done.error or f"The run {done.id} was {done.state}.")
    before = earlier[0] if earlier else None
    changed = await _operations(service).changes(me, done.id, before.id) if before else []
    if html:
        _write(html, await _operations(service).report(me, done.id, before.id if before else ""))
    if as_json:
        out_json({**wire.dump(done), "changes": changed})
        return 0
    await _show(service, done, before)
    for item in changed:
        words = {True: "right", False: "wrong", None: "not judged"}
        print_text(
            f"{words[item.before]} before, now {words[item.after]} ({item.setting}): "
            f"{item.question}"
        )
    if html:
        err(f"The report is in {html}.")
    return 0


async def _follow(service: "Service", id: str, quiet: bool) -> None:
    """Show how far a run is, until it has ended."""
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
    from ragstone.plugins.evaluation.sets.reporting import (
        LABELS,
        REASONS,
        difference,
        format_measure,
        previous_figures,
    )

    rows = []
    for name, label in LABELS.items():
        cells = []
        for place, figure in enumerate(done.figures):
            now, old = figure.measures.get(name), previous_figures(before, figure.setting, place)
            moved = difference(name, now, old.measures.get(name) if old else None)
            cells.append(
                f"{format_measure(name, now)} ({moved})" if moved else format_measure(name, now)
            )
        if any(cell != "–" for cell in cells):
            rows.append((label, *cells))
    table(("", *(figure.setting for figure in done.figures)), rows)
    wrong = await _operations(service).outcomes(Principal(), done.id, which="wrong", limit=1000)
    for outcome in wrong:
        name = done.settings[outcome.setting].name
        asked = one_line(outcome.question.question)
        print_text(f"wrong ({name}): {asked} {REASONS[outcome.reason]}")


async def _runs(service: "Service", limit: int, as_json: bool) -> int:
    from ragstone.plugins.evaluation.sets.reporting import format_measure

    found = await _operations(service).runs(Principal(), limit=limit)
    if as_json:
        out_json({"runs": found})
        return 0
    if not found:
        print_text("There are no runs. 'ragstone eval run FILE' begins one.")
        return 0
    rows = [
        (
            datetime.fromtimestamp(item.started_at).strftime("%Y-%m-%d %H:%M"),
            item.id,
            item.set_name,
            item.collection,
            item.state,
            f"{item.asked} of {item.total}",
            ", ".join(
                f"{figure.setting} {format_measure('right', figure.measures.get('right'))}"
                for figure in item.figures
            ),
        )
        for item in found
    ]
    table(("begun", "id", "set", "collection", "state", "asked", "right"), rows)
    return 0


async def _feedback(service: "Service", file: Path, collection: str, limit: int) -> int:
    from ragstone.plugins.evaluation.sets.reading import lines

    found = await _operations(service).from_feedback(Principal(), collection, limit)
    if not found:
        raise RagstoneError(f"Nobody has judged an answer about {collection!r} yet.")
    _write(file, lines(found))
    print_text(f"{file} has {format_count(len(found), 'question')}.")
    return 0


def _operations(service: "Service") -> "EvaluationService":
    from ragstone.plugins.evaluation.contract import EVALUATION

    return EVALUATION.of(service)
