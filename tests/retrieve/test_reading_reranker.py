"""The bundled reader as a reranker."""

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.records import Collection
from ragstone.reader.local import LocalReader
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
    judged = await ReadingReranker(reader, 0.7).judge(
        COLLECTION,
        "How many days does a full battery last?",
        [a_chunk(number, text) for number, text in enumerate(texts)],
    )
    assert judged.weight == 0.7
    assert judged.scores[1] > 0.5 > judged.scores[0]
    assert np.isnan(judged.scores[2]) or judged.scores[2] < 0.5
    await reader.aclose()
