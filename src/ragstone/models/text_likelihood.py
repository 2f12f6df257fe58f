"""How likely a text is in any of a hundred languages, by the multilingual model's vocabulary."""

from functools import cache

from ragstone.models.e5_weights import Unigram
from ragstone.models.engines import open_weights


def text_likelihood(text: str) -> float:
    """Return the logarithm of how likely the pieces of `text` are together: the more a text is
    like what people write, the nearer to 0. Loads 50 MB at first. Raises ModelUnavailable."""
    return _load_vocabulary().likelihood(text)


@cache
def _load_vocabulary() -> Unigram:
    """Processes that read files have no embedder that keeps it in memory, and a text is compared
    in a dozen encodings."""
    return open_weights().tokenizer
