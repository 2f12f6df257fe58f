"""What txtai's SQL lets through, and what comes without a condition."""

from collections.abc import Sequence

import numpy as np
from txtai import Embeddings

from benchmarks.peers.rights_texts import FIRST, READERS, TEXTS, VECTORS, Find, main

QUERY = "select id from txtai where similar(:question)"


def search(is_hybrid: bool) -> Find:
    known = dict(zip(TEXTS, VECTORS, strict=True))

    def transform(texts: Sequence[str]) -> np.ndarray:
        return np.array([known[text] for text in texts])

    given = {"method": "external", "transform": transform, "content": True, "hybrid": is_hybrid}
    index = Embeddings(given)
    rows = zip(TEXTS, READERS, strict=True)
    index.index((n, {"text": text, "readers": reader}) for n, (text, reader) in enumerate(rows))

    def find(question: int, is_filtered: bool) -> list[int]:
        condition = " and readers = 'everyone'" if is_filtered else ""
        asked = {"question": TEXTS[question]}
        return [int(row["id"]) for row in index.search(QUERY + condition, FIRST, parameters=asked)]

    return find


if __name__ == "__main__":
    main({"txtai, vectors": search(False), "txtai, hybrid": search(True)})
