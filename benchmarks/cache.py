"""The semantic cache: which questions it takes for the same, and what a hit costs."""

import asyncio
import http.client
import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.common import RAGSTONE, eval_data
from benchmarks.row import Row
from ragstone import build
from ragstone.core.turn import Ask
from ragstone.engine.engine import Engine
from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.plugins.evaluation.cache import QuestionPair, decide_pairs, measure_pairs, pairs
from ragstone.plugins.evaluation.measures import percentile
from ragstone.ports import Embedder, Kept
from ragstone.recipes.recipe import Recipes
from ragstone.settings import CacheSettings, Settings
from tests.e2e.processes import serving

MINIMAL = Path(__file__).parents[1] / "tests" / "cache" / "data" / "question_pairs.tsv"
ENTRIES = 10_000
ASKED, WARM = 200, 20
TEXT = "The salary of the director is 90,000 dollars. The office is in Glasgow since 1871."
QUESTION = "What is the salary of the director?"
OTHERWISE = "What is the director's salary?"


def run() -> Iterator[Row]:
    yield from asyncio.run(questions())
    with tempfile.TemporaryDirectory() as directory:
        ingest_document(Path(directory))
        asyncio.run(fill(Path(directory)))
        yield from ask_over_http(Path(directory))


async def questions() -> list[Row]:
    quora = pairs(eval_data() / "qqp_cache" / "dev" / "pairs.jsonl.gz")
    korean = pairs(eval_data() / "klue_sts_ko" / "dev" / "pairs.jsonl.gz")
    minimal = [
        QuestionPair(first, second, same == "yes")
        for same, _, _, first, second in (
            line.split("\t")
            for line in MINIMAL.read_text(encoding="utf-8").splitlines()
            if line and not line.startswith("#")
        )
    ]
    english, multilingual = MiniLm(), MultilingualE5()
    first = await figures(quora, english)
    wrong = 0
    for embedder in (english, multilingual):
        hits = await decide_pairs(minimal, embedder, "adaptive")
        wrong += sum(hit and not pair.same for pair, hit in zip(minimal, hits, strict=True))
    second = await figures(korean, multilingual)
    many = sum(not pair.same for pair in minimal)
    return [
        Row("Cache: precision on 9,850 pairs of Quora", _number(first, "precision"), least=0.93),
        Row("Cache: recall on them", _number(first, "recall"), least=0.30),
        Row(f"Cache: false hits on {many} pairs with one thing changed", wrong, most=0),
        Row("Cache: hits on 260 Korean pairs", _number(second, "hits"), detail=True),
    ]


async def figures(found: list[QuestionPair], embedder: Embedder) -> Mapping[str, float | None]:
    return measure_pairs(found, await decide_pairs(found, embedder, "adaptive"))


def _number(measured: Mapping[str, float | None], name: str) -> float:
    value = measured[name]
    return float("nan") if value is None else value


def ingest_document(data: Path) -> None:
    """A collection of one document."""
    (data / "a.txt").write_text(TEXT, encoding="utf-8")
    subprocess.run(
        [RAGSTONE, "--data", str(data / "d"), "ingest", str(data / "a.txt")],
        check=True,
        capture_output=True,
    )


async def fill(data: Path) -> None:
    """Fill a cache with one answered question, and many others with the same scope."""
    cache = CacheSettings(max_entries=2 * ENTRIES, default_ttl_seconds=3600)
    settings = Settings(ragstone_data=data / "d", cache=cache)
    async with build.open_adapters(settings) as (adapters, _, _):
        engine = Engine(adapters, Recipes(settings).answer_recipe)
        turn = await engine.answer(Ask(QUESTION))
        await engine.aclose()
        assert turn.recalled is not None
        kept = Kept("", passages=turn.passages, answer=turn.answer)
        vectors = np.random.default_rng(1).normal(size=(ENTRIES, 384)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        for number, vector in enumerate(vectors):
            other = Kept(f"Question {number}?", passages=kept.passages, answer=kept.answer)
            await adapters.cache.keep(turn.recalled.answer_scope, vector, other)


def ask_over_http(data: Path) -> Iterator[Row]:
    """Ask over HTTP, of a server process, in the words that were asked before and in others."""
    variables = {"CACHE__MAX_ENTRIES": str(2 * ENTRIES), "CACHE__DEFAULT_TTL_SECONDS": "3600"}
    with serving(data / "d", **variables) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        for words, question in (("other words", OTHERWISE), ("the same words", QUESTION)):
            times: list[float] = []
            for _ in range(WARM + ASKED):
                started = time.perf_counter()
                answer = post(connection, question)
                times.append(time.perf_counter() - started)
                assert "90,000" in answer["choices"][0]["message"]["content"], answer
            what = f"A cache hit over HTTP at {ENTRIES:,} entries, {words}"
            yield Row(f"{what}, p50", 1000 * percentile(times[WARM:], 0.5), "ms", most=8)
            yield Row(f"{what}, p95", 1000 * percentile(times[WARM:], 0.95), "ms", detail=True)
        with urllib.request.urlopen(f"{url}/metrics") as response:
            shown = response.read().decode()
        hits = float(shown.split('ragstone_cache{what="hits"} ')[1].split("\n")[0])
        assert hits == 2 * (WARM + ASKED), hits


def post(connection: http.client.HTTPConnection, question: str) -> Any:
    """Return one question."""
    body = {"model": "ragstone", "messages": [{"role": "user", "content": question}]}
    headers = {"content-type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    return json.load(connection.getresponse())
