"""Copies of a shard without its holes."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ragstone.core.disk import free_floor
from ragstone.core.errors import StorageFull

ZEROS = bytes(4096)
"""What is left out of a copy: a block of most file systems. With larger ones the indexes of fields
of a small shard take three times the space."""

READ_BYTES = 256 * len(ZEROS)


LOG = "wal"
"""The directory of a shard's log of writes."""


def copy_shard(source: Path, target: Path, with_log: bool = True) -> None:
    """Copy a shard's directory over what is at `target`. The log is not needed where the shard was
    flushed and takes no writes until the copy has another one."""
    shutil.rmtree(target, ignore_errors=True)
    left_out = None if with_log else shutil.ignore_patterns(LOG)
    shutil.copytree(source, target, ignore=left_out, copy_function=_copy_sparse)


def copy_elsewhere(source: Path) -> Path:
    """A copy of a shard's directory on another disk, or in memory. Raises StorageFull."""
    for place in dict.fromkeys((tempfile.gettempdir(), "/dev/shm")):  # noqa: S108
        size = disk_bytes(source) + free_floor(source)
        if os.path.isdir(place) and shutil.disk_usage(place).free >= size:
            folder = Path(tempfile.mkdtemp(prefix="ragstone-", dir=place))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            copy_shard(source, folder)
            return folder
    raise StorageFull(
        f"The disk of {source} is full, and no other one has {size:,} bytes for a copy to read. "
        "Free some space."
    )


def disk_bytes(path: Path) -> int:
    """What a directory takes on the disk, where Edge's files are mostly holes."""
    found = [file.stat() for file in path.rglob("*") if file.is_file()]
    if sys.platform == "win32":
        return sum(item.st_size for item in found)
    return sum(item.st_blocks * 512 for item in found)


def _copy_sparse(source: str, target: str) -> None:
    """Copy a file without its zeros: Edge sets aside 270 MB for a shard of 2,000 chunks, and
    writers wait while it is copied."""
    with Path(source).open("rb") as old, Path(target).open("wb", buffering=READ_BYTES) as new:
        while read := old.read(READ_BYTES):
            for start in range(0, len(read), len(ZEROS)):
                block = read[start : start + len(ZEROS)]
                if ZEROS.startswith(block):
                    new.seek(len(block), os.SEEK_CUR)
                else:
                    new.write(block)
        new.truncate(old.tell())
