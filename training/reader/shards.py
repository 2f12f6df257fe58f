"""The shards that `build.py` wrote, in batches to train on; needs numpy alone."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FIRST_HARVESTED = 1000
"""The number of the first shard of labelled sets (`harvested.py`)."""

SEED = 1


class Rows:
    """The rows of some shards. Of those of our own only a share `own` is drawn in a round."""

    def __init__(self, *files: Path, longest: int = 512, own: float = 1.0) -> None:
        arrays: dict[str, list[np.ndarray]] = defaultdict(list)
        self.kinds: list[str] = []
        for file in files:
            with np.load(file) as held:
                for name in ("ids", "parts", "right", "labels"):
                    arrays[name].append(held[name])
                sizes = np.diff(held["starts"])
                self.kinds += held["names"][held["kinds"]].tolist()
            arrays["sizes"].append(sizes)
            number = file.stem.partition("-")[2]
            is_own = number.isdigit() and int(number) < FIRST_HARVESTED
            arrays["shares"].append(np.full(len(sizes), own if is_own else 1.0))
        joined = {name: np.concatenate(several) for name, several in arrays.items()}
        self.ids, self.parts, self.right = joined["ids"], joined["parts"], joined["right"]
        self.labels, self.sizes, self._shares = joined["labels"], joined["sizes"], joined["shares"]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self._kept = np.flatnonzero(self.sizes <= longest)

    def batch(self, chosen: np.ndarray) -> tuple[np.ndarray, ...]:
        sizes = self.sizes[chosen]
        width = -int(-sizes.max() // 8) * 8  # Attention on a GPU wants eights.
        inside = np.arange(width) < sizes[:, None]
        places = (self.starts[chosen][:, None] + np.arange(width))[inside]
        ids = np.zeros((len(chosen), width), np.int64)
        parts = np.full((len(chosen), width), -1, np.int64)
        right = np.full((len(chosen), width), -1, np.int64)
        ids[inside], parts[inside] = self.ids[places], self.parts[places]
        right[inside] = self.right[places]
        return ids, parts, right, self.labels[chosen]

    def batches(
        self, chance: np.random.Generator | None, tokens: int, every: int = 1
    ) -> list[np.ndarray]:
        """Rows of about the same length together; in random order where `chance` is given."""
        kept = self._kept
        if chance is None:
            order = kept[::every]
        else:
            order = chance.permutation(kept[chance.random(len(kept)) < self._shares[kept]])
        found = []
        for some in np.array_split(order, max(1, len(order) // 4000)):
            some = some[np.argsort(self.sizes[some], kind="stable")]
            now: list[int] = []
            for row in some:
                if now and self.sizes[row] * (len(now) + 1) > tokens:
                    found.append(np.array(now))
                    now = []
                now.append(int(row))
            found.append(np.array(now))
        if chance is not None:
            chance.shuffle(found)
        return found


def read_checks(folder: Path) -> list[Rows]:
    """Read the files of rows to check with: those of labelled sets need not be there."""
    files = [folder / "check.npz", folder / "check-harvest.npz"]
    return [Rows(file) for file in files if file.exists()]


def read_batches(
    folder: Path,
    longest: int,
    tokens: int,
    rank: int = 0,
    processes: int = 1,
    own: float | None = None,
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the batches of one process without end; all processes draw the same order.

    Args:
        folder: Where the shards are; those that are added later are read too.
        longest: Tokens of the longest row that is read.
        tokens: Tokens of a batch, padding included.
        rank: Which of the `processes` takes these batches: they take them in turn.
        processes: How many there are.
        own: The share of rows of our own shards that is read with all of the labelled sets, mixed.
            Without it shard follows shard, the one first that was read least often.
    """
    chance = np.random.default_rng(SEED)
    times_read: Counter[Path] = Counter()
    while True:
        files = sorted(folder.glob("train-*[0-9].npz"))
        if own is None:
            chance.shuffle(files)
            files = [min(files, key=times_read.__getitem__)]
        times_read.update(files)
        rows = Rows(*files, longest=longest, own=1.0 if own is None else own)
        order = rows.batches(chance, tokens)
        # Every process gets as many, as they wait for each other at every batch.
        for chosen in order[rank : len(order) - len(order) % processes : processes]:
            yield rows.batch(chosen)
