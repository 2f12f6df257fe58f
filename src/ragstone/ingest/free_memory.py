"""What glibc is told about memory; elsewhere nothing happens.

A file leaves holes of many megabytes, which the next one does not fill: without this, a server that
had read 140 hostile files held a quarter more than after the first seven.
"""

import ctypes
import sys
from contextlib import suppress

ARENAS = 2
M_ARENA_MAX = -8


def limit_arenas() -> None:
    """Let all threads share two heaps, from the start of a process on. By default there are eight
    for each processor, and what a thread has freed in one is of no use to another."""
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Return freed memory to the system."""
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
