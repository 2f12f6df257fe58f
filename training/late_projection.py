"""Makes `models/data/minilm-late.npz`: `python -m training.late_projection`.

The token vectors of MiniLM fill a much smaller space than their 384 dimensions. The principal
axes are taken over the model's own vocabulary (whole words in random order, 24 to a text), so no
corpus is involved. Measured against the full vectors: `benchmarks/results/notes.md`.
"""

from pathlib import Path

import numpy as np

import ragstone.models
from ragstone.models.minilm import MiniLmModel

WORDS = 12_000
WORDS_PER_TEXT = 24
DIMENSIONS = 128


def main() -> None:
    model = MiniLmModel()
    rng = np.random.default_rng(0)
    words = sorted(
        word for word in model.tokenizer.get_vocab() if word.isascii() and word.isalpha()
    )
    words = [word for word in words if len(word) > 2]
    rng.shuffle(words)
    texts = [
        " ".join(words[start : start + WORDS_PER_TEXT]) for start in range(0, WORDS, WORDS_PER_TEXT)
    ]
    rows = np.concatenate([model.states(text)[1][1:-1] for text in texts])
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    projection = axes[:, ::-1][:, :DIMENSIONS]
    projected = rows @ projection
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    np.savez_compressed(
        Path(ragstone.models.__file__).parent / "data" / "minilm-late.npz",
        projection=projection.astype(np.float16),
        scale=projected.std(axis=0).astype(np.float32),
    )


if __name__ == "__main__":
    main()
