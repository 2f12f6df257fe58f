"""A ColBERT model: a vector for each token of a question or a passage, from any folder of ONNX.

After Khattab and Zaharia, "ColBERT" (2020): a marker behind the first token says which of the two a
text is, questions are filled up with [MASK] tokens whose vectors count too, and passages lose
their punctuation. The projection to the compared dimensions is in the ONNX file.

Read are the files of ColBERT itself (`artifact.metadata`), as fastembed uses them, and those of
PyLate and its exports (`config_sentence_transformers.json`, `onnx_config.json`).
"""

import json
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import ConfigError
from ragstone.language.late_interaction import Floats, Ids, PlacedTokens, TokenVectors, pack_tokens
from ragstone.plugins.named_models.layout import ModelLayout, read_layout
from ragstone.plugins.named_models.places import ModelPlace, ModelPlaces
from ragstone.plugins.named_models.text_model import (
    EncodedText,
    ModelRun,
    TextModel,
    finite,
    megabytes,
)

SETTING = "EMBEDDING__LATE_MODEL"

METADATA = "artifact.metadata"
"""Where ColBERT's own program keeps its settings."""

EXPORTED = "onnx_config.json"
"""Where PyLate's exporter keeps them."""

MARKERS = (("[unused0]", "[unused1]"), ("[QueryMarker]", "[DocumentMarker]"), ("[Q]", "[D]"))
"""The markers of questions and passages, where no file names them."""

MASKS = ("[MASK]", "<mask>")

QUESTION_TOKENS = 32
"""To how many tokens a question is filled up, where no file says it."""

OUTPUTS = ("contextual", "token_embeddings", "last_hidden_state")


@dataclass(frozen=True, slots=True)
class ColbertConfig:
    """How a model is asked: the ids of its markers and of what fills questions up to
    `question_tokens` (0 where nothing does), whether those are attended to, the tokens of passages
    that have no vector, and the `width` of its vectors (0 where no file says)."""

    question_marker: int
    passage_marker: int
    mask: int
    question_tokens: int
    attends: bool
    silent: frozenset[int]
    width: int


class Colbert:
    """Opened and tried when it is made. Raises ConfigError, ModelUnavailable.

    `scale` (dimensions,) is what token vectors are packed by. Methods compute in this thread and
    may be called from several.
    """

    def __init__(self, name: str, models: ModelPlaces) -> None:
        place = models.find(SETTING, name)
        self.layout = read_layout(SETTING, place)
        self._model = TextModel(self.layout)
        # For the marker.
        self._model.leave_room(1)
        self.config = _config(self.layout, place, self._model.token_id)
        self._output = _output(self.layout, self._model.tried, self.config.width)
        self.dimensions = self._model.tried.outputs[self._output].shape[2]
        self.scale: Floats = np.full(self.dimensions, self.dimensions**-0.5, np.float32)

    @property
    def fingerprint(self) -> str:
        """Changes with the token vectors of a text."""
        config = self.config
        how = (config.question_marker, config.passage_marker, config.mask, len(config.silent))
        return "/".join(map(str, (self.layout.digest[:16], self.dimensions, *how)))

    @property
    def description(self) -> str:
        layout, config = self.layout, self.config
        filled = f"filled up to {config.question_tokens}" if config.question_tokens else "as it is"
        return (
            f"{layout.place.name} ({layout.place.origin}: {layout.place.file}, "
            f"{megabytes(layout.size)}, SHA-256 {layout.digest[:12]}): {self.dimensions} "
            f"dimensions a token, {layout.max_tokens} tokens, a question {filled}"
        )

    def question(self, text: str) -> TokenVectors:
        """The vectors of the question's tokens, and behind them those of what the model adds."""
        config = self.config
        [row] = self._model.rows([text])
        marked = _insert_marker(row, config.question_marker)
        missing = max(0, config.question_tokens - len(marked.ids))
        filled = EncodedText(
            [*marked.ids, *[config.mask] * missing],
            [*marked.type_ids, *[0] * missing],
            [*marked.attention_mask, *[int(config.attends)] * missing],
        )
        [run] = self._model.read_rows([filled])
        states = self._unit(run.outputs[self._output][0])
        own = _own(marked)
        others = np.setdiff1d(np.arange(len(states)), own)
        return TokenVectors(_fold_ids([marked.ids[i] for i in own]), states[[*own, *others]])

    def passages(self, texts: Sequence[str]) -> list[bytes]:
        """Return the packed token vectors of each text."""
        marked = [
            _insert_marker(item, self.config.passage_marker) for item in self._model.rows(texts)
        ]
        found = [b""] * len(texts)
        for run in self._model.read_rows(marked):
            for place, row in enumerate(run.rows):
                ids = marked[row].ids
                states = self._unit(run.outputs[self._output][place, : len(ids)])
                own = _own(marked[row])
                added = np.setdiff1d(np.arange(len(ids)), own)
                # What the model adds counts always, punctuation of the text never.
                kept = [n for n, i in enumerate(own) if ids[i] not in self.config.silent]
                vectors = states[[*added, *(own[n] for n in kept)]]
                tokens = TokenVectors(_fold_ids([ids[i] for i in own]), vectors)
                found[row] = pack_tokens(tokens, self.scale, kept)
        return found

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's own tokens."""
        rows = self._model.rows(texts)
        return [_fold_ids([row.ids[i] for i in _own(row)]).tolist() for row in rows]

    def place_tokens(self, texts: Sequence[str]) -> list[PlacedTokens]:
        """Return where in each text the tokens are; what the model adds stands before it, at -1."""
        placed = []
        for row in self._model.rows(texts):
            own = _own(row)
            added = len(row.ids) - len(own) + 1
            kept = [row.starts[i] for i in own if row.ids[i] not in self.config.silent]
            starts = np.array([*[-1] * added, *kept], np.int64)
            placed.append(PlacedTokens(_fold_ids([row.ids[i] for i in own]), starts))
        return placed

    def _unit(self, states: NDArray[Any]) -> Floats:
        found = finite(self.layout, states)
        unit: Floats = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return unit


def _insert_marker(row: EncodedText, marker: int) -> EncodedText:
    """Return the row with a marker behind its first token."""

    def put(values: Sequence[int], number: int) -> list[int]:
        return [*values[:1], number, *values[1:]]

    return EncodedText(
        put(row.ids, marker),
        put(row.type_ids, 0),
        put(row.attention_mask, 1),
        put(row.starts, -1),
        put(row.added, 1),
    )


def _own(row: EncodedText) -> list[int]:
    """Return the places of the tokens that are the text's."""
    return [i for i, added in enumerate(row.added) if not added]


def _fold_ids(ids: Iterable[int]) -> Ids:
    """Ids as they are kept, of vocabularies of any size: of two tokens of one number nothing worse
    comes than that they count as one where words are compared."""
    return np.array([id & 0xFFFF for id in ids], np.uint16)


def _config(
    layout: ModelLayout, place: ModelPlace, token_id: Callable[[str], int | None]
) -> ColbertConfig:
    """Return what the files say; raises ConfigError where there are no markers."""
    own = _read_config(layout, place, METADATA)
    exported = {**layout.sentences, **_read_config(layout, place, EXPORTED)}
    question = _marker(own.get("query_token_id"), exported.get("query_prefix"), token_id)
    passage = _marker(own.get("doc_token_id"), exported.get("document_prefix"), token_id)
    for names in MARKERS:
        if question is not None and passage is not None:
            break
        question, passage = (token_id(name) for name in names)
    mask = next((id for id in map(token_id, MASKS) if id is not None), None)
    if question is None or passage is None:
        raise layout.wrong(
            "has no markers of questions and passages, so it is not a ColBERT model. Name one, or "
            "set "
            "EMBEDDING__MODEL to an embedding model."
        )
    length = own.get("query_maxlen", exported.get("query_length", QUESTION_TOKENS))
    fills = exported.get("do_query_expansion", True) and mask is not None
    width = own.get("dim", exported.get("embedding_dim", 0))
    if not all(isinstance(item, int) and item >= 0 for item in (length, width)):
        raise layout.wrong(f"has lengths in {METADATA} or {EXPORTED} that are no numbers.")
    words = exported.get("skiplist_words", list(string.punctuation))
    silent = (token_id(str(word)) for word in words) if own.get("mask_punctuation", True) else ()
    marks_alone = layout.config.get("model_type") == "xlm-roberta"
    attends = exported.get("attend_to_expansion_tokens", own.get("attend_to_mask_tokens"))
    return ColbertConfig(
        question,
        passage,
        mask or 0,
        length if fills else 0,
        bool(marks_alone if attends is None else attends),
        frozenset(id for id in silent if id is not None),
        width,
    )


def _read_config(layout: ModelLayout, place: ModelPlace, name: str) -> Mapping[str, Any]:
    """Return what a file says, beside the model or in the folder; empty if there is none."""
    for path in (place.path.parent / name, place.folder / name):
        if path.is_file():
            try:
                said = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"{SETTING}: {path} cannot be read ({type(error).__name__}). Copy it again."
                ) from error
            if not isinstance(said, dict):
                raise layout.wrong(f"has a {name} that is not what it should be. Copy it again.")
            return said
    return {}


def _marker(named: object, prefix: object, token_id: Callable[[str], int | None]) -> int | None:
    """Return the id of a marker by the token that a file names, or by the text that another puts
    before a text."""
    for item in (named, prefix):
        if isinstance(item, str) and item.strip():
            found = token_id(item)
            return token_id(item.strip()) if found is None else found
    return None


def _output(layout: ModelLayout, tried: ModelRun, width: int) -> str:
    """Return the output with a vector for each token; raises ConfigError."""
    found = [name for name, array in tried.outputs.items() if array.ndim == 3]
    fitting = [name for name in found if tried.outputs[name].shape[2] == width or not width]
    if fitting:
        return next((name for name in OUTPUTS if name in fitting), fitting[0])
    if found:
        has = tried.outputs[found[0]].shape[2]
        others = sorted(
            path.relative_to(layout.place.folder).as_posix()
            for path in (*layout.place.folder.glob("*.onnx"), *layout.place.folder.glob("*/*.onnx"))
            if path != layout.place.path
        )
        names = f" There are also {', '.join(others)}." if others else ""
        raise layout.wrong(
            f"has an ONNX file, {layout.place.file}, whose vectors are of {has} numbers instead of "
            f"{width}: it leaves out the projection. Name one that has it.{names}"
        )
    raise layout.wrong("has a model that gives no vectors of tokens. Name a ColBERT model.")
