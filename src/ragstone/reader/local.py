"""The bundled reader: `ports.PairReader` on the network in the package.

A long passage is read in windows of some sentences: it answers or supports as much as its best
window does. A long claim is read in pieces, and is supported no better than its worst piece.
"""

import asyncio
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragstone.language.late_interaction import Floats
from ragstone.ports import Pair, PairReading
from ragstone.reader.network import Network, Outputs
from ragstone.reader.pairs import (
    CLAIM_WINDOW,
    MAX_CHARACTERS,
    MAX_PIECES,
    MAX_QUESTION,
    PASSAGE,
    QUESTION_WINDOW,
    PairTokens,
    Placed,
    TokenRow,
    build_windows,
    claim_pieces,
    nearest_windows,
)

UNKNOWN = 3
"""The id of a character that the vocabulary lacks."""

MAX_UNKNOWN = 0.3
"""The share of unknown tokens from which a text is in a script that the reader does not know."""

MAX_SPAN = 40
"""Tokens of an answer at most."""

UNREADABLE = PairReading(not_said=1.0, readable=False)
NOTHING_SAID = PairReading(not_said=1.0)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a pair: of each piece of its text, those beside each window."""

    pieces: tuple[tuple[TokenRow, ...], ...]


class LocalReader:
    """`ports.PairReader`. Loads on first use; about 150 MB of memory, most of it the vocabulary."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._work = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._loading = asyncio.Lock()
        self._network: Network | None = None

    @classmethod
    def load(cls, folder: Path) -> "LocalReader":
        """Return one on the model in `folder`, loaded now. Raises ModelUnavailable."""
        reader = cls(folder)
        reader._network = Network.load(folder)
        return reader

    async def aclose(self) -> None:
        """Free the model's memory and its thread at once."""
        self._work.shutdown(wait=False, cancel_futures=True)
        self._network = None

    async def read(self, pairs: Sequence[Pair]) -> list[PairReading]:
        if not pairs:
            return []
        loop = asyncio.get_running_loop()
        async with self._loading:
            if self._network is None:
                self._network = await loop.run_in_executor(self._work, Network.load, self._folder)
        return await loop.run_in_executor(self._work, read, self._network, pairs)


def read(network: Network, pairs: Sequence[Pair]) -> list[PairReading]:
    """Return the readings of `pairs`, computed in this thread."""
    tokens = PairTokens(network.weights.tokenizer)
    cut: dict[str, Placed] = {}

    def place_tokens(text: str) -> Placed:
        if text not in cut:
            cut[text] = tokens.cut(text)
        return cut[text]

    planned = [
        _plan_rows(
            pair,
            tokens,
            place_tokens(pair.text),
            place_tokens(pair.title),
            place_tokens(pair.passage[:MAX_CHARACTERS]),
        )
        for pair in pairs
    ]
    every = [
        row for item in planned if isinstance(item, _Rows) for piece in item.pieces for row in piece
    ]
    outputs = iter(network.run(every))
    found = []
    for pair, item in zip(pairs, planned, strict=True):
        if isinstance(item, PairReading):
            found.append(item)
            continue
        read_pieces = [[(row, next(outputs)) for row in piece] for piece in item.pieces]
        found.append(
            _best_window(read_pieces[0]) if pair.question else _combine_pieces(read_pieces)
        )
    return found


def _plan_rows(
    pair: Pair, tokens: PairTokens, text: Placed, title: Placed, passage: Placed
) -> _Rows | PairReading:
    if not text or not passage:
        return PairReading() if pair.question else NOTHING_SAID
    if _is_unknown(pair.text, text) or _is_unknown(pair.passage, passage):
        return PairReading(readable=False) if pair.question else UNREADABLE
    if pair.question:
        cut: Sequence[Placed] = [text[-MAX_QUESTION:]]
        beside = QUESTION_WINDOW
    else:
        cut = claim_pieces(pair.text, text)
        beside = CLAIM_WINDOW
    if len(cut) > MAX_PIECES:
        return UNREADABLE
    shown = build_windows(pair.passage, passage, beside)
    return _Rows(
        tuple(
            tuple(
                tokens.row(piece, pair.question, title, window)
                for window in nearest_windows(shown, piece)
            )
            for piece in cut
        )
    )


def _is_unknown(text: str, tokens: Placed) -> bool:
    """Tell whether the reader does not know the script. Its vocabulary holds private characters,
    which mean something in one font only."""
    private = sum(unicodedata.category(sign) in ("Co", "Cn") for sign in text)
    unknown = sum(piece == UNKNOWN for piece, _, _ in tokens)
    return unknown > MAX_UNKNOWN * len(tokens) or private > MAX_UNKNOWN * len(text)


def _best_window(rows: Sequence[tuple[TokenRow, Outputs]]) -> PairReading:
    """Return the window that answers best."""
    row, best = max(rows, key=lambda item: float(item[1].pair[0]))
    return PairReading(answers=float(1 / (1 + np.exp(-best.pair[0]))), span=_span(row, best.tokens))


def _span(row: TokenRow, tokens: Floats) -> tuple[int, int] | None:
    """Return the likeliest place that begins no later than it ends."""
    at = [i for i, part in enumerate(row.parts) if part == PASSAGE]
    both = tokens[at, 0][:, None] + tokens[at, 1][None, :]
    size = len(at)
    allowed = np.triu(np.ones((size, size), bool)) & ~np.triu(np.ones((size, size), bool), MAX_SPAN)
    both = np.where(allowed, both, -np.inf)
    start, end = divmod(int(both.argmax()), size)
    return row.places[at[start]][0], row.places[at[end]][1]


def _combine_pieces(pieces: Sequence[Sequence[tuple[TokenRow, Outputs]]]) -> PairReading:
    """Support as the worst piece by its best window, contradict as any piece."""
    each = []
    for rows in pieces:
        likely = np.stack([_softmax(item.pair[1:]) for _, item in rows])
        supported = float(likely[:, 0].max())
        each.append((supported, min(float(likely[:, 1].max()), 1 - supported)))
    supported = min(item for item, _ in each)
    contradicted = min(max(item for _, item in each), 1 - supported)
    return PairReading(
        supported=supported,
        contradicted=contradicted,
        not_said=max(0.0, 1 - supported - contradicted),
    )


def _softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max())
    likely: Floats = raised / raised.sum()
    return likely
