"""Waiting for files to change, for `ragstone ingest --watch`."""

import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from watchfiles import Change, DefaultFilter, awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

from ragstone.core.errors import InputError
from ragstone.ingest.files import is_text

MAX_PLACES = 100
"""Places that are looked at one by one; of more, the folders that hold them."""

LOOK_MS = 1_000
"""How often it is looked whether anything changed."""

POLL_MS = 10_000
"""How often the folders are looked through where the system cannot tell what changes."""

log = logging.getLogger(__name__)


async def changes(paths: Sequence[str], data: Path) -> AsyncGenerator[frozenset[str], None]:
    """Yield what changed below `paths` in every burst of changes, those in `data` left out.

    The first time is when changes begin to be noticed, and may be of none. Raises InputError.
    """
    roots = [Path(path) for path in paths]
    missing = [root for root in roots if not root.exists()]
    if missing:
        raise InputError(f"There is nothing at {missing[0]} to watch.")
    lost: frozenset[str] = frozenset()
    polling = False
    while True:
        try:
            async with aclosing(_bursts(roots, data, polling)) as bursts:
                async for burst in bursts:
                    yield burst | lost
                    lost = frozenset()
        except _Unreadable as error:
            if not polling:
                log.warning(
                    "The folders are looked through every %d s: the system cannot tell what "
                    "changes beside a name that is not valid text. Rename it and start again. (%s)",
                    POLL_MS // 1_000,
                    error,
                )
            # Nobody knows what else there was to tell.
            lost, polling = frozenset(map(str, roots)), True


class _Unreadable(Exception):
    """A notice was of a name that is not text, and ended the watch."""


async def _bursts(
    roots: Sequence[Path], data: Path, polling: bool
) -> AsyncGenerator[frozenset[str], None]:
    # Editors replace a file by another, which ends a watch on the file itself.
    only_files = not any(root.is_dir() for root in roots)
    places = {root.parent for root in roots} if only_files else set(roots)
    watcher = awatch(
        *places,
        watch_filter=_Below(roots, data),
        recursive=not only_files,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        force_polling=polling or None,
        poll_delay_ms=POLL_MS,
    )
    watching = False
    try:
        async with aclosing(cast(Any, watcher)) as bursts:
            async for burst in bursts:
                if burst or not watching:
                    watching = True
                    yield frozenset(path for _, path in burst)
    except (OSError, WatchfilesRustInternalError, ExceptionGroup) as error:
        known = _first_error(error)
        if "Unable to decode" in str(known):
            raise _Unreadable(str(known)) from error
        if not isinstance(known, OSError | WatchfilesRustInternalError):
            raise
        raise InputError(
            f"The folders cannot be watched ({known}). If there are too many, raise the limit with "
            "'sysctl fs.inotify.max_user_watches=1000000', or run 'ragstone ingest' now and then."
        ) from error


def _first_error(error: Exception) -> Exception:
    """The error itself, or the first of a group."""
    return _first_error(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def enclosing_places(changed: Collection[str], most: int = MAX_PLACES) -> tuple[str, ...]:
    """At most so many places that hold all of these. What has a name that is not text is looked at
    with its folder."""
    places = {_nearest_place(Path(path)) for path in changed}
    while len(places) > most:
        deepest = max(len(place.parts) for place in places)
        places = {place.parent if len(place.parts) == deepest else place for place in places}
    inside = {place for place in places if not places.isdisjoint(place.parents)}
    return tuple(sorted(map(str, places - inside)))


def _nearest_place(place: Path) -> Path:
    """The place, or the nearest folder above it of which a request can tell."""
    return next(item for item in (place, *place.parents) if is_text(item))


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
