"""A million random cuts of marked answers: does a marker leak, is a character lost, how much waits?

`BENCH_CUTS=10000` makes fewer.
"""

import os
import random

from benchmarks.row import Row
from ragstone.answer.reply import InlineMarkers
from ragstone.answer.stream import AnswerStream
from ragstone.core.chunk import Chunk
from ragstone.core.turn import Hit, Passage

CUTS = int(os.environ.get("BENCH_CUTS", "1000000"))
STREAMS = 1_000
MAX_HELD = 30

PLAIN = (
    "The tower is old", " Der Turm ist 34 m hoch", "它建于一八七一年。", " A *bold* word",
    " x[i] = 3", " So it is", " SOURCES of light", " See S. 4", " h t w",
    " (1990)", " [draft]", " **", " 5 < 6",
)  # fmt: skip
TAKEN_OUT = (
    "SOURCES_USED: 1, 2\n", "\n**SOURCES_USED:** [1], [2]\n", " SUGGESTED_QUESTIONS: Who?|Why?\n",
    "SOURCES_USED: none\n", "\nSUGGESTED_QUESTIONS:\n- Who?\n- Why?\n\n", " [7]",
    "【8】", " [Source 9]",
)  # fmt: skip
CITED = (("[Source 1]", "[1]"), ("【2】", "[2]"), ("[来源1]", "[1]"), ("[1, 2]", "[1][2]"))


def run() -> list[Row]:
    chance = random.Random(0)
    wrong = lost = held = 0
    for _ in range(STREAMS):
        text, expected = a_stream(chance)
        whole = feed_client([text])[0]
        lost += bare(whole) != bare(expected)
        for _ in range(CUTS // STREAMS):
            seen, most = feed_client(cut(text, chance))
            wrong += seen != whole
            held = max(held, most)
    return [
        Row(f"{CUTS:,} random cuts of marked answers that show something else", wrong, most=0),
        Row("Marked answers that lose a character or show a marker", lost, most=0, detail=True),
        Row("Characters held back at most", held, most=MAX_HELD),
    ]


def a_stream(chance: random.Random) -> tuple[str, str]:
    """Return an answer as a model sends it, and what of it is for the client."""
    text = expected = "Well."
    for _ in range(chance.randint(2, 9)):
        kind = chance.choice("ppct")
        plain = chance.choice(PLAIN)
        said, seen = chance.choice(CITED) if kind == "c" else (chance.choice(TAKEN_OUT), "")
        text += plain + ("" if kind == "p" else f" {said}")
        expected += plain + seen
    return text, expected


def feed_client(pieces: list[str]) -> tuple[str, int]:
    """Return what the client sees, and how many characters were held back at most."""
    stream, markers = AnswerStream(PASSAGES), InlineMarkers(PASSAGES)
    seen, most = "", 0
    for piece in pieces:
        seen += markers.feed(stream.feed(piece))
        most = max(most, stream.buffer_length + markers.buffer_length)
    return seen + markers.feed(stream.end()) + markers.end(), most


def cut(text: str, chance: random.Random) -> list[str]:
    places = sorted(chance.sample(range(len(text)), chance.randint(0, min(40, len(text)))))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def bare(text: str) -> str:
    """Return the text without space, which goes with what is taken out."""
    return "".join(text.split())


def a_passage(number: int) -> Passage:
    chunk = Chunk(
        chunk_id=str(number),
        document_id="d",
        version=1,
        chunk_index=number,
        text="Nothing of this is said.",
        title="",
        path="/d",
        tenant="default",
        collection="default",
        start=0,
        end=24,
    )
    return Passage(number, chunk.text, Hit(chunk, 1.0))


PASSAGES = [a_passage(1), a_passage(2)]
