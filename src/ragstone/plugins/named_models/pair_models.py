"""A model that reads two texts together and scores or classifies the pair: the loader that
rerankers (`relevance`) and natural language inference (`nli`) have in common.

A model of natural language inference that reads claims instead of the bundled reader.

A cross-encoder that RERANK__MODEL names: it reads question and passage together.
"""

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ragstone.core.chunk import Chunk
from ragstone.core.errors import ModelUnavailable
from ragstone.core.records import Collection
from ragstone.language.late_interaction import EncodedQuestion
from ragstone.plugins.named_models.layout import ModelLayout, read_layout
from ragstone.plugins.named_models.places import ModelPlaces
from ragstone.plugins.named_models.pooling import SENTENCES, TOKEN_VECTORS
from ragstone.plugins.named_models.text_model import (
    Array,
    TextModel,
    finite,
    megabytes,
    sigmoid,
    softmax,
)
from ragstone.ports import Judgement, Pair, PairReader, PairReading, Vectors
from ragstone.retrieve.rerank import RERANKER_WEIGHT
from ragstone.retrieve.rerankers.in_time import score_in_time
from ragstone.settings import RerankSettings


class PairModel:
    """Opened and tried when it is made. Raises ConfigError, ModelUnavailable.

    `outputs` is how many numbers a pair gets.
    """

    def __init__(self, setting: str, name: str, models: ModelPlaces) -> None:
        place = models.find(setting, name)
        self.layout = read_layout(setting, place)
        self.name = place.name
        self.model = TextModel(self.layout, pairs=True)
        self._output = _output(self.layout, self.model)
        self.outputs = self.logits([("museum", "The museum opens at nine.")]).shape[1]

    @property
    def description(self) -> str:
        layout = self.layout
        return (
            f"{self.name} ({layout.place.origin}: {layout.place.file}, {megabytes(layout.size)}, "
            f"SHA-256 {layout.digest[:12]}): {layout.max_tokens} tokens"
        )

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Array:
        """Return the model's numbers of each pair (pairs, outputs), computed in this thread; raises
        ModelUnavailable."""
        rows: list[Array] = [np.zeros(0, np.float32)] * len(pairs)
        for batch in self.model.read(pairs):
            found = batch.outputs[self._output].reshape(len(batch.rows), -1)
            for row, values in zip(batch.rows, finite(self.layout, found), strict=True):
                rows[row] = values
        return np.array(rows, np.float32).reshape(len(pairs), -1)


def _output(layout: ModelLayout, model: TextModel) -> str:
    """Return the output with a few numbers a pair; raises ConfigError."""
    tried = model.tried.outputs
    vectors = {*SENTENCES, *TOKEN_VECTORS} & tried.keys()
    name = "logits" if "logits" in tried or vectors else next(iter(tried))
    if name in tried and tried[name].ndim <= 2:
        return name
    kind = f" ({layout.architecture})" if layout.architecture else ""
    if name in tried:
        raise layout.wrong(
            f"has a model that predicts words{kind}, and scores no pairs. Name a cross-encoder."
        )
    raise layout.wrong(
        f"has an embedding model{kind}, which scores no pairs. Set EMBEDDING__MODEL to it, and "
        f"{layout.setting} to a cross-encoder."
    )


RELEVANT = re.compile(r"label_1|1|relevant|yes|true|positive|duplicate|answer|paraphrase")

LOGITS = ("", "Identity", "Sigmoid")
"""Activations under which a model's one number is a logit: sentence-transformers' own default, and
none, which its rerankers have."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """How relevant (0..1) a passage is: the share of the class `relevant`, or, of one number, its
    `activation`."""

    relevant: int | None
    activation: str

    def scores(self, logits: Array) -> Array:
        """Of (pairs, outputs), one each."""
        if self.relevant is not None:
            shares: Array = softmax(logits)[:, self.relevant]
            return shares
        one: Array = logits[:, 0]
        if self.activation == "Tanh":
            return sigmoid(2 * one)
        return sigmoid(one)


def relevance(layout: ModelLayout, outputs: int) -> Relevance:
    """Tell how to read `outputs` numbers a pair; raises ConfigError where no label says which is
    relevance."""
    if outputs == 1:
        return Relevance(None, _activation(layout))
    # Their order differs from model to model, so that only names can say which is which.
    labels = layout.labels
    if any(label.startswith(("entail", "contradict")) for label in labels):
        raise layout.wrong(
            f"has a model of natural language inference ({', '.join(labels)}), which ranks "
            "nothing. Name a reranker."
        )
    relevant = [i for i, label in enumerate(labels) if RELEVANT.fullmatch(label)]
    if outputs == 2 and len(labels) == 2 and len(relevant) == 1:
        return Relevance(relevant[0], "Softmax")
    raise layout.wrong(
        f"gives {outputs} numbers a pair ({', '.join(labels) or 'without labels'}), and none is "
        "known as relevance. Name a reranker, or call its class 'relevant' in id2label of its "
        "config.json."
    )


def _activation(layout: ModelLayout) -> str:
    """Return what is applied to the one number; raises ConfigError for what is not known here."""
    inner = layout.config.get("sentence_transformers") or {}
    said = inner.get("activation_fn") or layout.config.get("sbert_ce_default_activation_function")
    name = str(said or "").rpartition(".")[2]
    if name in (*LOGITS, "Tanh"):
        return name
    raise layout.wrong(
        f"applies {name} to its numbers, which is not known here. Name a reranker with Sigmoid, "
        "Tanh or Identity."
    )


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
    def read(cls, layout: ModelLayout, outputs: int) -> "NliLabels":
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

    def __init__(self, setting: str, name: str, models: ModelPlaces) -> None:
        self._pairs = PairModel(setting, name, models)
        self.name = self._pairs.name
        self.labels = NliLabels.read(self._pairs.layout, self._pairs.outputs)
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
        # A cut hypothesis is only partly entailed, which must not count as support.
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


class InferenceReader:
    """`ports.PairReader` that gives claims to `model` and questions to `questions`.

    A model of natural language inference knows statements only.
    """

    def __init__(self, model: NliModel, questions: PairReader) -> None:
        self._model = model
        self._questions = questions

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        claims = [pair for pair in pairs if not pair.question]
        premises = (f"{c.title}\n{c.passage}" if c.title else c.passage for c in claims)
        stated = [(premise, claim.text) for premise, claim in zip(premises, claims, strict=True)]
        inferred = iter(await self._model.infer(stated))
        asked = iter(await self._questions.read([pair for pair in pairs if pair.question]))
        return [next(asked) if pair.question else _build_reading(next(inferred)) for pair in pairs]

    async def aclose(self) -> None:
        await self._model.aclose()
        await self._questions.aclose()


def _build_reading(found: Inference) -> PairReading:
    """Return a claim that was not read to its end is not said."""
    if not found.whole:
        return PairReading(not_said=1.0, readable=False)
    return PairReading(
        supported=found.entailed, contradicted=found.contradicted, not_said=found.neither
    )


SETTING = "RERANK__MODEL"


class CrossEncoder:
    """`ports.Reranker`. `connect` finds the model, opens it and tries it."""

    def __init__(self, settings: RerankSettings, models: ModelPlaces) -> None:
        self.name = settings.model
        self.description = ""
        self._settings = settings
        self._models = models
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cross-encoder")
        self._model: PairModel | None = None

    async def connect(self) -> None:
        """Raises ConfigError for what is not a reranker, ModelUnavailable for a hub that cannot be
        reached."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._open)

    async def judge(
        self,
        collection: Collection,
        question: str,
        chunks: Sequence[Chunk],
        encoded: EncodedQuestion | None = None,
    ) -> Judgement:
        pairs = [(question, chunk.searchable) for chunk in chunks]
        loop = asyncio.get_running_loop()

        async def score(batch: slice) -> Vectors:
            return await loop.run_in_executor(self._thread, self._scores, pairs[batch])

        scores, done = await score_in_time(len(pairs), score)
        reason = f"{done} of {len(pairs)} passages read together with the question"
        return Judgement(scores, RERANKER_WEIGHT, reason)

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._model = None

    def _open(self) -> None:
        model = PairModel(SETTING, self._settings.model, self._models)
        self._relevance = relevance(model.layout, model.outputs)
        self._model, self.name, self.description = model, model.name, model.description

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        if self._model is None:
            raise ModelUnavailable(f"The reranker {self.name} is closed.")
        scores: Vectors = self._relevance.scores(self._model.logits(pairs))
        return scores
