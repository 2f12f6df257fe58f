"""Peers over other people's files: `python -m benchmarks peers.documents`.

Ten filings of companies (PDF, with the pages that hold each answer) and a folder of office files.
Each peer reads and splits them as its README or tutorial does; the vectors of all are made by
Ragstone's default model, and searches are those of the comparison over the same vectors. The peers
answer nothing without a chat model: theirs are passages, in the order in which they give them.

The questions are those of FinanceBench, and of the exam on which Ragstone was developed, which
favours it. `BENCH_SETS=office` takes that one only. `nox --install-only -s peers peers_txtai` makes
the environments.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.common import eval_data
from benchmarks.exam import load_grader
from benchmarks.peers import embedded
from benchmarks.peers.compare import PEERS_PYTHON, QUIET, ROOT
from benchmarks.peers.exported import Exported
from benchmarks.peers.pieces import Piece
from benchmarks.peers.side import VECTORS
from benchmarks.prompts import read_questions
from benchmarks.row import Row
from ragstone.models.minilm import MiniLm
from ragstone.plugins.evaluation import dataset

TXTAI_PYTHON = ROOT / ".nox/peers_txtai/bin/python"
SETS = ("filings", "office")
FILINGS = (
    "AMAZON_2019_10K",
    "AMCOR_2022_8K_dated-2022-07-01",
    "AMCOR_2023Q4_EARNINGS",
    "BESTBUY_2024Q2_10Q",
    "FOOTLOCKER_2022_8K_dated-2022-05-20",
    "JOHNSON_JOHNSON_2023_8K_dated-2023-08-30",
    "MGMRESORTS_2023Q2_10Q",
    "NETFLIX_2015_10K",
    "PEPSICO_2023_8K_dated-2023-05-05",
    "ULTABEAUTY_2023Q4_EARNINGS",
)
"""315 pages: of the 17 filings, those with the most questions for their length."""
FIRST = 5
"""Passages among which the answer should stand."""


@dataclass(frozen=True)
class Peer:
    """A peer, and the modules that read files and search for it."""

    name: str
    files: str
    side: str
    variant: str = "default"
    python: Path = PEERS_PYTHON


PEERS = (
    Peer("LlamaIndex", "llamaindex_files", "llamaindex_side"),
    Peer("LlamaIndex by 256 tokens", "llamaindex_files", "llamaindex_side", "256 tokens"),
    Peer("Haystack", "haystack_files", "haystack_side"),
    Peer("LangChain", "langchain_files", "langchain_side"),
    Peer("txtai on LangChain's passages", "langchain_files", "txtai_side", python=TXTAI_PYTHON),
)


@dataclass(frozen=True)
class FileQuestion:
    """A question, and where its answer is: in a file whose name has one of `names`, on one of
    `pages` if any are named; `right` are patterns of the answer, if they are known."""

    text: str
    names: tuple[str, ...]
    pages: frozenset[int]
    right: tuple[str, ...]
    is_answerable: bool = True
    row: Mapping[str, Any] | None = None
    """The question as the exam has it, which grades its answer."""

    def is_in(self, file: str) -> bool:
        """Tell whether the answer is in a file of this name; any will do where none is named."""
        return not self.names or any(part in file for part in self.names)

    def is_place(self, piece: Piece) -> bool:
        """Whether a passage is on the right page, or of the right file where no page is named."""
        return self.is_in(Path(piece.path).name) and (not self.pages or piece.page in self.pages)

    def holds(self, pieces: Sequence[Piece]) -> bool:
        """Tell whether all of the answer stands in passages of the right files."""
        texts = [p.text for p in pieces if self.is_in(Path(p.path).name)]
        text = "\n".join(texts)
        return all(re.search(item, text, re.IGNORECASE | re.DOTALL) for item in self.right)


@dataclass(frozen=True)
class Corpus:
    """The files as a peer reads them, with what reading and embedding took."""

    pieces: Sequence[Piece]
    unread: Mapping[str, str]
    exported: Path
    seconds: float
    peak_mb: float


def check_environments() -> None:
    """Exit where a peer is not installed."""
    for python in (PEERS_PYTHON, TXTAI_PYTHON):
        if not python.exists():
            sys.exit(f"There is no {python}: run nox --install-only -s peers peers_txtai.")


def run() -> Iterator[Row]:
    """Yield the rows of every set, and the load of the machine."""
    check_environments()
    loads = [os.getloadavg()[0]]
    for name in os.environ.get("BENCH_SETS", ",".join(SETS)).split(","):
        files, asked = read_set(name)
        with tempfile.TemporaryDirectory(prefix="ragstone-peers-") as folder:
            yield from compare(name, files, asked, Path(folder))
        loads.append(os.getloadavg()[0])
    note = f"{os.cpu_count()} cores; of one minute, before, between and after the sets"
    yield Row("Files: load of the machine", max(loads), note=note)


def read_set(name: str) -> tuple[list[Path], list[FileQuestion]]:
    """Return the files of a set, and what is asked of them in one turn."""
    rows = [r for r in read_questions() if r["collection"] == name and len(r["turns"]) == 1]
    asked = [
        FileQuestion(
            row["turns"][0],
            tuple(row["cites"]),
            frozenset(row.get("pages") or ()) if name == "filings" else frozenset(),
            tuple(row["right"]),
            not row["refuse"],
            row,
        )
        for row in rows
    ]
    if name == "office":
        return sorted((eval_data() / "exam/docs/office").iterdir()), asked
    bench = eval_data() / "financebench"
    files = [bench / "pdfs" / f"{stem}.pdf" for stem in FILINGS]
    asked = [q for q in asked if not q.names or any(q.is_in(file.name) for file in files)]
    for question in dataset.questions(bench, "dev"):
        places = [place.rpartition("#p") for place in question.relevant]
        # Their pages count from 0.
        pages = frozenset(int(page) + 1 for *_, page in places)
        if places[0][0] in FILINGS:
            asked.append(FileQuestion(question.text, (places[0][0],), pages, ()))
    return files, asked


def compare(
    name: str, files: Sequence[Path], asked: Sequence[FileQuestion], folder: Path
) -> Iterator[Row]:
    """Ragstone first, then every peer: passages, what it took, and Ragstone's answers."""
    texts = [question.text for question in asked]
    (folder / "asked.json").write_text(json.dumps(texts), encoding="utf-8")
    own = call("ragstone_files", Path(sys.executable), folder, str(folder / "asked.json"), files)
    passages = [[Piece(**piece) for piece in row] for row in own["passages"]]
    yield from passage_rows(name, "Ragstone", asked, passages, [True] * len(asked))
    yield from cost_rows(name, "Ragstone", own["cpu"], own["peak_mb"], own["unread"])
    yield from answer_rows(name, asked, own["answers"])
    corpora: dict[tuple[str, str], Corpus] = {}
    for peer in PEERS:
        key = (peer.files, peer.variant)
        if key not in corpora:
            corpora[key] = read_corpus(peer, files, texts, folder)
        corpus = corpora[key]
        # What nobody could read for a peer is counted as such, not among what it does not find.
        known = [not (q.names and any(map(q.is_in, corpus.unread))) for q in asked]
        found = search(peer, corpus.exported, folder)
        for variant, item in found["variants"].items():
            passages = [[corpus.pieces[int(i)] for i in row] for row in item["rankings"]]
            what = "vectors" if variant == VECTORS else "hybrid"
            yield from passage_rows(name, f"{peer.name}, {what}", asked, passages, known)
        seconds = corpus.seconds + found["cpu"]
        peak = max(corpus.peak_mb, found["peak_mb"])
        yield from cost_rows(name, peer.name, seconds, peak, corpus.unread)


def read_corpus(peer: Peer, files: Sequence[Path], texts: Sequence[str], folder: Path) -> Corpus:
    """The files as a peer reads them, with the vectors of its passages and of the questions."""
    read = call(peer.files, PEERS_PYTHON, folder, peer.variant, files)
    pieces = [Piece(**piece) for piece in read["pieces"] if piece["text"].strip()]
    exported, embedding = embed(pieces, texts, folder, f"{peer.files}-{peer.variant}")
    return Corpus(pieces, read["unread"], exported, read["cpu"] + embedding, read["peak_mb"])


def call(module: str, python: Path, folder: Path, first: str, files: Sequence[Path]) -> Any:
    """Return what a module says of files, in a process of its own."""
    result = folder / f"{module}.json"
    arguments = ["-W", "ignore", "-m", f"benchmarks.peers.{module}", first, str(result)]
    command = [str(python), *arguments, *map(str, files)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **QUIET})
    return json.loads(result.read_text(encoding="utf-8"))


def embed(
    pieces: Sequence[Piece], texts: Sequence[str], folder: Path, name: str
) -> tuple[Path, float]:
    """Return the passages and questions with their vectors as a file for a side, and the processor
    seconds that the passages' vectors took."""
    embedder = MiniLm()
    started = time.process_time()
    vectors = asyncio.run(embedder.embed_passages([piece.text for piece in pieces]))
    took = time.process_time() - started
    asked = asyncio.run(embedder.embed_queries(texts))
    file = folder / f"{name}.json"
    Exported(
        language="en",
        chunks=[
            {"chunk_id": str(number), "document_id": str(number), "searchable": piece.text}
            for number, piece in enumerate(pieces)
        ],
        questions=list(texts),
        passages=str(embedded.write(folder / f"{name}.npz", vectors=np.asarray(vectors))),
        asked=str(embedded.write(folder / f"{name}-asked.npz", vectors=np.asarray(asked))),
        usual=True,
    ).write(file)
    return file, took


def search(peer: Peer, exported: Path, folder: Path) -> Any:
    """Return what a side finds for every question."""
    result = folder / "found.json"
    module = f"benchmarks.peers.{peer.side}"
    command = [str(peer.python), "-W", "ignore", "-m", module, str(exported), str(result)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **QUIET})
    return json.loads(result.read_text(encoding="utf-8"))


def passage_rows(
    name: str,
    who: str,
    asked: Sequence[FileQuestion],
    passages: Sequence[Sequence[Piece]],
    known: Sequence[bool],
) -> Iterator[Row]:
    """Tell whether the first passages are of the right page, and hold the answer, for the questions
    over files that are `known`."""
    rows = list(zip(asked, passages, known, strict=True))
    both = [(q, found) for q, found, is_known in rows if q.is_answerable and is_known]
    placed = [(q, found) for q, found in both if (q.pages if name == "filings" else q.names)]
    place = "page" if name == "filings" else "file"
    for depth, where in ((1, "first"), (FIRST, f"in the first {FIRST}"), (10, "in the first 10")):
        hits = [any(map(q.is_place, found[:depth])) for q, found in placed]
        yield _share(f"Files, {name}, right {place} {where}: {who}", hits)
    hits = [q.holds(found[:FIRST]) for q, found in both if q.right]
    yield _share(f"Files, {name}, answer in the first {FIRST}: {who}", hits)
    words = fmean(sum(len(p.text.split()) for p in found[:FIRST]) for _, found in both)
    yield Row(f"Files, {name}, words of the first {FIRST}: {who}", words, detail=True)
    given = [bool(found) for q, found, _ in rows if not q.is_answerable]
    yield _share(f"Files, {name}, passages for what nothing answers: {who}", given)


def answer_rows(
    name: str, asked: Sequence[FileQuestion], answers: Sequence[Mapping[str, Any]]
) -> Iterator[Row]:
    """Ragstone's answers without a chat model, graded as the exam does."""
    grade = load_grader()
    outcomes, pages = list[str](), list[bool]()
    for question, answer in zip(asked, answers, strict=True):
        if question.row:
            sources = [{"number": i, **source} for i, source in enumerate(answer["cited"], 1)]
            text = re.sub(r"\[\d+(?:, \d+)*\]", "", answer["text"])
            extra = {"refused": answer["refused"], "sources": sources}
            outcome, is_elsewhere, _ = grade(question.row, text, extra)
            outcomes.append(outcome if question.is_answerable else f"{outcome}, unanswerable")
            if outcome == "right" and question.row["page"]:
                pages.append(not is_elsewhere)
    answered = [item for item in outcomes if not item.endswith("unanswerable")]
    refused = [item for item in outcomes if item.endswith("unanswerable")]
    who = "Ragstone, without a chat model"
    yield _share(f"Files, {name}, answered right: {who}", [o == "right" for o in answered])
    yield _share(
        f"Files, {name}, refused wrongly: {who}", [o == "wrongly_refused" for o in answered]
    )
    yield _share(f"Files, {name}, cites the right page: {who}", pages)
    hits = [item.startswith("right") for item in refused]
    yield _share(f"Files, {name}, refused what nothing answers: {who}", hits)


def cost_rows(
    name: str, who: str, seconds: float, peak: float, unread: Collection[str]
) -> Iterator[Row]:
    """Yield what indexing took."""
    yield Row(f"Files, {name}, processor time of indexing: {who}", seconds, "s")
    yield Row(f"Files, {name}, most memory of indexing: {who}", peak, "MB")
    yield Row(f"Files, {name}, files not read: {who}", len(unread), note=", ".join(unread))


def _share(what: str, hits: Sequence[bool]) -> Row:
    return Row(what, fmean(hits) if hits else 0, note=f"{sum(hits)} of {len(hits)}")
