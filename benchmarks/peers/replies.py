"""The same small chat model behind Ragstone and its peers: what is refused, and what is answered.

`EXAM_MODEL=FILE.gguf python -m benchmarks peers.replies` asks about the office files of
`peers.documents`: all that they do not answer, and as many that they do. Peers send the passages
and the prompt of their first examples: LlamaIndex two passages, LangChain four, Haystack ten. A
reply that says in any words that it does not know is a refusal; all else is an answer.
"""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2

from benchmarks.exam import PATIENCE, answer_exam, load_grader
from benchmarks.peers.documents import (
    PEERS,
    FileQuestion,
    Peer,
    read_corpus,
    read_set,
    search,
)
from benchmarks.peers.side import VECTORS
from benchmarks.row import Row
from ragstone import build
from ragstone.models import calls
from ragstone.plugins.evaluation.dataset import spread
from ragstone.service import IngestRequest
from ragstone.settings import CacheSettings, LlmSettings, Settings
from tests.llama import llama_server

KEY = "peers"
MAX_TOKENS = 120
"""What a reply may have."""

PROMPTS = {
    "LlamaIndex": (
        2,
        "Context information is below.\n---------------------\n{context}\n---------------------\n"
        "Given the context information and not prior knowledge, answer the query.\n"
        "Query: {question}\nAnswer: ",
    ),
    "LangChain": (
        4,
        "You are an assistant for question-answering tasks. Use the following pieces of retrieved "
        "context to answer the question. If you don't know the answer, just say that you don't "
        "know. Use three sentences maximum and keep the answer concise.\n"
        "Question: {question}\nContext: {context}\nAnswer:",
    ),
    "Haystack": (
        10,
        "Given the following information, answer the question.\n\nContext:\n{context}\n\n"
        "Question: {question}\nAnswer:",
    ),
}
"""How many passages a peer takes where nothing is said, and the prompt that its documentation shows
first."""

REFUSAL = re.compile(
    r"(?:do(?:es)?|did|is|are|was|could|can|has|have)(?: not|n't) (?:\w+ )?(?:know|provide|mention|"
    r"specif|contain|include|give|state|find|available|clear|have|say|answer|discuss|list)"
    r"|cannot|unable|no (?:specific |relevant )?(?:information|mention|answer|data)|not enough",
    re.IGNORECASE,
)


def run() -> Iterator[Row]:
    file = os.environ.get("EXAM_MODEL")
    if not file:
        sys.exit("Set EXAM_MODEL to a chat model's GGUF file.")
    files, asked = read_set("office")
    none = [question for question in asked if not question.is_answerable]
    known = spread([question for question in asked if question.is_answerable], len(none))
    chosen = [*none, *known]
    with tempfile.TemporaryDirectory() as place, llama_server(KEY, Path(file)) as url:
        base = url if url.endswith("/v1") else f"{url}/v1"
        for peer in PEERS:
            if peer.name in PROMPTS:
                replies = ask_peer(peer, files, chosen, Path(place), base)
                yield from _rows(f"{peer.name} with {Path(file).stem}", chosen, replies)
        found = asyncio.run(ask_own(files, chosen, Path(place), base))
        yield from _rows(f"Ragstone with {Path(file).stem}", chosen, found)


def ask_peer(
    peer: Peer, files: Sequence[Path], asked: Sequence[FileQuestion], folder: Path, base: str
) -> list[tuple[str, bool]]:
    """Return the model's reply to each question over a peer's passages, and whether it refuses."""
    texts = [question.text for question in asked]
    corpus = read_corpus(peer, files, texts, folder)
    rankings = search(peer, corpus.exported, folder)["variants"][VECTORS]["rankings"]
    count, prompt = PROMPTS[peer.name]
    replies = []
    for text, ranking in zip(texts, rankings, strict=True):
        context = "\n\n".join(corpus.pieces[int(number)].text for number in ranking[:count])
        body = {
            "messages": [
                {"role": "user", "content": prompt.format(context=context, question=text)}
            ],
            "temperature": 0,
            "max_tokens": MAX_TOKENS,
        }
        response = httpx2.post(
            f"{base}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=PATIENCE,
        )
        reply = response.raise_for_status().json()["choices"][0]["message"]["content"]
        replies.append((reply, bool(REFUSAL.search(reply))))
        print(f"  {peer.name}: {text} | {' '.join(reply.split())[:150]}", flush=True)
    return replies


async def ask_own(
    files: Sequence[Path], asked: Sequence[FileQuestion], folder: Path, base: str
) -> list[tuple[str, bool]]:
    """Ragstone's answers with the model, all else as it is by default."""
    calls.PATIENCE = PATIENCE
    model = {"model": "same", "base_url": base, "api_key": KEY, "timeout": PATIENCE, "parallel": 1}
    settings = Settings(
        ragstone_data=folder / "own",
        cache=CacheSettings(enabled=False),
        llm=LlmSettings.model_validate(model),
    )
    replies = []
    async with build.open(settings) as service:
        async for _ in service.ingest(IngestRequest(tuple(map(str, files)), collection="office")):
            pass
        for question in asked:
            row = {"turns": [question.text], "collection": "office"}
            answer, _ = await answer_exam(service, row)
            replies.append((answer.text, answer.refused))
            print(
                f"  Ragstone: {question.text} | {' '.join(answer.text.split())[:150]}", flush=True
            )
    return replies


def _rows(
    who: str, asked: Sequence[FileQuestion], replies: Sequence[tuple[str, bool]]
) -> Iterator[Row]:
    grade = load_grader()
    counts = {"refused": 0, "right": 0, "refused wrongly": 0}
    for question, (text, is_refusal) in zip(asked, replies, strict=True):
        row = {**(question.row or {}), "cites": []}
        outcome, *_ = grade(row, text, {"refused": is_refusal})
        if not question.is_answerable:
            counts["refused"] += is_refusal
        elif outcome == "right":
            counts["right"] += 1
        elif is_refusal:
            counts["refused wrongly"] += 1
    half = len(asked) // 2
    yield Row(f"Replies, refused what nothing answers: {who}", counts["refused"], note=f"of {half}")
    yield Row(f"Replies, right: {who}", counts["right"], note=f"of {half}")
    yield Row(f"Replies, refused wrongly: {who}", counts["refused wrongly"], note=f"of {half}")
