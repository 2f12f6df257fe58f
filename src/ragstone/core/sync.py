"""Sources that are kept in sync with a collection: what is stored of them, of their items, and of
their runs. A `source.Source`, which an answer cites, is another thing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

RunState = Literal["running", "done", "failed", "stopped"]

MAX_REASONS = 100
"""Failures that a run tells of one by one."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One item of a source.

    Without `readers` it has those of the source; one that is `closed` nobody may read, so that it
    is left out, and its document is removed at once. What differs in `title`, `url` or `metadata`
    counts when the version does.
    """

    key: str
    """Its name in the source, which it keeps when it is moved."""
    version: str
    """Any text that is another one when the content is."""
    path: str
    """Its place below the source's folder, such as `reports/2024.pdf`; the ending says what it
    is."""
    readers: tuple[str, ...] = ()
    title: str = ""
    url: str = ""
    """Where people read it."""
    modified: float = 0.0
    """Seconds since 1970, 0 if unknown."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    closed: bool = False


@dataclass(frozen=True, slots=True)
class SourceOption:
    """An option of a kind of source. With `choices` it has one of these values; a `secret` is given
    by the name of its environment variable."""

    name: str
    help: str
    required: bool
    default: str = ""
    secret: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredSource:
    """A source as it is stored. `collection` is the collection's id, `options` are as they were
    given: a secret is there by the name of its environment variable. Times are seconds since
    1970."""

    id: str
    tenant: str
    name: str
    kind: str
    collection: str
    options: Mapping[str, str]
    readers: tuple[str, ...]
    """Of items that the source says nothing of; none for those of folder and collection."""
    every: float | None
    """Seconds between two runs. Without this and `cron` it is synced only when somebody says so."""
    created_at: float
    cron: str | None = None
    """At which times it is synced, by the clock of the server's time zone."""
    next_at: float | None = None
    failures: int = 0
    """Runs that failed since the last one that did not."""
    checkpoint: str = ""
    folder: str = ""
    """Of a source that is read as a folder of this machine: where that is."""


@dataclass(frozen=True, slots=True)
class ItemState:
    """What was last read of an item. `path` is its document's, `error` why its content could not
    be indexed."""

    key: str
    version: str
    path: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class FailedItem:
    """An item or file that could not be indexed, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceRun:
    """One run of a source. Its id is that of its job.

    `added`, `changed`, `removed` and `unchanged` count documents, `rights` those that only their
    readers changed of. `held` would have been removed, but so many at once look like a listing that
    is not whole. A `dry` run has only counted. `failures` are the first of those that `failed`,
    `error` is why the whole run failed, `notes` are sentences for whoever keeps the source.
    """

    id: str
    source: str
    started_at: float
    state: RunState = "running"
    ended_at: float | None = None
    dry: bool = False
    added: int = 0
    changed: int = 0
    rights: int = 0
    removed: int = 0
    held: int = 0
    unchanged: int = 0
    failed: int = 0
    error: str = ""
    failures: Sequence[FailedItem] = ()
    notes: Sequence[str] = ()
