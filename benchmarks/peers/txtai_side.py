"""txtai: Embeddings with `hybrid`, as its README shows, over vectors that are given."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from txtai import Embeddings

from benchmarks.peers.exported import Exported
from benchmarks.peers.side import DEPTH, VECTORS, Search, main


@contextmanager
def opened(data: Exported) -> Iterator[Mapping[str, Search]]:
    known = dict(zip(data.texts, data.vectors(), strict=True)) | data.question_vectors()

    def transform(texts: Sequence[str]) -> np.ndarray:
        return np.array([known[text] for text in texts], np.float32)

    given = {"method": "external", "transform": transform}
    searches = {}
    for name, options in {"hybrid": {"hybrid": True}, VECTORS: {}}.items():
        index = Embeddings({**given, **options})
        index.index(zip(data.ids, data.texts, strict=True))
        searches[name] = _search(index)
    yield searches


def _search(index: Embeddings) -> Search:
    return lambda question: [item for item, _ in index.search(question, DEPTH)]


if __name__ == "__main__":
    main(opened)
