"""Makes `plugins/comments/data/tone.json`: `python -m training.tone_weights FOLDER`.

How negative or positive a comment is: a ridge regression from its vector to the mean rating of
about ten people (-4 to 4), for each bundled embedder. FOLDER holds the files `..._GroundTruth.txt`
of the data that Hutto and Gilbert (2014) rated for VADER, which stand in
`additional_resources/hutto_ICWSM_2014.tar.gz` of its repository (MIT License). A fifth of each is
held out by review, the two bounds of neutral are chosen on the rest, and how well the fifth is told
is printed. The thresholds of topics are written as they are here; they were chosen on clinc150,
where an intent's name is the topic.
"""

import asyncio
import html
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.models.minilm import MiniLm
from ragstone.models.multilingual import MultilingualE5
from ragstone.ports import Embedder

SETS = {"amazonReviewSnippets": 4_200, "tweets": 4_200, "movieReviewSnippets": 4_000}
"""The sets, and how many texts of each are read at most, from its beginning."""

HELD_OUT = 5
"""One review of so many is not learned from."""

DECAY = 3.0
CLEAR = 0.5
"""The mean rating from which a text is positive or negative."""

TOPICS = {"all-MiniLM-L6-v2": (0.35, 0.1), "multilingual-e5-small": (0.84, 0.04)}
"""The score from which a comment speaks of a topic, and what the topic's words add to a cosine."""

Floats = NDArray[np.float64]
TARGET = Path("src/ragstone/plugins/comments/data/tone.json")


@dataclass(frozen=True)
class Rated:
    """The texts of one set, their mean ratings (n,), and which are held out (n,)."""

    texts: list[str]
    ratings: Floats
    held: NDArray[np.bool_]


def read(file: Path, most: int) -> Rated:
    """Return one set: lines of id, mean rating and text."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [row for row in (line.split("\t") for line in lines) if len(row) == 3][:most]
    # Sentences of one review stand beside each other, with its number before an underscore.
    reviews = [item[0].split("_")[0] for item in rows]
    places = {name: at for at, name in enumerate(dict.fromkeys(reviews))}
    held = np.array([places[name] % HELD_OUT == 0 for name in reviews])
    texts = [html.unescape(item[2]) for item in rows]
    return Rated(texts, np.array([float(item[1]) for item in rows]), held)


async def main(folder: Path) -> None:
    sets = {name: read(folder / f"{name}_GroundTruth.txt", most) for name, most in SETS.items()}
    written = {}
    for embedder in (MiniLm(), MultilingualE5()):
        vectors = {name: await embedded(embedder, group.texts) for name, group in sets.items()}
        known = np.concatenate([vectors[name][~group.held] for name, group in sets.items()])
        wanted = np.concatenate([group.ratings[~group.held] for group in sets.values()])
        weights, bias = fit_weights(known, wanted)
        low, high = bounds(known @ weights + bias, wanted)
        for name, group in sets.items():
            scores = vectors[name][group.held] @ weights + bias
            print(embedder.name, name, tell_classes(scores, group.ratings[group.held], low, high))
        topic, shared = TOPICS[embedder.name]
        written[embedder.name] = {
            "weights": [round(float(weight), 4) for weight in weights],
            "bias": round(bias, 4),
            "low": low,
            "high": high,
            "topic": topic,
            "shared": shared,
        }
    await asyncio.to_thread(TARGET.write_text, json.dumps(written) + "\n", "utf-8")


async def embedded(embedder: Embedder, texts: list[str]) -> Floats:
    parts = [await embedder.embed_passages(texts[at : at + 64]) for at in range(0, len(texts), 64)]
    return np.concatenate(parts).astype(np.float64)


def fit_weights(rows: Floats, wanted: Floats) -> tuple[Floats, float]:
    """Return the weights of the columns (dimensions,) and the constant."""
    centre, middle = rows.mean(axis=0), wanted.mean()
    spread = rows - centre
    bend = spread.T @ spread + DECAY * np.eye(rows.shape[1])
    weights = np.linalg.solve(bend, spread.T @ (wanted - middle))
    return weights, float(middle - centre @ weights)


def classes(scores: Floats, low: float, high: float) -> NDArray[np.int64]:
    """Return -1, 0 or 1 for each score (n,)."""
    found: NDArray[np.int64] = (scores >= high).astype(np.int64) - (scores <= low).astype(np.int64)
    return found


def bounds(scores: Floats, ratings: Floats) -> tuple[float, float]:
    """Return the bounds of neutral that tell most of each class right."""
    truth = classes(ratings, -CLEAR, CLEAR)
    tried = [
        (balance_accuracy(classes(scores, low, high), truth), low, high)
        for low in np.arange(-0.8, 0.3, 0.05)
        for high in np.arange(0.0, 1.2, 0.05)
        if low < high
    ]
    _, low, high = max(tried)
    return round(float(low), 2), round(float(high), 2)


def balance_accuracy(found: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Return the mean share of each class that was told right."""
    return float(np.mean([np.mean(found[truth == item] == item) for item in (-1, 0, 1)]))


def tell_classes(scores: Floats, ratings: Floats, low: float, high: float) -> str:
    truth, found = classes(ratings, -CLEAR, CLEAR), classes(scores, low, high)
    sure = (truth != 0) & (found != 0)
    right = balance_accuracy(found, truth)
    return (
        f"{len(truth)} texts: of negative, neutral and positive {right:.3f} right "
        f"(mean), reversed {np.mean(found[sure] != truth[sure]):.3f} of {sure.sum()}"
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
