"""What a chat model reads for a question: tokens of the prompt, and whether it holds the answer.

The questions of the exam (`RAGSTONE_EVAL_DATA/exam`) over its documents, asked with the defaults,
with a chat model in this process that keeps what it is sent. The answer is there if all that the
exam wants to read in a right answer stands in the prompt; an answer that is to be concluded from
the documents may be nowhere. `BENCH_INDEX` names a data directory that has the documents already
(`EXAM_DATA` of the exam's `run.sh`); else they are indexed first, which takes minutes.
"""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone import build
from ragstone.core.turn import Ask, Message
from ragstone.language.tokens import count
from ragstone.service import IngestRequest, Service
from ragstone.settings import CacheSettings, LlmSettings, RagSettings, Settings
from tests.model_server import ModelServer, model_server

PDFS = ("ADOBE_2022_10K", "AMAZON_2017_10K", "AMAZON_2019_10K", "BESTBUY_2023_10K")
PDFS += ("MGMRESORTS_2023Q2_10Q", "MICROSOFT_2023_10K", "NETFLIX_2015_10K")


def run() -> Iterator[Row]:
    yield from asyncio.run(_measure())


async def _measure() -> list[Row]:
    rows = [row for row in read_questions() if not row["refuse"]]
    kept = os.environ.get("BENCH_INDEX")
    with tempfile.TemporaryDirectory() as made, model_server() as server:
        settings = Settings(
            ragstone_data=Path(kept or made),
            cache=CacheSettings(enabled=False),
            llm=LlmSettings(model="keeps", base_url=server.url),
            rag=RagSettings(checking="off"),
        )
        async with build.open(settings) as service:
            if not kept:
                await index_exam(service)
            prompts = [await _prompt(service, server, row) for row in rows]
    sent = [text for text in prompts if text]
    held = [_holds(text, row) for text, row in zip(prompts, rows, strict=True)]
    return [
        Row("Tokens of an answer's prompt", fmean(map(count, sent)), note=f"{len(sent)} questions"),
        Row("The right passage is in the prompt", fmean(held), note=f"{sum(held)} of {len(held)}"),
    ]


def read_questions() -> list[dict[str, Any]]:
    """Return the questions of the exam."""
    lines = (eval_data() / "exam" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def index_exam(service: Service) -> None:
    """Index the exam's documents."""
    folder = eval_data() / "exam" / "docs"
    pdfs = tuple(str(eval_data() / "financebench" / "pdfs" / f"{name}.pdf") for name in PDFS)
    sets = {"filings": pdfs} | {item.name: (str(item),) for item in folder.iterdir()}
    for name, paths in sets.items():
        async for _ in service.ingest(IngestRequest(paths, collection=name)):
            pass


async def _prompt(service: Service, server: ModelServer, row: Mapping[str, Any]) -> str:
    """Return what the model is sent for the answer to a question; empty where it is not asked."""
    *before, last = row["turns"]
    history = tuple(
        message
        for text in before
        for message in (Message("user", text), Message("assistant", "The documents say so."))
    )
    server.calls.clear()
    async for _ in service.ask(Ask(last, collection=row["collection"], history=history)):
        pass
    calls = [call["messages"] for call in server.calls if call.get("stream")]
    return "\n".join(str(message["content"]) for message in calls[-1]) if calls else ""


def _holds(text: str, row: Mapping[str, Any]) -> bool:
    return all(re.search(item, text, re.IGNORECASE | re.DOTALL) for item in row["right"])
