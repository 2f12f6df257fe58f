"""Texts that come as tokens: OpenAI's own clients for embeddings send these."""

from functools import cache
from typing import Any

ENCODING = "cl100k_base"
"""That of OpenAI's embedding models, which clients take for models that they do not know."""

MAX_TOKENS = 100_000
"""Tokens of one text."""


def decode_tokens(tokens: list[Any]) -> str:
    """Return the text of tokens; raises ValueError."""
    if not tokens or len(tokens) > MAX_TOKENS or not all(type(token) is int for token in tokens):
        raise ValueError(f"the tokens of a text are 1 to {MAX_TOKENS:,} whole numbers")
    tokenizer = _tokenizer()
    if tokenizer is None:
        raise ValueError(
            "tokens need the extra ragstone[tokens] on the server; give the texts themselves "
            "(LangChain: check_embedding_ctx_length=False)"
        )
    try:
        return str(tokenizer.decode_lossy(tokens))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"these are no tokens of {ENCODING}") from error


@cache
def _tokenizer() -> Any:
    try:
        from splintr import Tokenizer
    except ImportError:
        return None
    return Tokenizer.from_pretrained(ENCODING)
