"""Lists of words that rules use, from plain text files beside this package's code."""

from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"


@cache
def word_lists(file: str) -> dict[str, tuple[str, ...]]:
    """The lists of `data/<file>.txt` by name: `name: word word`, several lines of a name add up.

    A line that begins with # is a remark; an underscore in a word stands for a space.
    """
    found: dict[str, tuple[str, ...]] = {}
    for line in (_DATA / f"{file}.txt").read_text(encoding="utf-8").splitlines():
        name, _, listed = line.partition(":")
        if listed and not line.startswith("#"):
            words = tuple(word.replace("_", " ") for word in listed.split())
            found[name.strip()] = (*found.get(name.strip(), ()), *words)
    return found
