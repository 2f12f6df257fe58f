"""How a model's token vectors become one vector, and what is written before a text: as the
model's own files say, or as the settings do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ragstone.plugins.named_models.layout import ModelLayout
from ragstone.plugins.named_models.text_model import Array, ModelRun, finite
from ragstone.settings import EmbeddingSettings

Pooling = Literal["mean", "cls", "last_token", "max"]

MODES: Mapping[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last_token",
    "pooling_mode_max_tokens": "max",
}
"""What 1_Pooling/config.json calls them; newer ones have `pooling_mode` with a name."""

NAMES: Mapping[str, Pooling] = {
    "cls": "cls",
    "mean": "mean",
    "lasttoken": "last_token",
    "max": "max",
}

SENTENCES = ("sentence_embedding", "sentence_embeddings", "text_embeds", "embeddings")
"""Outputs that are whole already: the exporter put the pooling into the graph."""

TOKEN_VECTORS = ("last_hidden_state", "token_embeddings")

PASSAGE_PROMPTS = ("document", "passage", "corpus")
"""What models call the prompt of a passage, as sentence-transformers looks for it."""


@dataclass(frozen=True, slots=True)
class Pooler:
    """How a text becomes a vector: the model's `output`, its `pooling` (empty if the output is
    whole), and the prompts, which count in a mean only if `prompt_counts`."""

    output: str
    pooling: Pooling | Literal[""]
    query: str
    passage: str
    prompt_counts: bool

    def vectors(self, layout: ModelLayout, batch: ModelRun, skip: int = 0) -> Array:
        """Return vectors of unit length (texts, dimensions); `skip` tokens at the beginning are the
        prompt. Raises ModelUnavailable."""
        states = batch.outputs[self.output]
        found = states if not self.pooling else self._pool(states, batch.mask, skip)
        found = finite(layout, found)
        unit: Array = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return unit

    def _pool(self, states: Array, mask: Array, skip: int) -> Array:
        if self.pooling == "cls":
            first: Array = states[:, 0]
            return first
        if self.pooling == "last_token":
            last: Array = states[np.arange(len(states)), mask.sum(axis=1) - 1]
            return last
        counted = mask.astype(bool)
        if not self.prompt_counts:
            # At least one token has to remain, or the mean of an empty text is not a number.
            counted[:, : min(skip, counted.shape[1] - 1)] = False
        if self.pooling == "max":
            highest: Array = np.where(counted[..., None], states, -np.inf).max(axis=1)
            return highest
        total = (states * counted[..., None]).sum(axis=1)
        mean: Array = total / np.maximum(counted.sum(axis=1, keepdims=True), 1)
        return mean


def pooler(layout: ModelLayout, settings: EmbeddingSettings, tried: ModelRun) -> Pooler:
    """Tell how this model makes vectors; raises ConfigError where nothing says."""
    _check_kind(layout, tried)
    _check_modules(layout)
    given = settings.options
    pooling: Any = given.pooling
    output = next((name for name in SENTENCES if _rank(tried, name) == 2), "")
    if pooling or not output:
        output = next((name for name in TOKEN_VECTORS if _rank(tried, name) == 3), "")
        output = output or next((name for name in tried.outputs if _rank(tried, name) == 3), "")
        if not output:
            names = ", ".join(tried.outputs)
            raise layout.wrong(
                f"has a model that gives no vectors ({names}). Name an embedding model."
            )
        if any(kind == "Dense" for kind, _ in layout.modules):
            raise layout.wrong(
                "has a Dense layer that its ONNX file leaves out. Export it whole with "
                "'optimum-cli export onnx --library sentence_transformers'."
            )
        pooling = pooling or _read_pooling(layout)
    prompts = _prompts(layout)
    query, passage = given.query_prompt, given.passage_prompt
    counts = _module(layout, "Pooling").get("include_prompt", True)
    return Pooler(
        output,
        pooling,
        _first(prompts, ("query",), layout) if query is None else query,
        _first(prompts, PASSAGE_PROMPTS, layout) if passage is None else passage,
        bool(counts),
    )


def _rank(tried: ModelRun, name: str) -> int:
    return tried.outputs[name].ndim if name in tried.outputs else 0


def _check_kind(layout: ModelLayout, tried: ModelRun) -> None:
    """Raise ConfigError for a model whose numbers are no vectors of texts."""
    if "logits" not in tried.outputs or any(name in tried.outputs for name in SENTENCES):
        return
    kind = f" ({layout.architecture})" if layout.architecture else ""
    if _rank(tried, "logits") == 2:
        raise layout.wrong(
            f"has a model that scores or classifies texts{kind}, and gives no vectors. If it is a "
            "cross-encoder, set RERANK__MODEL to it; here name an embedding model."
        )
    if not any(_rank(tried, name) == 3 for name in TOKEN_VECTORS):
        raise layout.wrong(
            f"has a model that predicts words{kind}, and gives no vectors. Name an embedding model."
        )


def _check_modules(layout: ModelLayout) -> None:
    """Raise ConfigError for what would make other vectors than the model's."""
    known = {"Transformer", "Pooling", "Normalize", "Dense"}
    unknown = [kind for kind, _ in layout.modules if kind not in known]
    if unknown:
        raise layout.wrong(f"has modules that are not known here ({', '.join(unknown)}).")
    normalized = any(kind == "Normalize" for kind, _ in layout.modules)
    if layout.sentences.get("similarity_fn_name") == "dot" and not normalized:
        raise layout.wrong(
            "has a model whose vectors' lengths count (similarity 'dot'); the index compares "
            "directions. Name its variant for cosines."
        )


def _module(layout: ModelLayout, kind: str) -> Mapping[str, Any]:
    return next((said for name, said in layout.modules if name == kind), {})


def _read_pooling(layout: ModelLayout) -> Pooling:
    """Return what the Pooling module says; raises ConfigError where there is none, or a mixture."""
    said = _module(layout, "Pooling")
    named = said.get("pooling_mode")
    chosen = [named] if isinstance(named, str) else list(named or ())
    chosen += [key for key in said if key.startswith("pooling_mode_") and said[key] is True]
    found = {MODES.get(item) or NAMES.get(item) for item in chosen}
    only = found.pop() if len(found) == 1 else None
    if only:
        return only
    if chosen:
        raise layout.wrong(f"pools in a way that is not known here ({', '.join(chosen)}).")
    raise layout.wrong(
        "does not say how its token vectors become one (it has no modules.json with a Pooling). "
        'Set EMBEDDING__OPTIONS={"pooling": ...} to mean, cls or last_token, as the model\'s page '
        "says."
    )


def _prompts(layout: ModelLayout) -> Mapping[str, str]:
    prompts = layout.sentences.get("prompts") or {}
    if not isinstance(prompts, Mapping):
        raise layout.wrong("has prompts in config_sentence_transformers.json that are no table.")
    return {str(name): str(text) for name, text in prompts.items()}


def _first(prompts: Mapping[str, str], names: tuple[str, ...], layout: ModelLayout) -> str:
    usual = str(layout.sentences.get("default_prompt_name"))
    return next((prompts[name] for name in (*names, usual) if name in prompts), "")
