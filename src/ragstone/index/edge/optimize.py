"""Builds a shard's search structures in another process, while the shard goes on answering.

Edge holds Python's interpreter lock for as long as it builds, which would stop every thread of a
server. So a copy of the shard is optimized by a child process; what is written meanwhile is kept
in a journal, applied to the copy, and then the copy takes the shard's place.
"""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ragstone.core.disk import disk_bytes
from ragstone.core.errors import IndexUnavailable, StorageFull
from ragstone.core.records import Collection
from ragstone.index.edge.pool import OpenShard, ShardPool
from ragstone.index.edge.shard import (
    BUILDING,
    LOG,
    UNDELETED,
    copy_shard,
    count_optimized_points,
    flush_shard,
    next_generation,
    open_shard,
    optimize_shard,
)

log = logging.getLogger(__name__)

COPIES = 3
"""Free disk space for a copy, as a multiple of what is copied: the copy, the part that is made of
its own, and the lists of words and graphs of that, which a new shard does not have."""

NICE = 10
"""Searches go first."""


class Builder:
    """Optimizes one shard at a time; `stop` ends the one that is being built."""

    def __init__(self, pool: ShardPool) -> None:
        self._pool = pool
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def build(self, collection: Collection, held: OpenShard, erasing: bool = False) -> None:
        """Give the shard search structures for everything written before; if `erasing`, leave
        nothing of what was deleted in its files. Blocks for long.

        Raises StorageFull and IndexUnavailable, if `erasing`: searches go on without structures.
        """
        copied = disk_bytes(held.path) - disk_bytes(held.path / LOG)
        if shutil.disk_usage(held.path).free < COPIES * copied:
            if erasing:
                raise StorageFull(
                    f"The index of {collection.name} needs {COPIES * copied:,} free bytes to be "
                    "written anew without what was deleted. Make room and try again."
                )
            log.warning("The disk has no room to build search structures; searches are slower.")
            held.unoptimized = 0  # so that the next write does not ask again
            return
        target = next_generation(held.path)
        # Of this process: the child of one that was killed may still be writing to its own.
        building = target.with_name(f"{target.name}{BUILDING}-{os.getpid()}")
        try:
            self._copy(held, building)
            if self._optimize_in_child(building, collection, erasing):
                self._replace_shard(collection, held, building, target)
            elif erasing:
                raise IndexUnavailable(
                    f"The index of {collection.name} could not be written anew without what was "
                    "deleted; the log says why. Try again."
                )
        finally:
            held.journal = None
            shutil.rmtree(building, ignore_errors=True)

    def stop(self) -> None:
        """End the child process; the shard stays as it is."""
        self._stopped = True
        if self._child:
            self._child.terminate()

    def _copy(self, held: OpenShard, building: Path) -> None:
        with held.lock:
            flush_shard(held.path, held.shard)
            copy_shard(held.path, building, with_log=False)
            held.journal = []
            held.unoptimized = 0

    def _optimize_in_child(self, building: Path, collection: Collection, erasing: bool) -> bool:
        widths = (str(collection.dimensions), str(collection.late), str(int(erasing)))
        command = [sys.executable, "-P", "-m", __name__, str(building), *widths]
        self._child = subprocess.Popen(  # noqa: S603 - this module, without a shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, said = self._child.communicate()
        if self._child.returncode and not self._stopped:
            reason = said.decode(errors="replace").strip().rpartition("\n")[2]
            log.warning("Search structures were not built; searches are slower: %s", reason)
        return not self._child.returncode and not self._stopped

    def _replace_shard(
        self, collection: Collection, held: OpenShard, building: Path, target: Path
    ) -> None:
        with held.lock:
            shard = open_shard(building, collection.dimensions, collection.late)
            # Under the lock: nothing more is written to the old shard now.
            for operation in held.journal or ():
                shard.update(operation)
            shard.close()
            # What the journal deleted is in the new files again.
            if held.journal:
                (building / UNDELETED).unlink(missing_ok=True)
            building.rename(target)
            built = OpenShard(
                target,
                open_shard(target, collection.dimensions, collection.late),
                held.bm25,
                held.tokens,
                unoptimized=held.unoptimized,
                optimized=count_optimized_points(target),
                lock=held.lock,
            )
            self._pool.replace(collection, held, built)


def main(path: str, dimensions: str, late: str, erasing: str) -> None:
    """Optimize the shard at `path`, after everything else on this machine."""
    if sys.platform != "win32":
        os.nice(NICE)
    optimize_shard(Path(path), int(dimensions), int(late), bool(int(erasing)))


if __name__ == "__main__":
    main(*sys.argv[1:])
