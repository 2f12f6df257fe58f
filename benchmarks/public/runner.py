"""Ingest a benchmark's documents, ask its questions, and say what came of them."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Any, Literal, TypeVar

from benchmarks.public.judge import covers, rouge_l, says, strip_markers
from benchmarks.row import Row
from ragstone import build
from ragstone.core.answer import GeneratedAnswer
from ragstone.core.events import Done
from ragstone.core.filters import AnyOf
from ragstone.core.turn import Ask, Message
from ragstone.service import IngestRequest, Service
from ragstone.settings import CacheSettings, Settings

T = TypeVar("T")
Outcome = Literal["right", "wrong", "refused"]

Documents = Mapping[str, str | Path]
"""What is ingested: a text or a file by its path, whose first part is its collection."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question, and what is accepted as its answer: an alternative of each of `accepted`, or most
    of `reference`. Nothing is accepted where the documents do not answer it.

    `sources` hold the answer: paths, or `path#page`. Only the documents of `within` are asked, all
    of the collection if there are none.
    """

    kind: str
    question: str
    collection: str
    accepted: tuple[tuple[str, ...], ...] = ()
    reference: str = ""
    sources: frozenset[str] = frozenset()
    within: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()

    @property
    def is_answerable(self) -> bool:
        return bool(self.accepted or self.reference)


@dataclass(frozen=True, slots=True)
class _Said:
    """What was answered, as it is kept in a file: `cites` are the path and page of each source,
    `load` is how many processes waited for the machine."""

    text: str
    refused: bool
    is_sure: bool
    cites: Sequence[tuple[str, int]]
    seconds: float
    load: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What a task was answered. `cites` are the paths of the sources, and each with its page."""

    task: Task
    text: str
    outcome: Outcome
    is_sure: bool
    cites: frozenset[str]
    seconds: float
    load: float

    @property
    def cites_source(self) -> bool:
        return bool(self.cites & self.task.sources)


def clone(name: str, url: str) -> Path:
    """Return the folder of a cloned project; ends the program where it is not there."""
    place = os.environ.get("RAGSTONE_PUBLIC_DATA")
    if not place or not (folder := Path(place, name)).is_dir():
        sys.exit(f"Clone {url} to {name} in the folder that RAGSTONE_PUBLIC_DATA names.")
    return folder


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; none where there is no file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def spread(rows: Sequence[T], limit: int) -> list[T]:
    """At most `limit` rows, evenly spread: the same ones in each run."""
    if limit >= len(rows):
        return list(rows)
    return [rows[number * len(rows) // limit] for number in range(limit)]


def ask_all(name: str, documents: Documents, tasks: Sequence[Task]) -> list[Reply]:
    """Ask the tasks, in this order, of the ingested documents.

    Replies that `PUBLIC_REPLIES` keeps are judged anew, and only the others asked.
    """
    place = os.environ.get("PUBLIC_REPLIES")
    file = Path(place, f"{name}.jsonl") if place else None
    kept = {line["key"]: line["said"] for line in read_lines(file)} if file else {}
    missing = [task for task in tasks if _key(task) not in kept]
    if missing:
        asyncio.run(_ask_all(documents, missing, kept, file))
    return [_judge(task, _Said(**kept[_key(task)])) for task in tasks]


def _key(task: Task) -> str:
    turns = tuple(message.text for message in task.history)
    parts = (task.question, task.collection, task.within, turns)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


async def _ask_all(
    documents: Documents, tasks: Sequence[Task], kept: dict[str, Any], file: Path | None
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory, "documents")
        _write(documents, folder)
        settings = Settings(
            ragstone_data=Path(directory, "data"), cache=CacheSettings(enabled=False)
        )
        async with build.open(settings) as service:
            for name in sorted({path.partition("/")[0] for path in documents}):
                async for progress in service.ingest(
                    IngestRequest((str(folder / name),), collection=name)
                ):
                    if progress.finished and progress.failed:
                        print(f"  not read: {progress.failed}", flush=True)
            for task in tasks:
                said = asdict(await _ask(service, task))
                kept[_key(task)] = said
                if file:
                    line = {"key": _key(task), "question": task.question, "said": said}
                    with file.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def _write(documents: Documents, folder: Path) -> None:
    for path, content in documents.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, file)
        else:
            file.write_text(content, encoding="utf-8")


async def _ask(service: Service, task: Task) -> _Said:
    where = AnyOf("path", tuple(f"/{path}" for path in task.within)) if task.within else None
    ask = Ask(
        task.question, collection=task.collection, where=where, history=task.history, streams=False
    )
    started = perf_counter()
    async for event in service.ask(ask):
        last = event
    seconds = perf_counter() - started
    if not isinstance(last, Done):
        raise AssertionError(f"{task.question}: {last}")
    answer = last.turn.answer or GeneratedAnswer(finish="refused")
    return _Said(
        strip_markers(answer.text),
        answer.refused,
        answer.confidence_level == "high",
        [(citation.path[1:], citation.page or 0) for citation in answer.citations],
        round(seconds, 4),
        round(os.getloadavg()[0], 1),
    )


def _judge(task: Task, said: _Said) -> Reply:
    outcome: Outcome = "right" if _is_right(said.text, task) else "wrong"
    cites = {part for path, page in said.cites for part in (path, f"{path}#{page}")}
    return Reply(
        task,
        said.text,
        "refused" if said.refused else outcome,
        said.is_sure,
        frozenset(cites),
        said.seconds,
        said.load,
    )


def _is_right(text: str, task: Task) -> bool:
    if task.accepted:
        return says(text, task.accepted)
    return bool(task.reference) and covers(text, task.reference)


def outcome_rows(title: str, replies: Sequence[Reply]) -> Iterator[Row]:
    """Of each kind of task: right, refused and source cited, or refused where nothing answers."""
    for kind in dict.fromkeys(reply.task.kind for reply in replies):
        own = [reply for reply in replies if reply.task.kind == kind]
        answerable = [reply for reply in own if reply.task.is_answerable]
        strange = [reply for reply in own if not reply.task.is_answerable]
        name = f"{title}, {kind}" if kind else title
        if answerable:
            yield _share(f"{name}: right", answerable, lambda r: r.outcome == "right")
            yield _share(f"{name}: refused", answerable, lambda r: r.outcome == "refused")
            wrong = [r for r in answerable if r.outcome == "wrong"]
            yield _share(f"{name}: wrong", answerable, lambda r: r.outcome == "wrong")
            if wrong:
                name_sure = f"{name}: with high confidence, of wrong ones"
                yield _share(name_sure, wrong, lambda r: r.is_sure)
            cited = [r for r in answerable if r.task.sources and r.outcome != "refused"]
            if cited:
                yield _share(f"{name}: a right source, of answers", cited, lambda r: r.cites_source)
        references = [r for r in answerable if r.task.reference]
        if references:
            mean = fmean(rouge_l(r.text, r.task.reference) for r in references)
            yield Row(f"{name}: ROUGE-L", mean, note=f"{len(references)} questions")
        if strange:
            name = f"{name}: unanswerable, refused"
            yield _share(name, strange, lambda r: r.outcome == "refused")


def _share(what: str, replies: Sequence[Reply], holds: Callable[[Reply], bool]) -> Row:
    count = sum(map(holds, replies))
    return Row(what, count / len(replies), note=f"{count} of {len(replies)}", detail=True)


def time_row(title: str, replies: Sequence[Reply], sample: str) -> Row:
    """Return the time of a question, with the machine, its load and the commit."""
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=False).stdout.strip()
    load = fmean(reply.load for reply in replies)
    note = f"{sample}; {os.cpu_count()} processors, load {load:.1f}, commit {commit}"
    return Row(f"{title}: median of a question", median(r.seconds for r in replies), "s", note=note)
