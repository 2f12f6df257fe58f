"""Which languages a collection has by now, and whether its embedding model still fits."""

from collections import Counter
from collections.abc import Mapping

from ragstone.core.records import Collection
from ragstone.ports import Embedders

SINGLE = 0.75
"""A collection is in one language if at least this share of its passages is."""

OTHERS = 0.1
"""Share of passages in other languages from which English ones are mixed too: the English model
finds less by meaning in those."""

REAL = 0.03
"""Share of passages from which a language counts: names and code are taken for others."""


def main_language(counts: Mapping[str, int]) -> str:
    """The language of passages with these languages, "mul" for several, "" where none is known."""
    known = Counter({code: number for code, number in counts.items() if code})
    total = known.total()
    if not total:
        return ""
    (language, most), *others = known.most_common()
    if most < SINGLE * total:
        return "mul"
    real = sum(number for _, number in others if number >= REAL * total)
    return "mul" if language == "en" and real >= OTHERS * total else language


def may_outgrow(collection: Collection, embedders: Embedders) -> bool:
    """Whether there are passages that the collection's embedding model does not fit."""
    every = (embedders.for_text(language) for language in ("en", "mul"))
    return any(item.multilingual and item.fingerprint != collection.fingerprint for item in every)


def outgrown(collection: Collection, counts: Mapping[str, int], embedders: Embedders) -> str:
    """One sentence where the passages have outgrown the collection's embedding model: it knows
    English only, and they have other languages by now; empty where it fits."""
    language = main_language(counts)
    fitting = embedders.for_text(language)
    if not fitting.multilingual or collection.fingerprint == fitting.fingerprint:
        return ""
    total = sum(counts.values())
    others = [
        c for c, n in Counter(counts).most_common() if c not in ("", "en") and n >= REAL * total
    ]
    return (
        f"Collection {collection.name!r} has passages in {', '.join(others)} by now, and "
        f"{collection.model} finds them less well. "
        f"'ragstone rebuild --collection {collection.name}' embeds all with {fitting.name}."
    )
