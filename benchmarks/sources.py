"""Syncs of a source of each kind, relative to the same of a folder of this machine, in one run: the
first one, one where nothing has changed, and one where a hundredth has.

Texts are small, servers are on this machine (rclone's, Samba, Dovecot, MediaWiki on SQLite; see
`make servers` and `nox -s wikis`), and the embedder costs nothing, so what is measured is the sync.
`BENCH_FILES` says how many texts, `BENCH_KINDS` which kinds.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from benchmarks.row import Row
from ragstone.core.sync import SourceRun
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE
from tests.ingest.sources.places import open_place
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

FILES = int(os.environ.get("BENCH_FILES", "2000"))
ALL = "webdav s3 sftp smb sql imap mediawiki"
KINDS = ("folder", *os.environ.get("BENCH_KINDS", ALL).split())
REMEMBERED = 1.0
"""Seconds for which a server of rclone does not look at its disk; it would do so for each file."""

SYNCS = ("The first sync", "A sync without a change", "A sync after 1 % has changed")


def run() -> list[Row]:
    os.environ[VARIABLE] = PASSWORD
    seconds = {kind: asyncio.run(measure(kind)) for kind in KINDS}
    rows = [
        Row(f"{what} of {FILES:,} files, folder", FILES / took, "files/s")
        for what, took in zip(SYNCS, seconds["folder"], strict=True)
    ]
    for kind in KINDS[1:]:
        for what, took, local in zip(SYNCS, seconds[kind], seconds["folder"], strict=True):
            rows.append(Row(f"{what}, {kind} relative to a folder", took / local, "x"))
    return rows


async def measure(kind: str) -> list[float]:
    """Return the seconds of each sync."""
    with (
        tempfile.TemporaryDirectory(prefix="ragstone-sources-") as folder,
        open_place(kind, remembers=f"{REMEMBERED:.0f}s") as place,
    ):
        place.put({number: f"This is the text of file {number}." for number in range(FILES)})
        async with opened_collection(Path(folder), kind=kind, options=place.options) as synced:
            first, run = await time_sync(synced)
            assert run.added == FILES, run
            same, run = await time_sync(synced)
            assert run.added + run.changed + run.removed == 0, run
            some = range(0, FILES, 100)
            place.put({number: f"This is another text of file {number}." for number in some})
            await asyncio.sleep(2 * REMEMBERED)
            changed, run = await time_sync(synced)
            # What is changed in a mailbox is another message.
            assert run.changed + run.added == len(some), run
            return [first, same, changed]


async def time_sync(synced: SyncedCollection) -> tuple[float, SourceRun]:
    """Return the seconds of a sync, and what it did."""
    begun = time.perf_counter()
    run = await synced.sync()
    assert run.state == "done", run.error
    return time.perf_counter() - begun, run
