"""Which known names a name resembles that is none of them: for "The nearest: ..." in errors."""

from collections.abc import Iterable
from itertools import islice

MAX_NAMES = 10_000
MAX_LENGTH = 255
"""Characters of a name that are compared, its last ones: what is most its own in a path."""

MIN_SIMILARITY = 0.6


def similarity(name: str, other: str) -> float:
    """Return the share of characters that two names have in common in their order, 0 to 1."""
    # At the top of the module every start of the command line would load it.
    from rapidfuzz import fuzz

    return fuzz.ratio(name[-MAX_LENGTH:], other[-MAX_LENGTH:]) / 100


def find_similar(
    name: str, known: Iterable[str], limit: int = 3, least: float = MIN_SIMILARITY
) -> list[str]:
    """Return the names most like `name`, best first.

    Args:
        name: What was given, of any length.
        known: The names that there are; the first MAX_NAMES of them are compared.
        limit: Most names to return.
        least: The similarity that each has at least.
    """
    from rapidfuzz import fuzz, process

    names = list(islice(known, MAX_NAMES))
    found = process.extract(
        name[-MAX_LENGTH:],
        [item[-MAX_LENGTH:] for item in names],
        scorer=fuzz.ratio,
        limit=limit,
        score_cutoff=100 * least,
    )
    return [names[place] for _, _, place in found]
