"""What the numbers of a cross-encoder mean, as its config.json says."""

import re
from dataclasses import dataclass

from ragstone.models.named.layout import ModelLayout
from ragstone.models.named.text_model import Array, sigmoid, softmax

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
    """How to read `outputs` numbers a pair; raises ConfigError where no label says which is
    relevance."""
    if outputs == 1:
        return Relevance(None, _activation(layout))
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
    """What is applied to the one number; raises ConfigError for what is not known here."""
    inner = layout.config.get("sentence_transformers") or {}
    said = inner.get("activation_fn") or layout.config.get("sbert_ce_default_activation_function")
    name = str(said or "").rpartition(".")[2]
    if name in (*LOGITS, "Tanh"):
        return name
    raise layout.wrong(
        f"applies {name} to its numbers, which is not known here. Name a reranker with Sigmoid, "
        "Tanh or Identity."
    )
