"""The command that moves collections from one index to another."""

import time
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic import SecretStr

from ragstone.build import open_two_indexes
from ragstone.cli.show import ProgressView, duration, one_line, out, out_json
from ragstone.core.errors import ConfigError, UnknownCollection
from ragstone.core.records import Collection
from ragstone.ingest.migrate import Moved, migrate
from ragstone.settings import IndexSettings, Settings
from ragstone.settings.storage import EMBEDDED


@dataclass(frozen=True)
class Move:
    """What to move: the address and key of both indexes, and one collection or all."""

    source: tuple[str, str]
    target: tuple[str, str]
    collection: str | None = None


async def run(settings: Settings, move: Move, *, as_json: bool) -> int:
    """Move collections; raises ConfigError for addresses between which nothing can move."""
    source, target = (_settings(settings, *end) for end in (move.source, move.target))
    if settings.index.from_url:
        raise ConfigError(
            "Collections are on their way from INDEX__FROM_URL: start 'ragstone serve', which "
            "moves the rest, then take it away."
        )
    if source.url == target.url:
        raise ConfigError("Both addresses are the same: give --to another than --from.")
    ended: list[Moved] = []
    async with open_two_indexes(settings, source, target) as (catalog, here, there):
        await here.ready()
        await there.ready()
        for collection in _selected_collections(await catalog.collections(), move.collection):
            moved = Moved(collection, 0)
            with ProgressView(as_json) as view:
                started = time.monotonic()
                async with aclosing(migrate(here, there, collection)) as steps:
                    async for moved in steps:
                        line = _line(moved, time.monotonic() - started)
                        view.at(moved.total, moved.copied + moved.there, line, moved.finished)
            # A copy is no move: the next one to an earlier place begins anew.
            await catalog.put_collection(replace(moved.collection, place=""))
            ended.append(moved)
            if not as_json:
                out(_summary(moved))
    if as_json:
        out_json({"collections": [_dump(moved) for moved in ended]})
    elif ended:
        new = "the address of --to" if target.url else "nothing"
        out(f"Now set INDEX__URL to {new} and start Ragstone.")
    else:
        out("There is no collection to move.")
    return 0


def _settings(settings: Settings, url: str, key: str) -> IndexSettings:
    address = "" if url == EMBEDDED else url
    changed = {"url": address, "api_key": SecretStr(key)}
    return settings.index.model_copy(update=changed)


def _selected_collections(collections: list[Collection], name: str | None) -> list[Collection]:
    chosen = [c for c in collections if name in (None, c.name)]
    if name is not None and not chosen:
        raise UnknownCollection(name)
    return chosen


def _line(moved: Moved, seconds: float) -> str:
    done = moved.copied + moved.there
    rate = done / seconds if seconds > 0 else 0.0
    left = f", about {duration((moved.total - done) / rate)} left" if rate else ""
    name = one_line(moved.collection.name)
    return f"{name}: {done:,}/{moved.total:,} chunks, {rate:.0f} chunks/s{left}"


def _summary(moved: Moved) -> str:
    removed = f", {moved.removed:,} removed" if moved.removed else ""
    return (
        f"{one_line(moved.collection.name)}: {moved.copied:,} chunks copied, "
        f"{moved.there:,} were there already{removed}"
    )


def _dump(moved: Moved) -> dict[str, object]:
    collection = moved.collection
    counts = {"copied": moved.copied, "there": moved.there, "removed": moved.removed}
    return {"tenant": collection.tenant, "collection": collection.name, **counts}
