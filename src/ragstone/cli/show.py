"""What is printed of answers, passages and progress."""

import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from types import TracebackType
from typing import Any, Self

from ragstone.cli.printing import (
    duration,
    err,
    format_time,
    omit_name,
    one_line,
    print_text,
    table,
    value_text,
)
from ragstone.core.answer import Confidence, GeneratedAnswer, Verdict
from ragstone.core.source import Source, hit_sources
from ragstone.core.turn import StageTrace
from ragstone.core.wording import format_count
from ragstone.ingest.files import CHAPTER, COPY, HIDDEN, WITHOUT_TEXT
from ragstone.ingest.formats.recognition import is_installed, missing_step
from ragstone.ingest.formats.types import is_picture, suggest_conversion
from ragstone.service import Progress, SearchResult, Skipped

PLAIN_SECONDS = 60.0
"""How often progress is printed where there is no terminal to draw a bar on."""

BAR = 1_000

MAX_FAILURES = 100
"""Failed files that are shown."""

METADATA_CHARS = 120

LIKELY: Mapping[Confidence, str] = {"high": "likely", "medium": "possibly", "low": "unlikely"}
"""How it is said that an answer is what was asked."""

UNSHOWN = frozenset({"title", "url", "producer", "creator", "created", "modified", "language"})
"""Metadata that stands in a source's line already, or tells of the file rather than its text."""


def show_sources(sources: Sequence[Source], texts: bool = True) -> None:
    """Print cited sources, by default with the text that supports the answer."""
    if sources:
        print_text("\nSources")
    for source in sources:
        print_text(f"[{source.number}] {_source_location(source)}")
        if not texts:
            continue
        _show_metadata(source)
        _show_pictures(source)
        whole = len(source.snippet) >= source.end - source.start
        _print_indented(source.snippet if whole else source.snippet.rpartition(" ")[0] + " ...")


def show_checked(answer: GeneratedAnswer, verdicts: Sequence[Verdict]) -> None:
    """Print who has verified the answer; or what was checked: whether the sources say it and how
    many do, and whether it is what was asked; then each claim that they do not support."""
    if (given := answer.verified) is not None:
        by = f" by {one_line(given.by)}" if given.by else ""
        until = f", until {format_time(given.until)}" if given.until is not None else ""
        print_text(f"\nVerified{by} on {format_time(given.at)}{until}.")
    claims = [verdict for verdict in verdicts if verdict.label != "no_claim"]
    checked = [_summarize_support(claims)] if claims else []
    if answer.answers is not None:
        sure = f"{answer.answers.confidence:.2f}".removeprefix("0")
        checked.append(f"answers the question: {LIKELY[answer.answers.level]} ({sure})")
    if checked:
        print_text(f"\nChecked: {'; '.join(checked)}.")
    for claim in claims:
        if claim.label != "supported":
            reason = f" ({claim.reason})" if claim.reason else ""
            print_text(f"  {claim.label}{reason}: {one_line(claim.sentence) or 'taken out'}")


def _summarize_support(claims: Sequence[Verdict]) -> str:
    """How many claims of the answer the sources support, and how many sources do."""
    held = [claim for claim in claims if claim.label == "supported"]
    if not held:
        return "supported by no source"
    number = len({item.citation.number for item in held if item.citation}) or 1
    sources = f"{number} source{'s' if number > 1 else ''}"
    some = "" if len(held) == len(claims) else f"{len(held)} of {len(claims)} claims "
    return f"{some}supported by {sources}"


def show_found(found: SearchResult) -> None:
    """Print ranked passages with their scores."""
    if not found.hits:
        print_text("Nothing was found.")
    for source in hit_sources(found.hits):
        print_text(
            f"{source.number}. {source.score:.3f}{_score_parts(source)}  {_source_location(source)}"
        )
        _show_metadata(source)
        _show_pictures(source)
        _print_indented(source.text)


def show_trace(trace: Sequence[StageTrace]) -> None:
    """Print what each stage did, and how long it took."""
    rows = [
        (t.stage, round(t.seconds * 1000, 1), t.status, t.usage_text, t.decision, t.reason)
        for t in trace
    ]
    print_text()
    table(("stage", "ms", "status", "chat model", "decision", "reason"), rows)


def show_summary(progress: Progress) -> None:
    """Print how an ingest or rebuild ended."""
    for note in progress.notes:
        print_text(one_line(note))
    pruned = f", {progress.pruned:,} pruned" if progress.pruned else ""
    print_text(
        f"{progress.indexed:,} indexed, {progress.unchanged:,} unchanged{pruned}, "
        f"{progress.failures:,} failed; {format_count(progress.chunks, 'chunk')} in "
        f"{progress.seconds:.1f} s"
    )
    for skipped in progress.skipped:
        print_text(f"  {format_skipped(skipped)}")
    for copy in progress.copies[:MAX_FAILURES]:
        print_text(f"  {one_line(copy.path)} has the content of {one_line(copy.original)}")
    if more := len(progress.copies[MAX_FAILURES:]) + progress.more_copies:
        print_text(f"  and {more:,} more with the content of other documents")
    for failure in progress.failed[:MAX_FAILURES]:
        reason = omit_name(failure.path, one_line(failure.reason))
        print_text(f"  {one_line(failure.path)}: {reason}")
    if more := progress.failures - len(progress.failed[:MAX_FAILURES]):
        print_text(f"  and {more:,} more; 'ragstone documents' shows each document's error")


def format_skipped(skipped: Skipped) -> str:
    """A kind of files that were passed over: how many, and why."""
    if skipped.kind == HIDDEN:
        what = "file or folder" if skipped.files == 1 else "files and folders"
        return f"{HIDDEN}: {skipped.files:,} {what}, by a dot before the name"
    what = "file" if skipped.files == 1 else "files"
    if skipped.kind in (WITHOUT_TEXT, CHAPTER, COPY):
        return f"{skipped.kind}: {skipped.files:,} {what}"
    if is_picture(f"x{skipped.kind}") and not is_installed():
        more = f"; to read their text, {missing_step()}"
        return f"{one_line(skipped.kind)}: {skipped.files:,} {what}{more}"
    advice = suggest_conversion(skipped.kind)
    more = f" ({advice[0].lower()}{advice[1:].replace(' it', '')})" if advice else ""
    return f"{one_line(skipped.kind)}: {skipped.files:,} {what}, not a readable type{more}"


def describe(progress: Progress) -> str:
    """How far a job is, in one line."""
    total = f"{progress.total:,}" if progress.total is not None else "?"
    left = f", about {duration(progress.eta)} left" if progress.eta else ""
    asked = f", {progress.questions:,} questions about them" if progress.questions else ""
    if progress.phase == "done":
        return f"done: {progress.files:,}/{total} files, {format_count(progress.chunks, 'chunk')}"
    return (
        f"{progress.phase}: {progress.files:,}/{total} files read, {progress.vectors:,} chunks "
        f"searchable by words, {min(progress.embedded, progress.vectors):,} of them by meaning"
        f"{asked}{left}"
    )


class ProgressView:
    """Shows progress on standard error: a bar on a terminal, now and then a line elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet:
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn
            from rich.progress import Progress as Bar

            text = TextColumn("{task.description}", markup=False)
            console = Console(stderr=True)
            self._bar = Bar(SpinnerColumn(), BarColumn(30), text, console=console, transient=True)
            self._task = self._bar.add_task("counting", total=None)
            self._bar.start()
        return self

    def show(self, progress: Progress) -> None:
        """Show the newest state of a job."""
        self.update(*_measure(progress), describe(progress), progress.phase == "done")

    def update(self, total: int | None, done: int, line: str, finished: bool) -> None:
        """Show that `done` of `total` is done, which `line` says too."""
        if self._quiet:
            return
        if self._bar:
            self._bar.update(self._task, total=total, completed=done, description=line)
        elif not finished and time.monotonic() - self._printed >= PLAIN_SECONDS:
            self._printed = time.monotonic()
            err(line)

    def clear(self) -> None:
        """Take the bar off the terminal."""
        if self._bar:
            self._bar.stop()
            self._bar = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()


def _measure(progress: Progress) -> tuple[int | None, int]:
    """The bar's length and filling: full when all files are read and all vectors made."""
    share = progress.share
    return (None, 0) if share is None else (BAR, int(BAR * share))


def format_interruption(progress: Progress, elsewhere: bool) -> list[str]:
    """What is told when a command is stopped while a job goes on `elsewhere`, in a server, or
    stands still."""
    if elsewhere:
        return [
            f"The job {progress.job} goes on in the server ({describe(progress)}). "
            f"'ragstone jobs show {progress.job} --follow' follows it, "
            f"'ragstone jobs cancel {progress.job}' ends it."
        ]
    return [
        f"Stopped at {describe(progress)}. What is done stays and can be asked. The same command, "
        "or 'ragstone serve', goes on from there."
    ]


def _source_location(source: Source) -> str:
    titled = source.title and source.title != source.path
    parts = [source.title, source.path] if titled else [source.path]
    if source.page is not None:
        parts.append(f"page {source.page}")
    if source.section:
        parts.append(" > ".join(source.section))
    return one_line(", ".join(parts))


def _show_pictures(source: Source) -> None:
    for picture in source.pictures:
        page = f", page {picture.page}" if picture.page else ""
        print_text(f"    picture{page}: {one_line(picture.caption) or 'without a caption'}")


def _show_metadata(source: Source) -> None:
    """Print what describes the document, in one line."""
    parts = [
        f"{key}: {', '.join(map(value_text, value if isinstance(value, list) else [value]))}"
        for key, value in source.metadata.items()
        if key not in UNSHOWN and value not in ("", None, [])
    ]
    if parts:
        line = textwrap.shorten(one_line("; ".join(parts)), METADATA_CHARS, placeholder=" ...")
        print_text(f"    ({line})")


def _score_parts(source: Source) -> str:
    parts = (("dense", source.dense), ("bm25", source.bm25))
    known = [f"{name} {score:.3f}" for name, score in parts if score is not None]
    return f" ({', '.join(known)})" if known else ""


def _print_indented(text: str) -> None:
    width = max(40, min(100, get_terminal_size().columns))
    short = textwrap.shorten(one_line(text), 300, placeholder=" ...")
    print_text(textwrap.fill(short, width, initial_indent="    ", subsequent_indent="    "))
