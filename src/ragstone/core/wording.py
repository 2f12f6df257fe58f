"""Counts as people write them."""


def format_count(number: int, noun: str, plural: str = "") -> str:
    """The number with its noun, 1 file or 2,000 files; `plural` where that takes more than an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
