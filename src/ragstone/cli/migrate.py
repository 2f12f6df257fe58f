"""Moves collections from one index to another, and the state from one store to another."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic import SecretStr
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from ragstone.build import move_state, open_two_indexes
from ragstone.cli.printing import duration, one_line, out_json, print_text
from ragstone.cli.show import ProgressView
from ragstone.core.errors import ConfigError, UnknownCollection
from ragstone.core.records import Collection
from ragstone.core.wording import format_count
from ragstone.ingest.migrate import Moved, migrate_all
from ragstone.settings import IndexSettings, Settings, StateSettings
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
    at: dict[tuple[str, str], Moved] = {}
    async with open_two_indexes(settings, source, target) as (catalog, here, there):
        await here.ready()
        await there.ready()
        chosen = _select_collections(await catalog.collections(), move.collection)
        started = time.monotonic()
        with ProgressView(as_json) as view:
            async with aclosing(migrate_all(here, there, chosen)) as steps:
                async for step in steps:
                    at[_key(step.collection)] = step
                    _show(view, list(at.values()), time.monotonic() - started)
                    if step.finished:
                        # A copy is not a move: the next one to an earlier place begins anew.
                        await catalog.put_collection(replace(step.collection, place=""))
        ended = [at[_key(collection)] for collection in chosen]
        if not as_json:
            for moved in ended:
                print_text(_summary(moved))
    if as_json:
        out_json({"collections": [_dump(moved) for moved in ended]})
    elif ended:
        new = "the address of --to" if target.url else "nothing"
        print_text(f"Now set INDEX__URL to {new} and start Ragstone.")
    else:
        print_text("There is no collection to move.")
    return 0


def _key(collection: Collection) -> tuple[str, str]:
    """The same wherever it is."""
    return collection.tenant, collection.id


def _settings(settings: Settings, url: str, key: str) -> IndexSettings:
    address = "" if url == EMBEDDED else url
    changed = {"url": address, "api_key": SecretStr(key)}
    return settings.index.model_copy(update=changed)


def _select_collections(collections: list[Collection], name: str | None) -> list[Collection]:
    chosen = [c for c in collections if name in (None, c.name)]
    if name is not None and not chosen:
        raise UnknownCollection(name)
    return chosen


def _show(view: ProgressView, begun: Sequence[Moved], seconds: float) -> None:
    """Show how far those are that have begun."""
    done = sum(item.copied + item.there for item in begun)
    total = sum(item.total for item in begun)
    rate = done / seconds if seconds > 0 else 0.0
    left = f", about {duration((total - done) / rate)} left" if rate else ""
    names = ", ".join(one_line(item.collection.name) for item in begun if not item.finished)
    line = f"{names}: {done:,}/{total:,} chunks, {rate:.0f} chunks/s{left}"
    view.update(total, done, line, all(item.finished for item in begun))


def _summary(moved: Moved) -> str:
    removed = f", {moved.removed:,} removed" if moved.removed else ""
    return (
        f"{one_line(moved.collection.name)}: {format_count(moved.copied, 'chunk')} copied, "
        f"{moved.there:,} were there already{removed}"
    )


def _dump(moved: Moved) -> dict[str, object]:
    collection = moved.collection
    counts = {"copied": moved.copied, "there": moved.there, "removed": moved.removed}
    return {"tenant": collection.tenant, "collection": collection.name, **counts}


End = tuple[str, str]


async def run_state(settings: Settings, source: End, target: End, *, as_json: bool) -> int:
    """Move the state between two addresses with their passwords.

    Raises ConfigError for addresses between which nothing can move, Conflict if the target holds
    a state already or a server runs.
    """
    if _address(source[0]) == _address(target[0]):
        raise ConfigError("Both addresses are the same: give --to another than --from.")
    here, there = (_state_settings(settings, *end) for end in (source, target))
    counts = await move_state(settings, here, there)
    if as_json:
        out_json({"rows": dict(counts)})
        return 0
    moved = [f"{rows:,} {table.replace('_', ' ')}" for table, rows in counts.items() if rows]
    print_text(f"Moved: {', '.join(moved) or 'nothing, the state is empty'}.")
    new = "the address of --to" if there.url else "nothing"
    print_text(f"Now set STATE__URL to {new} and start Ragstone.")
    return 0


def _address(url: str) -> str:
    return "" if url == EMBEDDED else url


def _state_settings(settings: Settings, url: str, password: str) -> StateSettings:
    address = _address(url)
    if address and password:
        try:
            address = make_url(address).set(password=password).render_as_string(False)
        except (ArgumentError, ValueError) as error:
            raise ConfigError(
                "Not a valid address of a database: write it like postgresql://user@host:5432/name."
            ) from error
    return settings.state.model_copy(update={"url": address})
