"""How likely a text is in any of a hundred languages, by the multilingual model's vocabulary."""

from ragstone.models.e5_engine import open_weights


def text_likelihood(text: str) -> float:
    """Return the logarithm of how likely the pieces of `text` are together: the more a text is
    like what people write, the nearer to 0. Loads 50 MB at first. Raises ModelUnavailable."""
    return open_weights().tokenizer.likelihood(text)
