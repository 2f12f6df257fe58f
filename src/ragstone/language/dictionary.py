"""English: which words there are, how frequent they are, which are near to a misspelt one, and
which letters go together.

Three lists that `training/english_words.py` makes: words with their frequency in Google Books
(SymSpell's dictionary), other words that a large dictionary holds, and names and terms that few
know (SCOWL). A fourth is written by hand: short forms without their apostrophe, and Latin words
that English texts use.
"""

import gzip
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MAX_LETTERS = 24
"""The longest word; longer ones are cut."""

WordMatrix = NDArray[np.uint8]
"""(n, MAX_LETTERS): each row the bytes of one word, filled up with zeros."""


def word_matrix(words: Sequence[str]) -> WordMatrix:
    """Return the matrix of `words`; characters other than a to z may collide."""
    flat = np.array(
        [word.encode("ascii", "replace")[:MAX_LETTERS] for word in words], dtype=f"S{MAX_LETTERS}"
    )
    return flat.view(np.uint8).reshape(len(words), MAX_LETTERS)


def row_lengths(matrix: WordMatrix) -> NDArray[np.int64]:
    """Tell how many letters each row has."""
    found: NDArray[np.int64] = np.count_nonzero(matrix, axis=1)
    return found


# Of longer words only the beginning is looked at, so that the index stays small; far candidates
# remain, which the caller must compare.
PREFIX_LETTERS = 7
MAX_DELETES = 2
MAX_LENGTH_DIFFERENCE = 3
"""A candidate's length may differ by so many letters."""

# The prime and the offset of FNV-1a with 32 bits.
_PRIME, _OFFSET = np.uint32(0x01000193), 0x811C9DC5

Ids = NDArray[np.uint32]


class DeleteIndex:
    """Finds words within two edits of a misspelt one; 18 MB and 0.3 s for 83,000 words.

    This is symmetric delete spelling correction (Garbe, SymSpell, 2012): letters are deleted from
    every word and from the misspelt one, and where results meet, the words may be near.
    """

    def __init__(self, matrix: WordMatrix) -> None:
        self._lengths = row_lengths(matrix)
        prefix = np.ascontiguousarray(matrix[:, :PREFIX_LETTERS].T)
        ids = np.arange(len(matrix), dtype=np.uint32)
        hashes, owners = [_hash(prefix)], [ids]
        for gone in _deletes(PREFIX_LETTERS):
            long_enough = self._lengths > gone[-1]
            kept = [letter for letter in range(PREFIX_LETTERS) if letter not in gone]
            hashes.append(_hash(prefix[kept][:, long_enough]))
            owners.append(ids[long_enough])
        # One number of hash and owner sorts several times faster than an order of the hashes.
        pairs = np.concatenate(hashes).astype(np.uint64) << np.uint64(32)
        pairs |= np.concatenate(owners)
        pairs.sort()
        self._hashes = (pairs >> np.uint64(32)).astype(np.uint32)
        self._owners = pairs.astype(np.uint32)

    def near(self, word: str) -> Ids:
        """Return the rows that may be within two edits of `word`, in order; some are not."""
        start = word[:PREFIX_LETTERS]
        shorter = {start} | {
            "".join(letter for place, letter in enumerate(start) if place not in gone)
            for gone in _deletes(len(start))
        }
        wanted = _hash(np.ascontiguousarray(word_matrix(sorted(shorter))[:, :PREFIX_LETTERS].T))
        first = np.searchsorted(self._hashes, wanted, "left")
        last = np.searchsorted(self._hashes, wanted, "right")
        parts = [self._owners[a:b] for a, b in zip(first, last, strict=True) if b > a]
        if not parts:
            return np.zeros(0, np.uint32)
        found = np.unique(np.concatenate(parts))
        return found[np.abs(self._lengths[found] - len(word)) <= MAX_LENGTH_DIFFERENCE]


def _deletes(length: int) -> list[tuple[int, ...]]:
    """Return which places to delete from so many letters."""
    return [gone for n in range(1, MAX_DELETES + 1) for gone in combinations(range(length), n)]


def _hash(columns: WordMatrix) -> NDArray[np.uint32]:
    """Hash each word, given letter by letter; zeros do not count."""
    value = np.full(columns.shape[1], _OFFSET, np.uint32)
    for column in columns:
        np.copyto(value, (value ^ column) * _PRIME, where=column > 0)
    return value


_DATA = Path(__file__).parent / "data"
_LETTERS = 27
_BATCH_WORDS = 20_000
_MAX_SELDOM = 3
"""Four letters in a row that at most so many words have are unlike English."""


class Dictionary:
    """The English words. 20 MB, and 20 MB more after the first search for candidates."""

    def __init__(self) -> None:
        lines = [line.split() for line in _lines("english_frequent")]
        self._matrix = word_matrix([word for word, _ in lines])
        self._order = {word: place for place, (word, _) in enumerate(lines)}
        self.frequency = np.array([int(tenths) / 10 for _, tenths in lines], np.float32)
        more = (_DATA / "english_more.txt").read_text(encoding="ascii").split()
        self._known = np.array(sorted({*_lines("english_known"), *more}), f"S{MAX_LETTERS}")
        self._rare = np.array(_lines("english_rare"), f"S{MAX_LETTERS}")

    def log_frequency(self, word: str) -> float:
        """Return the decimal logarithm of how often Google Books holds the word, 0 if it is in no
        list, 3 if it is but was not counted. "the" has 10.4, most words 5 to 7."""
        place = self._order.get(word)
        if place is not None:
            return float(self.frequency[place])
        return 3.0 if _holds(self._known, word) else 0.0

    def is_rare(self, word: str) -> bool:
        """Tell whether the word is only in the list of names and terms that few know."""
        return _holds(self._rare, word)

    def candidates(self, word: str) -> tuple[list[str], WordMatrix, NDArray[np.float32]]:
        """Find frequent words that may be within two edits, their letters, their frequency."""
        ids = self._index.near(word)
        found = self._matrix[ids]
        words = [row.decode() for row in found.view(f"S{MAX_LETTERS}").ravel()]
        return words, found, self.frequency[ids]

    def count_unlikely(self, word: str) -> int:
        """How many runs of four letters in the word, its ends among them, are unlike English."""
        grams = _grams(word_matrix([word]))
        return int((self._grams[grams[grams > 0]] <= _MAX_SELDOM).sum())

    @cached_property
    def _index(self) -> DeleteIndex:
        return DeleteIndex(self._matrix)

    @cached_property
    def _grams(self) -> NDArray[np.uint8]:
        counts = np.zeros(_LETTERS**4, np.int64)
        for words in (self._known, self._rare, self._matrix.view(f"S{MAX_LETTERS}").ravel()):
            for start in range(0, len(words), _BATCH_WORDS):
                part = words[start : start + _BATCH_WORDS]
                grams = _grams(part.view(np.uint8).reshape(-1, MAX_LETTERS))
                counts += np.bincount(grams[grams > 0], minlength=_LETTERS**4)
        return np.minimum(counts, _MAX_SELDOM + 1).astype(np.uint8)


@cache
def english() -> Dictionary:
    """Return the dictionary, read once, in 0.15 s."""
    return Dictionary()


def _lines(name: str) -> list[str]:
    with gzip.open(_DATA / f"{name}.txt.gz", "rt", encoding="ascii") as file:
        return file.read().splitlines()


def _holds(words: NDArray[np.bytes_], word: str) -> bool:
    key = word.encode("ascii", "replace")
    if len(key) > MAX_LETTERS:
        # numpy would make all words as long to compare them with it.
        return False
    place = int(np.searchsorted(words, np.bytes_(key)))
    return place < len(words) and bool(words[place] == key)


def _grams(matrix: WordMatrix) -> NDArray[np.int32]:
    """Return every run of four letters as a number, 0 where there is none. A word's ends count as a
    letter, so `the` has `^the` and `the$`."""
    letters = np.zeros((matrix.shape[1] + 2, len(matrix)), np.int32)
    letters[1:-1] = matrix.T
    np.subtract(letters, 96, out=letters, where=letters > 0)
    a, b, c, d = (letters[start : len(letters) - 3 + start] for start in range(4))
    numbers = ((a * _LETTERS + b) * _LETTERS + c) * _LETTERS + d
    return np.where(c > 0, numbers, 0)
