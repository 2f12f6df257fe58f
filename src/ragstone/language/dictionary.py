"""English: which words there are, how frequent they are, and which letters go together.

Three lists that `training/english_words.py` makes: words with their frequency in Google Books
(SymSpell's dictionary), other words that a large dictionary holds, and names and terms that few
know (SCOWL). A fourth is written by hand: short forms without their apostrophe, and Latin words
that English texts use.
"""

import gzip
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.language.delete_index import DeleteIndex
from ragstone.language.letters import WIDTH, Rows, rows

_DATA = Path(__file__).parent / "data"
_LETTERS = 27
_AT_ONCE = 20_000
_SELDOM = 3
"""Four letters in a row that at most so many words have are unlike English."""


class Dictionary:
    """The English words. 20 MB, and 20 MB more after the first search for candidates."""

    def __init__(self) -> None:
        lines = [line.split() for line in _lines("english_frequent")]
        self._matrix = rows([word for word, _ in lines])
        self._order = {word: place for place, (word, _) in enumerate(lines)}
        self.frequency = np.array([int(tenths) / 10 for _, tenths in lines], np.float32)
        more = (_DATA / "english_more.txt").read_text(encoding="ascii").split()
        self._known = np.array(sorted({*_lines("english_known"), *more}), f"S{WIDTH}")
        self._rare = np.array(_lines("english_rare"), f"S{WIDTH}")

    def log_frequency(self, word: str) -> float:
        """The decimal logarithm of how often Google Books holds the word, 0 if it is in no list,
        3 if it is but was not counted. "the" has 10.4, most words 5 to 7."""
        place = self._order.get(word)
        if place is not None:
            return float(self.frequency[place])
        return 3.0 if _holds(self._known, word) else 0.0

    def rare(self, word: str) -> bool:
        """Whether the word is only in the list of names and terms that few know."""
        return _holds(self._rare, word)

    def candidates(self, word: str) -> tuple[list[str], Rows, NDArray[np.float32]]:
        """Frequent words that may be within two edits, their letters, their frequency."""
        ids = self._index.near(word)
        found = self._matrix[ids]
        words = [row.decode() for row in found.view(f"S{WIDTH}").ravel()]
        return words, found, self.frequency[ids]

    def unlike(self, word: str) -> int:
        """How many runs of four letters in the word, its ends among them, are unlike English."""
        grams = _grams(rows([word]))
        return int((self._grams[grams[grams > 0]] <= _SELDOM).sum())

    @cached_property
    def _index(self) -> DeleteIndex:
        return DeleteIndex(self._matrix)

    @cached_property
    def _grams(self) -> NDArray[np.uint8]:
        counts = np.zeros(_LETTERS**4, np.int64)
        for words in (self._known, self._rare, self._matrix.view(f"S{WIDTH}").ravel()):
            for start in range(0, len(words), _AT_ONCE):
                part = words[start : start + _AT_ONCE]
                grams = _grams(part.view(np.uint8).reshape(-1, WIDTH))
                counts += np.bincount(grams[grams > 0], minlength=_LETTERS**4)
        return np.minimum(counts, _SELDOM + 1).astype(np.uint8)


@cache
def english() -> Dictionary:
    """The dictionary, read once, in 0.15 s."""
    return Dictionary()


def _lines(name: str) -> list[str]:
    with gzip.open(_DATA / f"{name}.txt.gz", "rt", encoding="ascii") as file:
        return file.read().splitlines()


def _holds(words: NDArray[np.bytes_], word: str) -> bool:
    key = word.encode("ascii", "replace")
    if len(key) > WIDTH:
        return False  # All words would be made as long to be compared with it.
    place = int(np.searchsorted(words, np.bytes_(key)))
    return place < len(words) and bool(words[place] == key)


def _grams(matrix: Rows) -> NDArray[np.int32]:
    """Every run of four letters as a number, 0 where there is none. A word's ends count as a
    letter, so `the` has `^the` and `the$`."""
    letters = np.zeros((matrix.shape[1] + 2, len(matrix)), np.int32)
    letters[1:-1] = matrix.T
    np.subtract(letters, 96, out=letters, where=letters > 0)
    a, b, c, d = (letters[start : len(letters) - 3 + start] for start in range(4))
    numbers = ((a * _LETTERS + b) * _LETTERS + c) * _LETTERS + d
    return np.where(c > 0, numbers, 0)
