"""Customers' comments: how many of those that are counted for a topic belong to it, how many that
belong are counted, and how many a second are read for the first time.

There are no comments with known topics here, so utterances of ten intents of CLINC150 together
stand for comments, and an intent's name for the topic.
"""

import asyncio
import gzip
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import eval_data
from benchmarks.row import Row
from ragstone.build import open_embedders
from ragstone.index.edge.index import EdgeIndex
from ragstone.plugins.comments.comment_reader import LocalCommentReader, ReadComments
from ragstone.plugins.comments.comments import CustomerComment
from ragstone.settings import load

EVERY, EACH = 4, 18
"""One intent of so many is read, and so many utterances of it."""

TOGETHER, MIXTURES, SEED = 10, 40, 11
"""Intents of a mixture, and how many mixtures are asked."""


def run() -> Iterator[Row]:
    yield from asyncio.run(_measure())


async def _measure() -> list[Row]:
    by_intent = _utterances(eval_data() / "clinc150" / "dev" / "intents.jsonl.gz")
    names = sorted(by_intent)[::EVERY]
    texts = [(name, text) for name in names for text in by_intent[name][:EACH]]
    comments = [
        CustomerComment(str(at), text, text, "", "", "", "", labels={"intent": name})
        for at, (name, text) in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        async with open_embedders(load()) as embedders:
            reader = LocalCommentReader(EdgeIndex(Path(folder)), embedders.topic_embedder())
            began = time.perf_counter()
            read = await reader.of_texts(comments)
            speed = len(comments) / (time.perf_counter() - began)
            right = counted = wanted = 0
            chance = np.random.default_rng(SEED)
            for _ in range(MIXTURES):
                mixed = sorted(chance.choice(names, TOGETHER, replace=False))
                part = _only(read, mixed)
                for name in mixed:
                    found = await reader.score_topic(name.replace("_", " "), part) >= 0
                    truth = np.array(
                        [comment.labels["intent"] == name for comment in part.comments]
                    )
                    right += int((found & truth).sum())
                    counted += int(found.sum())
                    wanted += int(truth.sum())
    return [
        Row("Counted for a topic, and belongs to it", right / max(1, counted)),
        Row("Belongs to a topic, and is counted for it", right / max(1, wanted)),
        Row(f"Comments read for the first time, of {len(comments)}", speed, "/s"),
    ]


def _utterances(file: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["intent"] != "oos":
                found.setdefault(row["intent"], []).append(row["text"])
    return found


def _only(read: ReadComments, names: Sequence[str]) -> ReadComments:
    places = [at for at, comment in enumerate(read.comments) if comment.labels["intent"] in names]
    return ReadComments(tuple(read.comments[at] for at in places), read.vectors[places])
