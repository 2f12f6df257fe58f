"""The bundled reader as a reranker."""

from collections.abc import Sequence

import numpy as np
import pytest

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.ports import Pair, PairReading
from ragstone.reader.local import LocalReader
from ragstone.retrieve.rerankers import in_time
from ragstone.retrieve.rerankers.in_time import BATCH
from ragstone.retrieve.rerankers.reading import ReadingReranker

COLLECTION = Collection("default", "default", "minilm", "m/1", 384, "en")


def a_chunk(number: int, text: str) -> Chunk:
    return Chunk(
        f"c{number}", "d", 1, number, text, "Manual", "/m.md", "default", "default", 0, len(text)
    )


async def test_what_answers_has_the_highest_score_and_what_cannot_be_read_none() -> None:
    reader = LocalReader()
    texts = (
        "The battery is charged with the cable that comes with the lamp.",
        "A full battery lasts 31 days without sun.",
        "ዋሽንግተን ዲሲ የአሜሪካ ዋና ከተማ ናት። በ1790 የተመሰረተች ከተማ ናት።",
    )
    judged = await ReadingReranker(reader).judge(
        COLLECTION,
        "How many days does a full battery last?",
        [a_chunk(number, text) for number, text in enumerate(texts)],
    )
    assert judged.weight == 0.7
    assert judged.scores[1] > 0.5 > judged.scores[0]
    assert np.isnan(judged.scores[2]) or judged.scores[2] < 0.5
    await reader.aclose()


class SlowReader:
    """Takes `seconds` for each batch, of a clock that it sets."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        self.now += self.seconds
        return [PairReading(answers=0.5) for _ in pairs]

    async def aclose(self) -> None: ...


@pytest.mark.conforms("V5", "5. Grade Documents", "On a busy machine the best candidates are read")
@pytest.mark.parametrize(("seconds", "batches"), [(1.0, 5), (6.0, 3), (60.0, 1)])
async def test_a_slow_machine_reads_the_best_and_the_others_keep_their_places(
    monkeypatch: pytest.MonkeyPatch, seconds: float, batches: int
) -> None:
    reader = SlowReader(seconds)
    monkeypatch.setattr(in_time, "time", reader)
    chunks = [a_chunk(number, "A full battery lasts 31 days.") for number in range(50)]
    judged = await ReadingReranker(reader).judge(COLLECTION, "How long?", chunks)
    read = min(50, batches * BATCH)
    assert np.flatnonzero(~np.isnan(judged.scores)).tolist() == list(range(read))
    assert judged.reason == f"{read} of 50 passages read together with the question"
