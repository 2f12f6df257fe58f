"""64 clients search over HTTP, first alone and then while 1,000 documents are being ingested."""

import asyncio
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.common import RAGSTONE, eval_data
from benchmarks.row import Row
from benchmarks.startup import answers
from ragstone.plugins.evaluation import dataset
from ragstone.plugins.evaluation.measures import percentile

CLIENTS = 64
DOCUMENTS = 1_000
IDLE_SECONDS = 20.0
WARM_SECONDS = 3.0
URL = "http://127.0.0.1:18007"


@dataclass
class Seen:
    """The seconds of every search that succeeded, by when it began, and what failed."""

    searches: list[tuple[float, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def p95(self, begin: float, end: float) -> float:
        """Take the 95th percentile of the searches that began between two moments."""
        return percentile([took for at, took in self.searches if begin <= at < end], 0.95)

    def rate(self, begin: float, end: float) -> float:
        """Count searches a second between two moments."""
        return sum(begin <= at < end for at, _ in self.searches) / (end - begin)


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        texts = [entry.text for entry in dataset.corpus(eval_data() / "squad2_dev")]
        for name, some in (("first", texts[:DOCUMENTS]), ("second", texts[-DOCUMENTS:])):
            (root / name).mkdir()
            for number, text in enumerate(some):
                (root / name / f"{number}.txt").write_text(text, encoding="utf-8")
        environment = {
            **os.environ,
            "RAGSTONE_DATA": str(root / "data"),
            "AUTH__GUESTS": "everything",
        }
        subprocess.run([RAGSTONE, "ingest", str(root / "first")], env=environment, check=True)
        server = subprocess.Popen([RAGSTONE, "serve", "--port", "18007"], env=environment)
        try:
            while not answers(f"{URL}/ready"):
                time.sleep(0.1)
            return asyncio.run(measure(root / "second", environment))
        finally:
            server.terminate()
            server.wait()


async def measure(folder: Path, environment: dict[str, str]) -> list[Row]:
    questions = [q.text for q in dataset.questions(eval_data() / "squad2_dev", "dev", 2_000)]
    seen, stop = Seen(), asyncio.Event()
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=URL, timeout=60, limits=limits) as http:
        clients = [
            asyncio.create_task(client(http, questions[i::CLIENTS], seen, stop))
            for i in range(CLIENTS)
        ]
        await asyncio.sleep(WARM_SECONDS)
        idle = time.perf_counter()
        await asyncio.sleep(IDLE_SECONDS)
        began = time.perf_counter()
        ingest = await asyncio.create_subprocess_exec(
            RAGSTONE, "ingest", str(folder), env=environment
        )
        status = await ingest.wait()
        ended = time.perf_counter()
        stop.set()
        await asyncio.gather(*clients)
    alone, beside = seen.p95(idle, began), seen.p95(began, ended)
    return [
        Row(f"{CLIENTS} clients: searches a second", seen.rate(idle, began)),
        Row(f"{CLIENTS} clients: a search, p95", 1000 * alone, "ms"),
        Row(f"{CLIENTS} clients: the same during ingest, p95", 1000 * beside, "ms"),
        Row(f"{CLIENTS} clients: p95 during ingest / alone", beside / alone, "x", most=5),
        Row(f"{DOCUMENTS:,} documents ingested meanwhile", ended - began, "s"),
        Row("Searches and ingests that failed", len(seen.errors) + status, most=0),
    ]


async def client(
    http: httpx.AsyncClient, questions: list[str], seen: Seen, stop: asyncio.Event
) -> None:
    """Ask one question after the other until told to stop."""
    while not stop.is_set():
        for question in questions:
            started = time.perf_counter()
            body = {"query": question, "collection": "default", "cache": False}
            response = await http.post("/api/v1/retrieval/retrieve", json=body)
            if response.status_code == 200:
                seen.searches.append((started, time.perf_counter() - started))
            else:
                seen.errors.append(response.text)
            if stop.is_set():
                return


if __name__ == "__main__":
    for row in run():
        print(row.line())
