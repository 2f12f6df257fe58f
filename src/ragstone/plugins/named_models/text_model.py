"""A model of ONNX Runtime that reads texts or pairs of texts, with its tokenizer."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import ConfigError, ModelUnavailable
from ragstone.models.onnx import open_session
from ragstone.plugins.named_models.layout import ModelLayout

Text = str | tuple[str, str]

Array = NDArray[Any]

ROWS, TOKENS = 8, 4096
"""Texts and tokens that are read together at most: longer batches take more memory, not less time
a text."""

TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

KNOWN = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

GENERATES = ("past_key_values", "decoder_", "encoder_hidden_states", "cache_")

_PLACE = re.compile(r"^/\S+ .*?\) (?=[A-Z])")
"""A source file of ONNX Runtime, with its line and function."""

PROBE = "The museum opens at nine."


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text as a model reads it. Of each token: its id, its kind, 1 where others attend to it, the
    character it begins at (-1 for none), and 1 where it is not of the text."""

    ids: Sequence[int]
    type_ids: Sequence[int]
    attention_mask: Sequence[int]
    starts: Sequence[int] = ()
    added: Sequence[int] = ()


class ModelRun:
    """Texts that were read together: `rows` are their numbers, `outputs` the model's arrays by
    name, `ids` and `mask` (texts, tokens) what it read."""

    def __init__(
        self, rows: Sequence[int], outputs: Mapping[str, Array], ids: Array, mask: Array
    ) -> None:
        self.rows = rows
        self.outputs = outputs
        self.ids = ids
        self.mask = mask


class TextModel:
    """Opens the model and tries it with one text; then it may be used by several threads.

    Raises ConfigError for what is no such model.
    """

    def __init__(self, layout: ModelLayout, pairs: bool = False) -> None:
        self.layout = layout
        self._tokenizer = _tokenizer(layout)
        self._session = _session(layout)
        self._inputs = {entry.name: TYPES.get(entry.type) for entry in self._session.get_inputs()}
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._check_inputs()
        self.tried = self._try(pairs)

    def read(self, texts: Sequence[Text]) -> Iterator[ModelRun]:
        """Read texts, the shortest first; each is cut at the model's length, a pair's longer text
        first. Raises ModelUnavailable."""
        yield from self.read_rows(self._encode(texts))

    def read_rows(self, encoded: Sequence[Any]) -> Iterator[ModelRun]:
        """Read texts that are tokens already, the shortest first. Raises ModelUnavailable."""
        # Texts of like length waste no padding on each other.
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
        for rows in _batches(order, [len(item.ids) for item in encoded]):
            yield self._forward(rows, [encoded[i] for i in rows])

    def rows(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return each text's tokens with the special ones, cut at the model's length. Raises
        ModelUnavailable."""
        return [
            EncodedText(
                item.ids,
                item.type_ids,
                item.attention_mask,
                [start for start, _ in item.offsets],
                item.special_tokens_mask,
            )
            for item in self._encode(texts)
        ]

    def leave_room(self, tokens: int) -> None:
        """Cut texts earlier, for so many tokens that are put into them afterwards."""
        self._tokenizer.enable_truncation(self.layout.max_tokens - tokens)

    def token_id(self, token: str) -> int | None:
        """Return the id of a token, None if the model has no such one."""
        found: int | None = self._tokenizer.token_to_id(token)
        return found

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tell how many tokens each text has, cut at the model's length, without special ones."""
        found = self._tokenizer.encode_batch(
            [self._plain(text) for text in texts], add_special_tokens=False
        )
        return [len(item.ids) for item in found]

    def _encode(self, texts: Sequence[Text]) -> Any:
        try:
            return self._tokenizer.encode_batch([self._plain(text) for text in texts])
        except Exception as error:
            raise ModelUnavailable(
                f"The tokenizer of {self.layout.place.name} failed: {_format_error(error)}."
            ) from error

    def _plain(self, text: Any) -> Any:
        """Return characters that no encoding has, which a tokenizer refuses, are left out."""
        if isinstance(text, tuple):
            return tuple(self._plain(item) for item in text)
        # Half characters come from broken documents, and the tokenizer refuses the whole batch.
        plain = text.encode("utf-8", "ignore").decode()
        return plain.lower() if self.layout.lower else plain

    def _forward(self, rows: Sequence[int], encoded: Sequence[Any]) -> ModelRun:
        shape = (len(encoded), max(len(item.ids) for item in encoded))
        ids = np.full(shape, self.layout.pad, np.int64)
        mask, kinds = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, item in enumerate(encoded):
            ids[row, : len(item.ids)] = item.ids
            mask[row, : len(item.ids)] = item.attention_mask
            kinds[row, : len(item.ids)] = item.type_ids
        positions = np.broadcast_to(np.arange(shape[1]), shape)
        given = dict(zip(KNOWN, (ids, mask, kinds, positions), strict=True))
        feed = {name: given[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            made = self._session.run(None, feed)
        except Exception as error:
            raise ModelUnavailable(
                f"The model {self.layout.place.name} failed: {_format_error(error)}."
            ) from error
        outputs = dict(zip(self._outputs, made, strict=True))
        return ModelRun(
            rows, {name: _floats(output) for name, output in outputs.items()}, ids, mask
        )

    def _try(self, pairs: bool) -> ModelRun:
        """Return one text, or one pair; what fails here is no model for this."""
        try:
            [batch] = self.read([(PROBE, PROBE) if pairs else PROBE])
        except ModelUnavailable as error:
            raise self.layout.wrong(
                f"cannot be used. {error.message} Is the tokenizer of the same model?"
            ) from error
        return batch

    def _check_inputs(self) -> None:
        unknown = sorted(
            name for name, kind in self._inputs.items() if name not in KNOWN or kind is None
        )
        if any(name.startswith(GENERATES) for name in unknown):
            raise self.layout.wrong(
                "has a model that generates text. For answers, set LLM__MODEL to a GGUF file "
                "of it; here name an encoder."
            )
        if unknown or "input_ids" not in self._inputs:
            wants = ", ".join(unknown) or "no input_ids"
            raise self.layout.wrong(
                f"has a model that does not read text alone (it wants {wants}). Name another one."
            )


def finite(layout: ModelLayout, values: Array) -> Array:
    """Return the values; raises ModelUnavailable where one is not a number."""
    if not np.isfinite(values).all():
        raise ModelUnavailable(
            f"The model {layout.place.name} ({layout.place.file}) computes values that are no "
            "numbers. Half precision does that on processors: name another ONNX file of it."
        )
    return values


def _tokenizer(layout: ModelLayout) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(layout.tokenizer))
    except Exception as error:
        raise ConfigError(
            f"{layout.setting}: {layout.tokenizer} is not a tokenizer ({_format_error(error)}). "
            "Copy it again."
        ) from error
    tokens, room = tokenizer.get_vocab_size(), layout.config.get("vocab_size")
    if isinstance(room, int) and tokens > room:
        raise layout.wrong(
            f"has a tokenizer of {tokens:,} tokens and a model of {room:,}. Copy both from the "
            "same model."
        )
    # Files are saved with their padding; ours is by batch.
    tokenizer.no_padding()
    tokenizer.enable_truncation(layout.max_tokens)
    return tokenizer


def _session(layout: ModelLayout) -> Any:
    try:
        return open_session(layout.place.path)
    except Exception as error:
        raise ConfigError(
            f"{layout.setting}: {layout.place.path} cannot be opened ({_format_error(error)}). "
            "If it is "
            "cut off, copy it again; if it is newer than onnxruntime here, upgrade that."
        ) from error


def _format_error(error: Exception) -> str:
    """Return an error of a library on one line, without the place in its own code."""
    line = " ".join(str(error).split())
    line = _PLACE.sub("", line.rpartition(" failed:")[2])
    return line[:240].rstrip(".") or type(error).__name__


def _floats(values: Any) -> Array:
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield texts of growing length in batches of at most `ROWS`, and `TOKENS` where one alone has
    not more."""
    batch: list[int] = []
    for row in order:
        if batch and (len(batch) == ROWS or (len(batch) + 1) * lengths[row] > TOKENS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def sigmoid(values: Array) -> Array:
    shares: Array = 1 / (1 + np.exp(-np.clip(values, -60, 60)))
    return shares


def softmax(values: Array) -> Array:
    """Of each row."""
    raised = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Array = raised / raised.sum(axis=-1, keepdims=True)
    return shares


def megabytes(size: int) -> str:
    return f"{math.ceil(size / 1e6):,} MB"
