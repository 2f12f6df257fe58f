"""Lists of words that rules use, from plain text files beside the code that uses them."""

from functools import cache
from importlib.resources import files


@cache
def word_lists(room: str, file: str) -> dict[str, tuple[str, ...]]:
    """The lists of `<room>/data/<file>.txt` by name: `name: word word`, several lines of a name add
    up.

    A line that begins with # is a remark; an underscore in a word stands for a space.
    """
    found: dict[str, tuple[str, ...]] = {}
    text = files(f"ragstone.{room}").joinpath(f"data/{file}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        name, _, listed = line.partition(":")
        if listed and not line.startswith("#"):
            words = tuple(word.replace("_", " ") for word in listed.split())
            found[name.strip()] = (*found.get(name.strip(), ()), *words)
    return found
