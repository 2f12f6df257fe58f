"""Makes `understand/data/intents.npz`: `python -m training.intent_weights`.

Trained on the train split of CLINC150 (Larson et al. 2019, CC BY 3.0), read from
RAGSTONE_EVAL_DATA, on the phrases of `understand/data/small_talk/en.json`, and on the questions
about documents in `intent_data/`: multinomial logistic regression, full batches, Adam. Small talk
weighs more than questions, so that `ADAPTIVE__INTENT_THRESHOLD` at its default catches 96% of it;
own questions that are near it ("Who is your landlord?") weigh more than others.
"""

import gzip
import json
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import eval_data
from ragstone.core.intent import SMALL_TALK_KINDS
from ragstone.models.minilm import MiniLmModel
from ragstone.understand.intent_examples import CLASSES, WEIGHTS, signs

Floats = NDArray[np.float32]

KIND = {
    "greeting": "greeting",
    "goodbye": "goodbye",
    "thank_you": "thanks",
    "what_can_i_ask_you": "help",
    "who_made_you": "about",
    "are_you_a_bot": "about",
    "what_is_your_name": "about",
    "how_old_are_you": "about",
    "where_are_you_from": "about",
    "who_do_you_work_for": "about",
    "what_are_your_hobbies": "chat",
    "do_you_have_pets": "chat",
    "tell_joke": "chat",
}
"""The labels of CLINC150 that are small talk; all others are questions."""

SMALL_TALK_WEIGHT, NEAR_WEIGHT, OWN_WEIGHT = 70.0, 20.0, 3.0
DECAY, KINDS_DECAY = 5e-6, 3e-4
STEPS = 400
RATE = 0.3

HERE = Path(__file__).parent / "intent_data"


def main() -> None:
    embedder = MiniLmModel()
    small_talk = train_weights(embedder, *small_talk_examples(), len(CLASSES), DECAY)
    texts, labels = kind_examples()
    names = sorted(set(labels))
    numbers = [names.index(label) for label in labels]
    kinds = train_weights(embedder, texts, numbers, [1.0] * len(texts), len(names), KINDS_DECAY)
    target = files("ragstone.understand").joinpath(f"data/{WEIGHTS}")
    np.savez_compressed(
        str(target),
        small_talk=small_talk.astype(np.float16),
        intents=kinds.astype(np.float16),
        names=np.array(names),
    )


def small_talk_examples() -> tuple[list[str], list[int], list[float]]:
    """Return texts, their classes and their weights."""
    rows: list[tuple[str, str, float]] = []
    with gzip.open(eval_data() / "clinc150" / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            kind = KIND.get(row["intent"], CLASSES[0])
            weight = 1.0 if kind == CLASSES[0] else SMALL_TALK_WEIGHT
            rows.append((row["text"], kind, weight))
    rows += [(text, CLASSES[0], OWN_WEIGHT) for text in keywords()]
    for text in own_questions():
        near = bool(signs(text)[:2].any())
        weight = NEAR_WEIGHT if near else OWN_WEIGHT
        rows += [(t, CLASSES[0], weight) for t in (text, write_carefully(text))]
    for kind in SMALL_TALK_KINDS:
        for text in (phrase.rstrip("…") for phrase in phrases()[kind]):
            rows += [(t, kind, SMALL_TALK_WEIGHT) for t in (text, write_carefully(text))]
    texts, kinds, weights = zip(*rows, strict=True)
    return list(texts), [CLASSES.index(kind) for kind in kinds], list(weights)


def own_questions() -> list[str]:
    """Return questions about documents, many of them near small talk."""
    lines = (HERE / "questions.txt").read_text(encoding="utf-8").splitlines()
    return [*lines, *kind_examples()[0]]


def keywords() -> list[str]:
    """Return words and pairs of words as they are typed into a search box."""
    said = json.dumps(phrases()["greeting"] + phrases()["thanks"] + phrases()["goodbye"])
    small = set(words(said))
    kept = [[word for word in words(text) if word not in small] for text in own_questions()]
    single = {word for text in kept for word in text if len(word) > 3}
    pairs = {f"{a} {b}" for text in kept for a, b in pairwise(text)}
    return sorted(single | pairs)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.casefold())


def phrases() -> dict[str, list[str]]:
    """Return the English phrases that are small talk by rule."""
    file = files("ragstone.understand").joinpath("data/small_talk/en.json")
    found: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def kind_examples() -> tuple[list[str], list[str]]:
    """Return questions and the intents that they have."""
    lines = (HERE / "kinds.tsv").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t") for line in lines), strict=True)
    return list(texts), list(labels)


def write_carefully(text: str) -> str:
    """Return the text as a careful writer has it."""
    return f"{text[0].upper()}{text[1:]}?"


def train_weights(
    embedder: MiniLmModel,
    texts: list[str],
    classes: list[int],
    weights: list[float],
    count: int,
    decay: float,
) -> Floats:
    """Return a row of weights for each class, the last column its constant."""
    constant = np.ones((len(texts), 1), np.float32)
    marks = np.stack([signs(text) for text in texts])
    given = np.hstack([np.stack([embedder.vector(text) for text in texts]), marks, constant])
    wanted = np.eye(count, dtype=np.float32)[classes]
    share = (np.array(weights) / np.sum(weights)).astype(np.float32)[:, None]
    decays = np.full((given.shape[1], 1), decay, np.float32)
    decays[-1] = 0
    found = np.zeros((given.shape[1], count), np.float32)
    mean, square = np.zeros_like(found), np.zeros_like(found)
    for step in range(1, STEPS + 1):
        slope = given.T @ ((softmax(given @ found) - wanted) * share) + decays * found
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope * slope
        moved = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        found -= RATE * min(1.0, 2 * (1 - step / STEPS) + 0.02) * moved
    return found.T


def softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


if __name__ == "__main__":
    main()
