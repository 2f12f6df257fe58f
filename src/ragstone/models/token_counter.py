"""Counting tokens with the tokenizer of the chat model, where that is known and installed."""

from functools import cache, partial

from ragstone.text.tokenizer_family import tokenizer_family
from ragstone.text.tokens import CAUTIOUS, Count, count


def token_counter(model: str) -> Count:
    """Exact with the extra `tokens` for a model whose tokenizer is known, else an estimate."""
    family = tokenizer_family(model)
    return _exact(family) or partial(count, family=family or CAUTIOUS)


@cache
def _exact(family: str) -> Count | None:
    if not family:
        return None
    try:
        from splintr import Tokenizer
    except ImportError:
        return None
    encode = Tokenizer.from_pretrained(family).encode
    return lambda text: len(encode(text))
