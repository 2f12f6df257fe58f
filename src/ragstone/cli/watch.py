"""Waiting for files to change, for `ragstone ingest --watch`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from watchfiles import Change, DefaultFilter, awatch

from ragstone.core.errors import InputError


async def changes(paths: Sequence[str], data: Path) -> AsyncGenerator[None, None]:
    """Yield once for every burst of changes below `paths`, those in `data` left out."""
    roots = [Path(path) for path in paths]
    missing = [root for root in roots if not root.exists()]
    if missing:
        raise InputError(f"There is nothing at {missing[0]} to watch.")
    # Editors replace a file by another, which ends a watch on the file itself.
    only_files = not any(root.is_dir() for root in roots)
    places = {root.parent for root in roots} if only_files else set(roots)
    watcher = awatch(*places, watch_filter=_Below(roots, data), recursive=not only_files)
    async with aclosing(cast(Any, watcher)) as bursts:
        async for _ in bursts:
            yield


class _Below(DefaultFilter):
    """Changes below the given paths; not those of editors' and tools' own files."""

    def __init__(self, roots: Sequence[Path], data: Path) -> None:
        super().__init__()
        self._roots = roots
        self._data = data

    def __call__(self, change: Change, path: str) -> bool:
        place = Path(path)
        inside = any(place.is_relative_to(root) for root in self._roots)
        ours = place.is_relative_to(self._data)
        return inside and not ours and super().__call__(change, path)
