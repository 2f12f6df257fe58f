"""Text that every store can hold."""

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """`text` with U+FFFD for each half of a character (a lone surrogate), of the same length.

    JSON can spell such halves; no encoding of Unicode can hold them.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def storable(text: str) -> str:
    """`text` as every store can keep it: whole, and with U+FFFD for NUL too."""
    return whole(text).replace("\0", "\ufffd")


def whole_values(value: Any) -> Any:
    """A JSON value with every text in it whole, keys too."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {whole(str(key)): whole_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [whole_values(item) for item in value]
    return value
