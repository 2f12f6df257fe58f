"""What the name of a chat model says: which family, how many parameters."""

import re

_LETTER_HYPHEN_DIGIT = re.compile(r"(?<=[a-z])-(?=\d)")
_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:(?P<experts>\d{1,2})x)?e?(?P<count>\d{1,4}(?:\.\d{1,3})?)"
    r"(?P<unit>[mbt])(?![a-z0-9])"
)
_BILLIONS = {"m": 0.001, "b": 1.0, "t": 1000.0}
MOST_CHARS = 300
"""Characters of a name that are looked at."""


def normal(name: str) -> str:
    """The name in one spelling: `Llama-3.1_8B` and `llama3.1-8b` are the same."""
    lower = name[:MOST_CHARS].lower().replace("_", "-").replace(" ", "-")
    return _LETTER_HYPHEN_DIGIT.sub("", lower)


def billions(name: str) -> float | None:
    """The parameters that the name tells, in billions: 7 for `qwen2.5:7b`; None if it is silent.

    Experts are multiplied (`8x7b` is 56); active parameters (`a3b`) and quantizations are not read.
    """
    match = _SIZE.search(name[:MOST_CHARS].lower().replace("_", "-"))
    if match is None:
        return None
    size = float(match["count"]) * _BILLIONS[match["unit"]]
    return size * int(match["experts"] or 1) or None


def matches(pattern: str, name: str) -> bool:
    """Whether `pattern` stands in `name` as whole words and numbers: `gpt-4` also in `gpt-4o`,
    `mistral` not in `mistralai`."""
    wanted = normal(pattern)
    if not wanted:
        return False
    after = r"(?![0-9])" if wanted[-1].isdigit() else r"(?![a-z])"
    return re.search(rf"(?<![a-z0-9]){re.escape(wanted)}{after}", normal(name)) is not None
