"""The commands on a service: each runs, prints, and returns the exit status.

Prints the figures of questions, and what became of single ones.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, astuple, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from ragstone.cli import show
from ragstone.cli.printing import err, one_line, out_json, print_text, table
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.errors import InputError, RagstoneError, UnknownApproval
from ragstone.core.events import AgentStep, Done, Failed, Note, Token, correction_notice
from ragstone.core.records import By, QuestionTrace, StageUse
from ragstone.core.source import citation_sources
from ragstone.core.turn import Ask, Principal, Turn
from ragstone.ingest import file_threads
from ragstone.ingest.files import is_text, printable_path, suggest_nearest
from ragstone.remote import Remote
from ragstone.service import IngestRequest, Progress, Service, wire
from ragstone.settings import Settings

WHOLE_SECONDS = 3600.0
"""A watched folder is compared whole again with the first change after so long."""


async def ask(
    service: Service, question: Ask, *, under: Sequence[str], as_json: bool, trace: bool
) -> int:
    """Stream the answer, then its sources; raises UnknownFolder for a folder that is not there."""
    await _check_folders(service, question, under)
    end = await stream_answer(service, replace(question, streams=not as_json))
    answer = end.turn.answer or GeneratedAnswer()
    if as_json:
        error = end.error if isinstance(end, Failed) else None
        out_json(_answer_json(end.turn, answer, error))
    else:
        show.show_sources(citation_sources(answer.citations, end.turn.passages))
        show.show_checked(answer, end.turn.verdicts)
        if trace:
            show.show_trace(end.turn.trace)
    if isinstance(end, Failed):
        raise end.error
    return 0


async def stream_answer(service: Service, question: Ask) -> Done | Failed:
    """Ask, print the answer as it comes if the question `streams`, notes and calls of tools to
    standard error; return how it ended."""
    end: Done | Failed | None = None
    async with aclosing(service.ask(question)) as events:
        async for event in events:
            if isinstance(event, Note):
                err(event.text)
            elif isinstance(event, AgentStep):
                err(f"{event.text} {event.arguments if event.state == 'calling' else ''}")
                if event.state == "waiting":
                    await _approve(service, question.principal, event)
            elif isinstance(event, Token) and question.streams:
                print_text(event.text, end="")
            elif isinstance(event, Done | Failed):
                end = event
    if end is None:
        raise RagstoneError("The answer ended before it was complete.")
    if question.streams and (answer := end.turn.answer) and answer.text[-1:] not in ("", "\n"):
        print_text()
    return end


async def _approve(service: Service, principal: Principal, step: AgentStep) -> None:
    """Ask whoever sits there whether a call may be made; anything but a yes declines it."""
    asked = one_line(f"May {step.tool} be called with {step.arguments}? [y/N]")
    try:
        said = await asyncio.to_thread(input, f"{asked} ")
    except EOFError:
        said = ""
    try:
        await service.approve(principal, step.id, said.strip().casefold() in ("y", "yes"))
    except UnknownApproval as error:
        err(error.message)


def _answer_json(
    turn: Turn, answer: GeneratedAnswer, error: RagstoneError | None
) -> dict[str, Any]:
    return {
        "question": turn.ask.question,
        "corrected": turn.question if turn.original else None,
        "answer": answer.text,
        "finish": answer.finish,
        "model": answer.model,
        **wire.format_answer(turn),
        "citations": [asdict(citation) for citation in answer.citations],
        "suggested_questions": list(answer.suggested),
        "usage": asdict(turn.usage),
        "recalled": turn.recalled.question if turn.recalled and turn.recalled.content else None,
        "trace": [asdict(traced) for traced in turn.trace],
        "error": wire.dump_error(error) if error else None,
    }


async def _check_folders(service: Service, question: Ask, under: Sequence[str]) -> None:
    for folder in under:
        await service.reading.check_folder(question.principal, question.collection, folder)


async def search(service: Service, question: Ask, *, under: Sequence[str], as_json: bool) -> int:
    """Print the passages that a question finds; raises UnknownFolder."""
    await _check_folders(service, question, under)
    found = await service.search(question)
    if as_json:
        out_json(found)
    else:
        if found.corrected:
            err(correction_notice(found.corrected))
        for note in found.notes:
            err(note)
        show.show_found(found)
    return 0


async def ingest(
    service: Service, request: IngestRequest, *, as_json: bool, watch: bool, data: Path
) -> int:
    """Index files, and again whenever they change if `watch`."""
    if not watch:
        return await _ingest_once(service, request, as_json)
    from ragstone.cli.watch import changes

    async with aclosing(changes(request.paths, data)) as bursts:
        await anext(bursts)  # What changes from now on is noticed, also during the first run.
        status = await _ingest_once(service, request, as_json)
        err("Watching for changes; press Ctrl-C to stop.")
        await _follow_changes(service, request, bursts, as_json)
    return status


async def _follow_changes(
    service: Service,
    request: IngestRequest,
    bursts: AsyncGenerator[frozenset[str], None],
    as_json: bool,
) -> None:
    """Index what changed, and everything if the last time is long ago: notices may get lost."""
    from ragstone.cli.watch import enclosing_places

    whole, left = time.monotonic(), frozenset[str]()
    async for burst in bursts:
        left |= burst
        everything = time.monotonic() - whole > WHOLE_SECONDS
        only = () if everything else enclosing_places(left)
        try:
            # The same paths in the same order: documents are named after what was given.
            await _ingest_once(service, replace(request, prune=True, only=only), as_json)
        except RagstoneError as error:
            err(f"ragstone: {error.message}")
        else:
            left = frozenset()
            whole = time.monotonic() if everything else whole


async def _ingest_once(service: Service, request: IngestRequest, as_json: bool) -> int:
    return _show_end(await _follow(service, service.ingest(request), as_json), as_json)


async def rebuild(service: Service, tenant: str, collection: str, *, as_json: bool) -> int:
    """Index a collection anew."""
    return _show_end(await _follow(service, service.rebuild(tenant, collection), as_json), as_json)


@asynccontextmanager
async def reachable(service: Service, settings: Settings) -> AsyncIterator[None]:
    """Let other commands work while this one holds the data directory."""
    if isinstance(service, Remote):
        yield
        return
    from ragstone.http.server.beside import answer_local_commands

    async with answer_local_commands(service, settings, err):
        yield


async def _follow(service: Service, steps: Any, quiet: bool) -> Progress:
    progress: Progress | None = None
    with show.ProgressView(quiet) as view:
        try:
            async with aclosing(steps):
                async for progress in steps:
                    view.show(progress)
        except asyncio.CancelledError:
            view.clear()
            if progress and not progress.finished:
                for line in show.format_interruption(progress, isinstance(service, Remote)):
                    err(line)
            raise
    if progress is None:
        raise RagstoneError("The job ended without saying how.")
    return progress


def _show_end(progress: Progress, as_json: bool) -> int:
    if as_json:
        out_json(progress)
    else:
        show.show_summary(progress)
    if progress.error:
        raise RagstoneError(progress.error)
    return 1 if progress.failed else 0


async def stats(service: Service, days: int, *, as_json: bool) -> int:
    """Print the sums of the last days."""
    report = await service.report(Principal(), days)
    if as_json:
        out_json(report)
        return 0
    if not report.days:
        print_text(f"Nothing was asked in the last {days} days.")
        return 0
    head = ("day", "questions", "refused", "blocked", "prompt tokens", "answer tokens", "cost in $")
    table(head, [(*astuple(day)[:-1], f"{day.cost:.4f}") for day in report.days])
    if report.strategies:
        print_text()
        searched = [
            (s.strategy, s.executions, f"{1000 * s.seconds:,.0f}", _share(s.confidence))
            for s in report.strategies
        ]
        table(("strategy", "questions", "ms", "confidence"), searched)
    return 0


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


async def delete(service: Service, collection: str, paths: Sequence[str] | None) -> int:
    """Delete documents, or the whole collection when `paths` is None."""
    count = await service.delete(Principal(), collection, paths, operator=True)
    print_text(f"{count:,} {'document' if count == 1 else 'documents'} deleted.")
    return 0


def absolute(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths that mean the same to a server with another working directory.

    Raises InputError for one that does not exist, or cannot be written down, FilesUnavailable for
    one that does not answer.
    """
    return asyncio.run(file_threads.run(paths, _absolute, paths))


def _absolute(paths: Sequence[str]) -> tuple[str, ...]:
    for path in map(Path, paths):
        if not is_text(os.path.abspath(path)):
            raise InputError(
                f"{printable_path(os.path.abspath(path))} has a name that is not valid text, or is "
                "in a folder that has one. Rename it."
            )
        file_threads.report_progress(path)
        if not os.path.lexists(path):
            raise InputError(f"{path} does not exist. Check the path.{suggest_nearest(path)}")
    return tuple(os.path.abspath(path) for path in paths)


STAGE = "stage"
KINDS = ("day", "user", "user_id", "room", "model", STAGE)


async def show_use(service: Service, days: int, by: str, as_json: bool) -> int:
    """Print the sums by one of KINDS."""
    tenant = Principal().tenant
    if by == STAGE:
        return _stages(await service.statistics.stages(tenant, days), as_json)
    found = await service.statistics.use(tenant, days, cast(By, by))
    if as_json:
        out_json({"use": found})
        return 0
    head = (by, "questions", "refused", "blocked", "prompt tokens", "answer tokens", "cost in $")
    rows = [
        (
            item.name or "-",
            item.questions,
            item.refused,
            item.blocked,
            item.prompt_tokens,
            item.completion_tokens,
            f"{item.cost:.4f}",
        )
        for item in found
    ]
    if rows:
        table(head, rows)
    else:
        print_text(f"Nothing was asked in the last {days} days.")
    return 0


def _stages(found: list[StageUse], as_json: bool) -> int:
    if as_json:
        out_json({"stages": found})
    elif not found:
        print_text("No traces are kept; STATISTICS__TRACE_DAYS says how long they are.")
    else:
        head = ("stage", "questions", "failed", "mean ms", "p95 ms")
        table(head, [(s.stage, s.runs, s.failed, _ms(s.mean), _ms(s.p95)) for s in found])
    return 0


async def traces(service: Service, limit: int, as_json: bool) -> int:
    """Print the newest questions."""
    found = await service.statistics.traces(Principal().tenant, limit)
    if as_json:
        out_json({"traces": found})
    elif not found:
        print_text("No traces are kept; STATISTICS__TRACE_DAYS says how long they are.")
    else:
        head = ("id", "at", "user", "level", "finish", "cached", "ms", "tokens", "cost in $")
        table(head, [_row(item) for item in found])
    return 0


def _row(item: QuestionTrace) -> tuple[object, ...]:
    tokens = item.prompt_tokens + item.completion_tokens
    cost = "-" if item.cost is None else f"{item.cost:.4f}"
    finish = f"{item.finish} ({item.error})" if item.error else item.finish
    said = (item.id, _time(item.at), item.user, item.level, finish, item.cached or "-")
    return (*said, _ms(item.seconds), tokens, cost)


async def trace(service: Service, id: str, as_json: bool) -> int:
    """Print what each stage did for one question."""
    one = await service.statistics.trace(Principal().tenant, id)
    if as_json:
        out_json(one)
        return 0
    print_text(
        f"{one.id}, asked by {one.user} at {_time(one.at)}: {one.finish}, {_ms(one.seconds)} ms"
    )
    if one.question:
        print_text(one.question)
    print_text()
    rows = [(s.stage, _ms(s.seconds), s.status, s.decision, s.reason) for s in one.stages]
    table(("stage", "ms", "status", "decision", "reason"), rows)
    return 0


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
