"""An embedder that EMBEDDING__MODEL names: any encoder of ONNX with what its folder says."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import numpy as np

from ragstone.plugins.named_models.layout import ModelLayout, read_layout
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.plugins.named_models.pooling import Pooler, pooler
from ragstone.plugins.named_models.text_model import TextModel, megabytes
from ragstone.ports import IN_BULK, Vectors
from ragstone.settings import EmbeddingSettings

log = logging.getLogger(__name__)

MIN_DISTANCE = 0.05
"""The least distance between the two cosines, so that a likeness can be measured between them."""

MULTILINGUAL_SHARE = 0.8
"""The share of translations whose nearest fact is their own, from which a model is multilingual."""


@dataclass(frozen=True, slots=True)
class LikenessScale:
    """The cosines of `unrelated` texts and of those that say the `same`; whether translations are
    near each other."""

    unrelated: float
    same: float
    multilingual: bool


def measure_scale(
    name: str, fingerprint: str, embed: Callable[[Sequence[str]], Vectors], folder: Path
) -> LikenessScale:
    """Return the scale of a model, from `folder` if it was measured before."""
    kept = folder / "measured" / f"{hashlib.sha256(fingerprint.encode()).hexdigest()[:32]}.json"
    try:
        return LikenessScale(**json.loads(kept.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        scale = _measure(name, embed)
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = kept.with_suffix(".new")
    new.write_text(json.dumps(asdict(scale)), encoding="utf-8")
    new.replace(kept)
    return scale


def facts() -> dict[str, list[str]]:
    """Return the facts, in one order: `en` and, in other words, `same`, and by languages."""
    data = files(__package__).joinpath("data/facts.json").read_text(encoding="utf-8")
    found: dict[str, list[str]] = json.loads(data)
    return found


def _measure(name: str, embed: Callable[[Sequence[str]], Vectors]) -> LikenessScale:
    texts = facts()
    vectors = {language: embed(said) for language, said in texts.items()}
    english, again = vectors.pop("en"), vectors.pop("same")
    cosines = english @ again.T
    own = np.eye(len(english), dtype=bool)
    unrelated, same = float(np.median(cosines[~own])), float(np.median(cosines[own]))
    if same - unrelated < MIN_DISTANCE:
        log.warning(
            "%s puts sentences that say the same no nearer (%.2f) than unrelated ones (%.2f). "
            "Check the pooling (EMBEDDING__OPTIONS), and whether it is an embedding model.",
            name,
            same,
            unrelated,
        )
    right = [
        (vector @ english.T).argmax(axis=1) == np.arange(len(english))
        for vector in vectors.values()
    ]
    return LikenessScale(
        round(unrelated, 4),
        round(max(same, unrelated + MIN_DISTANCE), 4),
        float(np.mean(right)) >= MULTILINGUAL_SHARE,
    )


T = TypeVar("T")

SETTING = "EMBEDDING__MODEL"


class NamedEmbedder:
    """`ports.Embedder`. `connect` finds the model, opens it and tries it."""

    def __init__(self, settings: EmbeddingSettings, models: ModelPlaces) -> None:
        self.name = settings.model
        self.fingerprint = ""
        self.dimensions = 0
        self.cosines = (0.0, 1.0)
        self.multilingual = False
        self.description = ""
        self._settings = settings
        self._models = models
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="embedder-passages")
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="embedder-queries")
        self._model: TextModel | None = None

    async def connect(self) -> None:
        """Raises ConfigError for what is not an embedding model, ModelUnavailable for a hub that
        cannot be reached."""
        await asyncio.get_running_loop().run_in_executor(self._quick, self._open)

    async def aclose(self) -> None:
        for threads in (self._bulk, self._quick):
            threads.shutdown(wait=False, cancel_futures=True)
        self._model = None

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # A question must not wait behind the batches of an ingest.
        lane = self._bulk if IN_BULK.get() else self._quick
        return await self._call(lane, self._passages, texts)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return await self._call(self._quick, self._queries, texts)

    def _passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._pooler.passage)

    def _queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._pooler.query)

    async def _call(
        self, threads: ThreadPoolExecutor, work: Callable[[Sequence[str]], T], texts: Sequence[str]
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, work, texts)

    def _open(self) -> None:
        place = self._models.find(SETTING, self._settings.model)
        layout = read_layout(SETTING, place)
        model = TextModel(layout)
        self._pooler = pooler(layout, self._settings, model.tried)
        self._model = model
        # The ONNX file need not say how long its vectors are.
        made = self._whole(model, [""], "").shape[1]
        self.dimensions = self._settings.dimensions or made
        if self.dimensions > made:
            raise layout.wrong(
                f"makes vectors of {made}, fewer than EMBEDDING__DIMENSIONS says. Set that to 0."
            )
        self.name = place.name
        self.fingerprint = _fingerprint(layout, self._pooler, self.dimensions)
        scale = measure_scale(self.name, self.fingerprint, self._passages, self._models.kept)
        self.cosines, self.multilingual = (scale.unrelated, scale.same), scale.multilingual
        self.description = self._describe(layout, self._pooler)

    def _embed(self, texts: Sequence[str], prompt: str) -> Vectors:
        if self._model is None:
            raise RuntimeError("connect was not called")
        vectors = self._whole(self._model, texts, prompt)[:, : self.dimensions]
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.maximum(norms, 1e-12)
        return unit

    def _whole(self, model: TextModel, texts: Sequence[str], prompt: str) -> Vectors:
        """Return the model's vectors, of all its dimensions."""
        # With the special token at the beginning.
        skip = model.count([prompt])[0] + 1 if prompt else 0
        vectors: Vectors = np.zeros((0, self.dimensions), np.float32)
        for batch in model.read([prompt + text for text in texts]):
            found = self._pooler.vectors(model.layout, batch, skip)
            if len(vectors) < len(texts):
                vectors = np.zeros((len(texts), found.shape[1]), np.float32)
            vectors[batch.rows] = found
        return vectors

    def _describe(self, layout: ModelLayout, how: Pooler) -> str:
        prompts = " and ".join(repr(item) if item else "none" for item in (how.query, how.passage))
        return (
            f"{self.name} ({layout.place.origin}: {layout.place.file}, {megabytes(layout.size)}, "
            f"SHA-256 {layout.digest[:12]}): {self.dimensions} dimensions, "
            f"pooling {how.pooling or 'in the graph'}, {layout.max_tokens} tokens, "
            f"prompts {prompts}"
        )


def _fingerprint(layout: ModelLayout, how: Pooler, dimensions: int) -> str:
    """Not of the folder's name: the same model elsewhere makes the same vectors."""
    texts = repr((how.output, how.query, how.passage, how.prompt_counts)).encode()
    prompts = hashlib.sha256(texts).hexdigest()[:8]
    parts = (layout.digest[:16], how.pooling or "graph", layout.max_tokens, dimensions, prompts)
    return "onnx/" + "/".join(map(str, parts))
