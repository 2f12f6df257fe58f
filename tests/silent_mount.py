"""A mount that does not answer: a FUSE file system that nobody serves. It takes root."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_LAZY = 2


@contextmanager
def silent_mount(folder: Path) -> Iterator[None]:
    """Until the end, whoever looks into the folder waits."""
    system = ctypes.CDLL(None, use_errno=True)
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"a mount that does not answer cannot be made: {error}")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if system.mount(b"silent", os.fsencode(folder), b"fuse", 0, options):
        os.close(device)
        pytest.skip(f"a folder cannot be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        system.umount2(os.fsencode(folder), _LAZY)
        os.close(device)  # Whoever waits has an error now.
