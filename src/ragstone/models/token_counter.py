"""Counting tokens with the tokenizer of the chat model, where that is known and installed."""

from functools import cache, partial

from ragstone.language.tokens import CAUTIOUS, Count, Family, count


def token_counter(tokenizer: Family | None) -> Count:
    """Exact with the extra `tokens` for a known tokenizer, else an estimate."""
    if tokenizer is None:
        return partial(count, family=CAUTIOUS)
    return _exact_counter(tokenizer) or partial(count, family=tokenizer)


@cache
def _exact_counter(tokenizer: Family) -> Count | None:
    try:
        from splintr import Tokenizer
    except ImportError:
        return None
    encode = Tokenizer.from_pretrained(tokenizer).encode
    return lambda text: len(encode(text))
