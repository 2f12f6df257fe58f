"""A model that reads two texts together and scores or classifies the pair: the loader that
rerankers (`relevance`) and natural language inference (`nli`) have in common."""

from collections.abc import Sequence

import numpy as np

from ragstone.models.named.layout import ModelLayout, read_layout
from ragstone.models.named.places import NamedModels
from ragstone.models.named.pooling import SENTENCES, TOKEN_VECTORS
from ragstone.models.named.text_model import Array, TextModel, finite, megabytes


class PairModel:
    """Opened and tried when it is made. Raises ConfigError, ModelUnavailable.

    `outputs` is how many numbers a pair gets.
    """

    def __init__(self, setting: str, name: str, models: NamedModels, threads: int = 0) -> None:
        place = models.find(setting, name)
        self.layout = read_layout(setting, place)
        self.name = place.name
        self.model = TextModel(self.layout, threads, pairs=True)
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
        """The model's numbers of each pair (pairs, outputs), computed in this thread; raises
        ModelUnavailable."""
        rows: list[Array] = [np.zeros(0, np.float32)] * len(pairs)
        for batch in self.model.read(pairs):
            found = batch.outputs[self._output].reshape(len(batch.rows), -1)
            for row, values in zip(batch.rows, finite(self.layout, found), strict=True):
                rows[row] = values
        return np.array(rows, np.float32).reshape(len(pairs), -1)


def _output(layout: ModelLayout, model: TextModel) -> str:
    """The output with a few numbers a pair; raises ConfigError."""
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
