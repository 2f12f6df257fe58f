"""Natural language inference with a named model: does a premise entail a hypothesis, contradict
it, or say nothing of it. The order of the classes is that of the model's config.json."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ragstone.models.named.layout import ModelLayout
from ragstone.models.named.pair_model import PairModel
from ragstone.models.named.places import NamedModels
from ragstone.models.named.text_model import softmax

ENTAILS = ("entail",)
CONTRADICTS = ("contradict",)
NEITHER = ("neutral", "not_entail", "not entail", "non_entail", "no_entail")
"""How the names of the classes begin."""

SPECIAL = 4
"""Tokens that stand around and between two texts, at most."""


@dataclass(frozen=True, slots=True)
class Inference:
    """Probabilities of one pair, which sum to 1. `whole` is False where the hypothesis was too
    long for the model: then they are about its beginning, and must not count as support."""

    entailed: float
    contradicted: float
    neither: float
    whole: bool = True


@dataclass(frozen=True, slots=True)
class NliLabels:
    """The places of the classes; a model of two classes has no `contradicts`."""

    entails: int
    neither: int
    contradicts: int | None

    @classmethod
    def of(cls, layout: ModelLayout, outputs: int) -> "NliLabels":
        """Raises ConfigError where config.json does not name the classes."""
        labels = layout.labels
        entails = _only(labels, ENTAILS)
        neither, contradicts = _only(labels, NEITHER), _only(labels, CONTRADICTS)
        full = len(labels) == outputs == (2 if contradicts is None else 3)
        if entails is None or neither is None or not full:
            raise layout.wrong(
                f"gives {outputs} numbers a pair ({', '.join(labels) or 'without labels'}), and "
                "not entailment, neutral and contradiction. Name a model of natural language "
                "inference, or name its classes in id2label of its config.json."
            )
        return cls(entails, neither, contradicts)


class NliModel:
    """Opened and tried when it is made. Raises ConfigError, ModelUnavailable."""

    def __init__(self, setting: str, name: str, models: NamedModels, threads: int = 0) -> None:
        self._pairs = PairModel(setting, name, models, threads)
        self.name = self._pairs.name
        self.labels = NliLabels.of(self._pairs.layout, self._pairs.outputs)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="nli")

    @property
    def description(self) -> str:
        return self._pairs.description

    async def infer(self, pairs: Sequence[tuple[str, str]]) -> list[Inference]:
        """Of each (premise, hypothesis); a long premise is cut at the model's length. Raises
        ModelUnavailable."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._infer, pairs)

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _infer(self, pairs: Sequence[tuple[str, str]]) -> list[Inference]:
        if not pairs:
            return []
        shares = softmax(self._pairs.logits(pairs))
        whole = self._are_whole(pairs)
        labels = self.labels
        return [
            Inference(
                float(row[labels.entails]),
                0.0 if labels.contradicts is None else float(row[labels.contradicts]),
                float(row[labels.neither]),
                item,
            )
            for row, item in zip(shares, whole, strict=True)
        ]

    def _are_whole(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """Whether each hypothesis was read to its end: it fits half the room, or both texts do."""
        room = self._pairs.layout.max_tokens - SPECIAL
        premises, hypotheses = (
            self._pairs.model.count(texts) for texts in zip(*pairs, strict=True)
        )
        return [
            hypothesis <= max(room // 2, room - premise)
            for premise, hypothesis in zip(premises, hypotheses, strict=True)
        ]


def _only(labels: Sequence[str], beginnings: tuple[str, ...]) -> int | None:
    found = [i for i, label in enumerate(labels) if label.startswith(beginnings)]
    return found[0] if len(found) == 1 else None
