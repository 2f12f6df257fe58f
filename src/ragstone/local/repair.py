"""Finds damaged files of a data directory before anything opens them, and mends what can be.

What is damaged is set aside in `damaged/`, never deleted, unless it is only a copy of something.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ragstone.backup.chain import Chain
from ragstone.core.disk import disk_errors, free_floor, need_room
from ragstone.core.errors import StateUnavailable
from ragstone.core.records import Collection
from ragstone.index.edge import examine
from ragstone.index.edge.examine import Shard
from ragstone.index.edge.shard import list_shards, next_generation, shard_path
from ragstone.ingest.uploads import RESTORED, Originals
from ragstone.settings import Settings
from ragstone.store.lock import lock_directory
from ragstone.store.sql import salvage
from ragstone.store.sql.migrations import REVISIONS

STATE, CACHE, INDEX, ASIDE = "state.sqlite", "cache.sqlite", "index", "damaged"
TOKENS = "-tokens.sqlite"
ENDED = "('done', 'failed', 'cancelled')"

Mending = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged file or folder: a sentence that says what is wrong, one that says what will be
    done, and what does it and says how it went; None where only a person can. It may raise
    StateUnavailable, and nothing has changed."""

    what: str
    remedy: str
    mend: Mending | None = None


def find_damage(settings: Settings) -> list[Damage]:
    """Return what is damaged in the data directory; blocks, for as long as reading all of it takes.

    Raises DataDirectoryInUse.
    """
    data = settings.ragstone_data.expanduser().absolute()
    if not data.is_dir():
        return []
    with lock_directory(data), disk_errors(data):
        found = [*_cache(data), *_uploads(data)]
        if not settings.state.url:
            found += _state(data)
        if not settings.index.url:
            state = not settings.state.url
            found += [*_shards(data, state), *_tokens(data, state)]
    return found


def make_way(settings: Settings, backup: Path, earlier: Sequence[Path] = ()) -> list[str]:
    """Set aside what is so damaged that it would keep `backup` from being restored; a sentence for
    each. Raises InputError, and nothing has changed, if `backup` or one that it continues is none
    or is damaged; DataDirectoryInUse."""
    data = settings.ragstone_data.expanduser().absolute()
    with closing(Chain(backup, earlier)) as chain:
        for _ in chain.check():
            pass
    if not data.is_dir():
        return []
    aside = _Aside(data)
    with lock_directory(data), disk_errors(data):
        done = [found.mend() for found in _cache(data) if found.mend]
        if not settings.state.url and list(_state(data)):
            done.append(aside.move(*salvage.with_its_own(data / STATE)))
            if not settings.index.url:
                done.append(aside.move(data / INDEX))
        elif not settings.index.url:
            for shard in _list_shards(data, state=not settings.state.url):
                if not examine.can_open(shard):
                    done.append(aside.move(shard.path))
            done += [found.mend() for found in _tokens(data, state=False) if found.mend]
    return [sentence for sentence in done if sentence]


def is_state_lost(settings: Settings) -> bool:
    """Tell whether the state's file is gone while there is an index that belongs to it."""
    data = settings.ragstone_data.expanduser().absolute()
    if settings.state.url or settings.index.url:
        return False
    file = data / STATE
    return not (file.exists() and file.stat().st_size) and bool(list_shards(data / INDEX))


class _Aside:
    """The folder for what is damaged now."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._folder = data / ASIDE / time.strftime("%Y%m%d-%H%M%S")

    def move(self, *paths: Path) -> str:
        """Move files and folders of the data directory there; a sentence that says so."""
        need_room(self._data, free_floor(self._data))  # For the folders, and what follows the move.
        for path in paths:
            if path.exists():
                target = self._folder / path.relative_to(self._data)
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.rename(target)
        return f"{paths[0].relative_to(self._data)} is now in {self._folder}." if paths else ""


def _cache(data: Path) -> Iterator[Damage]:
    if flaws := salvage.flaws(data / CACHE):
        yield Damage(
            f"The cache of answers is damaged ({flaws[0]}).",
            "It is deleted; answers are made again.",
            lambda: _delete_file(data / CACHE),
        )


def _uploads(data: Path) -> Iterator[Damage]:
    if (data / RESTORED).exists():
        yield Damage(
            "A restore that was interrupted left uploads of its backup.",
            "They are deleted; restore the backup again if you want what it holds.",
            lambda: _drop_uploads(data),
        )


def _drop_uploads(data: Path) -> str:
    Originals(data).drop_restored()
    return f"{RESTORED} is deleted."


def _state(data: Path) -> Iterator[Damage]:
    file = data / STATE
    whole = "To have everything back, restore a backup: ragstone restore FILE."
    if not file.exists() or not file.stat().st_size:
        if list_shards(data / INDEX):
            word = "empty" if file.exists() else "gone"
            yield Damage(f"The state ({file}) is {word}, but there is an index.", whole)
        return
    schema = salvage.read_schema(file)
    if schema is not None and schema not in REVISIONS:
        yield Damage(f"The state was written by a newer Ragstone ({schema}).", "Update Ragstone.")
    elif flaws := salvage.flaws(file) or _schema_flaws(file, schema):
        yield Damage(
            f"The state is damaged ({flaws[0]}).",
            f"The rows that can be read are kept, and it is set aside. {whole}",
            lambda: _save_state(data),
        )


def _schema_flaws(file: Path, schema: str | None) -> list[str]:
    if schema is None:
        return ["its schema cannot be read"]
    return (
        [f"it has no {column}" for column in salvage.find_lost_columns(file)]
        if schema == REVISIONS[-1]
        else []
    )


def _save_state(data: Path) -> str:
    file = data / STATE
    saved = file.with_name(f"saved-{STATE}")
    rows = salvage.save_rows(file, saved)
    if not rows:
        raise StateUnavailable(
            "Nothing of the state can be read. Restore a backup: ragstone restore FILE."
        )
    said = _Aside(data).move(*salvage.with_its_own(file))
    saved.replace(file)
    return f"{rows:,} rows of the state are kept. {said}"


def _list_shards(data: Path, state: bool) -> list[Shard]:
    """Return the shards that there are, with what a readable state knows of them."""
    root = data / INDEX
    known = {}
    for tenant, id, build, dimensions, language, late in (
        salvage.read_collections(data / STATE) if state else ()
    ):
        one = Collection(tenant, id, "", "", dimensions, build=build, id=id)
        known[shard_path(root, one)] = dimensions, language, late
    return [
        Shard(path, *known.get(path.with_name(path.name.partition(".")[0]), (0, None, 0)))
        for path in list_shards(root)
    ]


def _shards(data: Path, state: bool) -> Iterator[Damage]:
    known = state and salvage.read_collections(data / STATE) and not _has_work(data)
    for shard in _list_shards(data, state):
        name = shard.path.relative_to(data)
        if known and not shard.dimensions:
            yield Damage(
                f"{name} belongs to no collection: something was cut off.",
                "It is set aside.",
                lambda shard=shard: _Aside(data).move(shard.path),  # type: ignore[misc]
            )
        elif flaws := examine.find_flaws(shard):
            yield Damage(
                f"{name} is damaged: {'; '.join(flaws)}.",
                "What can be read of it is written anew, and it is set aside.",
                lambda shard=shard: _save_shard(data, shard),  # type: ignore[misc]
            )


def _has_work(data: Path) -> bool:
    """Tell whether jobs wait or run: a rebuild that was cut off goes on in a folder of its own."""
    try:
        with closing(sqlite3.connect(data / STATE)) as connection:
            query = f"SELECT count(*) FROM jobs WHERE state NOT IN {ENDED}"  # noqa: S608
            return bool(connection.execute(query).fetchone()[0])
    except sqlite3.Error:
        return True


def _save_shard(data: Path, shard: Shard) -> str:
    saved = examine.save(shard, next_generation(shard.path))
    said = _Aside(data).move(shard.path)
    if saved is None:
        return f"Nothing of it can be read. {said}"
    return f"{saved.chunks:,} chunks were read, {saved.vectors:,} of them with vectors. {said}"


def _tokens(data: Path, state: bool) -> Iterator[Damage]:
    searched = {
        shard.path.with_name(f"{shard.path.name.partition('.')[0]}{TOKENS}")
        for shard in _list_shards(data, state)
        if shard.late
    }
    for file in sorted((data / INDEX).glob(f"*/*/*{TOKENS}")):
        if flaws := salvage.flaws(file):
            again = "Late interaction finds nothing until 'ragstone rebuild' has made it again."
            yield Damage(
                f"{file.relative_to(data)} is damaged ({flaws[0]}).",
                "It is deleted; what it held is computed when it is needed."
                f"{f' {again}' if file in searched else ''}",
                lambda file=file: _delete_file(file),  # type: ignore[misc]
            )


def _delete_file(file: Path) -> str:
    for item in salvage.with_its_own(file):
        item.unlink()
    return f"{file.name} is deleted."
