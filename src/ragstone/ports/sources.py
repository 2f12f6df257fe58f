"""Kinds of sources that are kept in sync, and where sources are stored."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict

from ragstone.core.sync import ItemState, SourceItem, SourceRun, StoredSource


@runtime_checkable
class ItemSource(Protocol):
    """A source whose items are fetched one by one.

    Methods raise SourceUnavailable, which ends the run: nothing is removed after a listing that
    was cut off.
    """

    async def check(self) -> None:
        """Raise SourceUnavailable unless the source answers."""
        ...

    def list_items(self, checkpoint: str) -> AsyncIterator[SourceItem]:
        """Return every item; with a checkpoint only those that were added or changed since."""
        ...

    def list_keys(self) -> AsyncIterator[str]:
        """Return the keys of all items. Asked for after a listing since a checkpoint: what is
        missing is gone."""
        ...

    def get_checkpoint(self) -> str:
        """Return what the next run lists changes since, once `list_items` has ended; empty for a
        source that can only list everything."""
        ...

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        """Write the content of an item. Raises DocumentError for one that cannot be had: the next
        run tries it again."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


@runtime_checkable
class PartialSource(ItemSource, Protocol):
    """An ItemSource whose listing may name less than it has."""

    def explain_gap(self) -> str:
        """Tell why the listing that has ended is not whole, in a sentence for whoever keeps the
        source; empty if it is. What a listing with a gap does not name stays."""
        ...


@runtime_checkable
class FolderSource(Protocol):
    """A source that is a folder of this machine: files are read where they are, with the sidecars
    and readers beside them, as `ragstone ingest` does."""

    async def check(self) -> None:
        """Raise SourceUnavailable unless the source answers."""
        ...

    async def update(self) -> Path:
        """Bring the folder up to date; where it is. Raises SourceUnavailable."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class SourceOptions(BaseModel):
    """The base of a kind's options: texts by name, where an unknown name is an error. A field of
    the type SecretStr is given as `env:NAME`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Options = TypeVar("Options", bound=SourceOptions)


@dataclass(frozen=True, slots=True)
class SourceParts(Generic[Options]):
    """What a source is made of. `folder` is a folder of its own, made when it is needed, for what
    it keeps from run to run; that may be gone at any time."""

    name: str
    options: Options
    folder: Path


@dataclass(frozen=True, slots=True)
class SourceKind(Generic[Options]):
    """A kind of source. `of_server` says that its options may name what is on the server, or what
    only that reaches, so that only the server's operator may add one."""

    help: str
    options: type[Options]
    open: Callable[[SourceParts[Options]], ItemSource | FolderSource]
    of_server: bool = False


class SourceStore(Protocol):
    """Keeps sources, what is known of their items, and their runs. Methods raise StorageFull and
    StateUnavailable."""

    async def add(self, source: StoredSource) -> bool:
        """Keep a new source; whether its name was free in its tenant."""
        ...

    async def list_all(self, tenant: str | None = None) -> Sequence[StoredSource]:
        """List sources by name; of one tenant if it is given."""
        ...

    async def get(self, id: str) -> StoredSource | None: ...
    async def find(self, tenant: str, name: str) -> StoredSource | None: ...

    async def list_due(self, now: float) -> Sequence[StoredSource]:
        """Return those whose next run is due."""
        ...

    async def change(self, id: str, **values: object) -> None:
        """Give columns of a source other values; nothing if it is gone."""
        ...

    async def remove(self, id: str) -> None:
        """Forget a source with its items and runs."""
        ...

    async def items(self, source: str, keys: Collection[str]) -> Mapping[str, ItemState]:
        """Return what is known of these items, by key."""
        ...

    async def list_items(self, source: str, after: str, limit: int) -> Sequence[ItemState]:
        """Return the items behind a key, by key."""
        ...

    async def keys_at(self, source: str, paths: Collection[str]) -> Mapping[str, set[str]]:
        """Return the keys of the items that have these paths, by path."""
        ...

    async def put_items(self, source: str, items: Sequence[ItemState]) -> None:
        """Keep what is known of items, unless the source is gone."""
        ...

    async def remove_items(self, source: str, keys: Collection[str]) -> None: ...

    async def begin_run(self, run: SourceRun) -> SourceRun:
        """Keep a run that begins, unless it has begun already; the run as it is kept."""
        ...

    async def put_run(self, run: SourceRun) -> None:
        """Keep a run, instead of the one of its id, unless the source is gone. The oldest of more
        than a hundred go."""
        ...

    async def runs(self, source: str, limit: int) -> Sequence[SourceRun]:
        """Return the newest first."""
        ...
