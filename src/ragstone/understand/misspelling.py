"""How unlikely it is that a word was meant when another was typed.

A weighted edit distance over deletions, insertions, substitutions and transpositions (optimal
string alignment). One unlikely edit costs about 1; what people do often costs less: doubled
letters, letters in wrong order, and above all leaving letters out. The costs were fitted to one
half of a list of misspellings and hold on the other.
"""

from functools import cache
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from ragstone.language.dictionary import WordMatrix, row_lengths

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SHIFT = 0.3
"""How far each row of a keyboard stands to the right of the row above, in keys."""

_VOWELS = "aeiouy"
_ALIKE = "ck cs sz fv dt gj mn bp iy cq kq xz gk uw vw bv lr jy sx gq"
_SUBSTITUTION, _NEIGHBOUR, _SOUND = 1.15, 1.1, 1.0
_MISSING, _MISSING_VOWEL, _MISSING_H, _MISSING_DOUBLE = 0.55, 0.45, 0.55, 0.35
_EXTRA, _EXTRA_VOWEL, _EXTRA_LAST_E, _EXTRA_DOUBLE = 1.15, 1.0, 0.8, 0.5
_TRANSPOSED = 0.75
_FIRST = 0.3
"""The first letter is seldom wrong."""

Costs = NDArray[np.float32]


def costs(typed: str, meant: WordMatrix) -> Costs:
    """(n,): the cost of typing `typed` (a to z) for each of the words `meant`."""
    letters = [ord(letter) for letter in typed]
    width = max(1, int(row_lengths(meant).max(initial=1)))
    columns = np.ascontiguousarray(meant[:, :width].T)
    missing = _deletion_costs(columns)
    start = np.zeros((1, columns.shape[1]), np.float32)
    before: Costs | None = None
    line: Costs = np.concatenate([start, np.cumsum(missing, axis=0)])
    for place, letter in enumerate(letters):
        extra = _insertion_cost(letters, place)
        found = np.empty_like(line)
        found[0] = line[0] + extra
        doubles = _EXTRA_DOUBLE if place else extra
        extras = np.where(columns == letter, doubles, extra)
        kept = line[:-1] + _substitutions()[letter][columns]
        if place == 0:
            kept[0] += _FIRST * (columns[0] != letter)
        best = np.minimum(kept, line[1:] + extras)
        if before is not None:
            swapped = (columns[1:] == letters[place - 1]) & (columns[:-1] == letter)
            np.copyto(best[1:], np.minimum(best[1:], before[:-2] + _TRANSPOSED), where=swapped)
        for column in range(width):
            found[column + 1] = np.minimum(best[column], found[column] + missing[column])
        before, line = line, found
    return line[row_lengths(meant), np.arange(len(meant))]


def _deletion_costs(columns: WordMatrix) -> Costs:
    """Return the cost of leaving out each letter of the intended words."""
    vowels = np.frombuffer(_VOWELS.encode(), np.uint8)
    cost = np.where(np.isin(columns, vowels), _MISSING_VOWEL, _MISSING).astype(np.float32)
    cost[columns == ord("h")] = _MISSING_H
    cost[1:][columns[1:] == columns[:-1]] = _MISSING_DOUBLE
    cost[0] += _FIRST
    return cost


def _insertion_cost(letters: list[int], place: int) -> float:
    """Return the cost of the extra letter at `place`."""
    letter = chr(letters[place])
    if place and letters[place - 1] == letters[place]:
        return _EXTRA_DOUBLE
    if letter == "e" and place == len(letters) - 1:
        return _EXTRA_LAST_E
    cost = _EXTRA_VOWEL if letter in _VOWELS else _EXTRA
    return cost if place else cost + _FIRST


def one_edit(word: str) -> frozenset[str]:
    """Return every word of the letters a to z that is one edit away."""
    halves = [(word[:cut], word[cut:]) for cut in range(len(word) + 1)]
    shorter = [a + b[1:] for a, b in halves if b]
    swapped = [a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1]
    changed = [a + letter + b[1:] for a, b in halves if b for letter in ascii_lowercase]
    longer = [a + letter + b for a, b in halves for letter in ascii_lowercase]
    return frozenset((*shorter, *swapped, *changed, *longer)) - {word}


@cache
def _substitutions() -> Costs:
    """Return the cost (256, 256) of typing the one for the other."""
    cost = np.full((256, 256), _SUBSTITUTION, np.float32)
    places = {
        letter: (row, column + _SHIFT * row)
        for row, keys in enumerate(_KEYBOARD)
        for column, letter in enumerate(keys)
    }
    for word, (row, column) in places.items():
        for other, (row2, column2) in places.items():
            if abs(row - row2) <= 1 and abs(column - column2) <= 1:
                cost[ord(word), ord(other)] = _NEIGHBOUR
            if word in _VOWELS and other in _VOWELS:
                cost[ord(word), ord(other)] = _SOUND
    for pair in _ALIKE.split():
        one, other = pair[0], pair[1]
        cost[ord(one), ord(other)] = cost[ord(other), ord(one)] = _SOUND
    np.fill_diagonal(cost, 0)
    return cost
