"""Chunks of about 80 words whose frequencies follow Zipf's law, and random unit vectors.

The most frequent words are English stop words, which some sides leave out. Questions are ten
words that stand side by side in some chunk. Token vectors, for Ragstone's reranking only, are
those of a few hundred chunks, shared by all.
"""

from pathlib import Path

import numpy as np

from benchmarks.peers import embedded
from benchmarks.peers.export import payload
from benchmarks.peers.exported import Exported
from ragstone.core.chunk import Chunk
from ragstone.models.minilm import MiniLm

QUESTIONS = 30
WORDS = 80
VOCABULARY = 50_000
TOKENS = 300

FREQUENT = (
    "the of and to in a is that for it was on are as with his they at be this from have or by "
    "one had not but what all were when we there can an your which their if do will each about "
    "how up out them then she many some so these would other into has more her two like him"
)
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


async def export(directory: Path, size: int) -> Path:
    """Write a corpus of `size` chunks into `directory`; its file."""
    random = np.random.default_rng(0)
    frequent = FREQUENT.split()
    vocabulary = np.array([*frequent, *(word(n) for n in range(VOCABULARY - len(frequent)))])
    share = 1 / np.arange(1, VOCABULARY + 1)
    counts = random.integers(WORDS // 2, WORDS + WORDS // 2, size)
    ranks = random.choice(VOCABULARY, int(counts.sum()), p=share / share.sum())
    texts = [" ".join(vocabulary[item]) for item in np.split(ranks, np.cumsum(counts)[:-1])]
    questions = [
        " ".join(texts[integer].split()[5:15]) for integer in random.integers(0, size, QUESTIONS)
    ]
    embedder = MiniLm()
    _, packed = await embedder.embed_with_tokens(texts[:TOKENS])
    shared = [packed[integer] for integer in random.integers(0, TOKENS, size)]
    asked = dict(np.load(await embedded.questions(embedder, questions)))
    asked["vectors"] = units(random, QUESTIONS, embedder.dimensions)
    rows = units(random, size, embedder.dimensions)
    passages = embedded.write(directory / "p.npz", vectors=rows, **embedded.join_vectors(shared))
    file = directory / "exported.json"
    Exported(
        language="en",
        chunks=[payload(a_chunk(number, text)) for number, text in enumerate(texts)],
        questions=questions,
        passages=str(passages),
        asked=str(embedded.write(directory / "q.npz", **asked)),
        usual=True,
    ).write(file)
    return file


def word(number: int) -> str:
    """Return an invented word, another for each number."""
    made, rest = "", number
    while rest or len(made) < 4:
        rest, syllable = divmod(rest, len(SYLLABLES))
        made += SYLLABLES[syllable]
    return made


def units(random: np.random.Generator, count: int, dimensions: int) -> np.ndarray:
    """Random rows (count, dimensions) of unit length."""
    rows = random.normal(size=(count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def a_chunk(number: int, text: str) -> Chunk:
    return Chunk(
        chunk_id=f"00000000-0000-4000-8000-{number:012d}",
        document_id=f"d{number}",
        version=1,
        chunk_index=0,
        text=text,
        title="",
        path=f"/d{number}.txt",
        tenant="default",
        collection="evaluation",
        start=0,
        end=len(text),
    )
