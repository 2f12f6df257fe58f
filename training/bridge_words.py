"""Makes `models/data/bridge-words.npz`: `python -m training.bridge_words`.

The vectors that multilingual-e5-small gives to frequent English words, so that a word of another
language finds those that mean the same. The words are those of `language/data/
english_frequent.txt.gz`. What all words have in common is taken off, and the rest is kept on its
principal axes with 8 bits a number. Takes three minutes.
"""

import asyncio
import gzip
from importlib.resources import files
from pathlib import Path

import numpy as np

import ragstone.models
from ragstone.language.words import STOPWORDS
from ragstone.models.multilingual import MultilingualE5

WORDS = 16_000
SHORTEST = 3
DIMENSIONS = 128


def main() -> None:
    words = frequent()
    vectors = asyncio.run(MultilingualE5().embed_queries(words))
    mean = vectors.mean(axis=0)
    rows = vectors - mean
    _, axes = np.linalg.eigh(rows.T @ rows)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    rows = rows @ axes
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    scale = np.abs(rows).max(axis=0) / 127
    np.savez_compressed(
        Path(ragstone.models.__file__).parent / "data" / "bridge-words.npz",
        words=np.array("\n".join(words)),
        mean=mean,
        axes=axes.astype(np.float16),
        scale=scale.astype(np.float32),
        codes=np.rint(rows / scale).astype(np.int8),
    )


def frequent() -> list[str]:
    """Return the most frequent words but for those that carry no meaning."""
    file = files("ragstone.language").joinpath("data/english_frequent.txt.gz")
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    counted = sorted((line.split() for line in lines), key=lambda row: -int(row[1]))
    words = [word for word, _ in counted if word.isascii() and word.isalpha()]
    return [word for word in words if len(word) >= SHORTEST and word not in STOPWORDS][:WORDS]


if __name__ == "__main__":
    main()
