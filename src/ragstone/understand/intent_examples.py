"""Intents by examples: a linear classifier over the bundled English embedder's vectors.

Its weights are `data/intents.npz`, made by `python -m training.intent_weights`: one row for each
class, over the vector of a text and its `signs`. Two sets of classes: a question against the kinds
of small talk, and the kinds of questions.
"""

import re
from importlib.resources import files
from typing import cast

import numpy as np

from ragstone.core.intent import SMALL_TALK_KINDS, IntentName, SmallTalkKind
from ragstone.models.minilm import MiniLm
from ragstone.ports import Likeness, Vectors
from ragstone.understand.small_talk import ME, YOU

WEIGHTS = "intents.npz"

CLASSES = ("question", *SMALL_TALK_KINDS)
"""The rows of `small_talk` in the weights; those of `intents` are named in the file."""

LANGUAGES = ("en", "")

MAX_CHARS = 1000
"""The embedder reads about as much."""

_DIGIT = re.compile(r"\d")
_LONG, _SHORT = 20, 3
_BARE = 2
"""So few words that address nobody are a search, unless a rule knows them."""


class IntentClassifier:
    """`ports.IntentExamples` for English. Loads on first use."""

    def __init__(self, embedder: MiniLm) -> None:
        self._embedder = embedder
        self._small_talk: Vectors | None = None
        self._intents: Vectors | None = None
        self._names: tuple[IntentName, ...] = ()

    def knows(self, language: str) -> bool:
        return language in LANGUAGES

    async def likeness(self, text: str) -> Likeness:
        text = text[:MAX_CHARS]
        self._load()
        vector = (await self._embedder.embed_question(text)).vector
        marks = signs(text)
        given = np.concatenate([vector, marks, [1.0]]).astype(np.float32)
        talk = _softmax(cast(Vectors, self._small_talk) @ given)
        kinds = _softmax(cast(Vectors, self._intents) @ given)
        best = int(kinds.argmax())
        kind: SmallTalkKind = SMALL_TALK_KINDS[int(talk[1:].argmax())]
        bare = len(text.split()) <= _BARE and not marks[:2].any()
        return Likeness(
            0.0 if bare else 1 - float(talk[0]), kind, self._names[best], float(kinds[best])
        )

    def _load(self) -> None:
        if self._small_talk is not None:
            return
        with files("ragstone.understand").joinpath(f"data/{WEIGHTS}").open("rb") as file:
            data = np.load(file)
            self._names = tuple(data["names"].tolist())
            self._intents = data["intents"].astype(np.float32)
            self._small_talk = data["small_talk"].astype(np.float32)

    async def aclose(self) -> None:
        """Close nothing: the embedder is somebody else's."""


def signs(text: str) -> Vectors:
    """Return what tells small talk and a vector does not: whether it says you or I or a number, its
    length (a share of 20 words), whether it is very short."""
    words = len(text.split())
    return np.array(
        [
            bool(YOU.search(text)),
            bool(ME.search(text)),
            bool(_DIGIT.search(text)),
            min(words, _LONG) / _LONG,
            words <= _SHORT,
        ],
        np.float32,
    )


def _softmax(scores: Vectors) -> Vectors:
    powers = np.exp(scores - scores.max())
    shares: Vectors = powers / powers.sum()
    return shares
