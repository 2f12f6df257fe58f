"""What every side reads: chunks, questions and their vectors, made by `export`."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Exported:
    """A corpus and its questions.

    `chunks` are payloads with one more field, `searchable`: the text that was embedded.
    `passages` and `asked` are .npz files whose `vectors` hold one row of unit length for each
    chunk and each question; what else they hold is for Ragstone's reranking only. With `usual`
    each peer builds and asks the one variant that its documentation shows first, as for speed.
    """

    language: str
    chunks: list[dict[str, Any]]
    questions: list[str]
    passages: str
    asked: str
    usual: bool = False

    @classmethod
    def read(cls, file: Path) -> "Exported":
        return cls(**json.loads(file.read_text(encoding="utf-8")))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @cached_property
    def texts(self) -> list[str]:
        """The text of each chunk, heading first."""
        return [chunk["searchable"] for chunk in self.chunks]

    @cached_property
    def ids(self) -> list[str]:
        return [chunk["chunk_id"] for chunk in self.chunks]

    @cached_property
    def documents(self) -> dict[str, str]:
        """The document of each chunk id."""
        return {chunk["chunk_id"]: chunk["document_id"] for chunk in self.chunks}

    def vectors(self) -> list[list[float]]:
        """Return the chunks' vectors as the peers take them."""
        rows: list[list[float]] = np.load(self.passages)["vectors"].tolist()
        return rows

    def question_vectors(self) -> dict[str, list[float]]:
        """Return the vector of each question, so that nobody's time holds its embedding."""
        rows = np.load(self.asked)["vectors"].tolist()
        return dict(zip(self.questions, rows, strict=True))
