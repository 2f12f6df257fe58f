"""Starts and ends without the collector of garbage: it would look through what a thousand modules
leave for ever, a seventh of the time that they take, and once more at the end."""

import atexit
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

USUAL = gc.get_threshold()
SELDOM = (50_000, *USUAL[1:])


def seldom_collected() -> None:
    """For a command, which ends soon: garbage is collected a seventieth as often, and what is left
    at the end goes with the process."""
    gc.set_threshold(*SELDOM)
    atexit.register(gc.freeze)


@contextmanager
def pause_garbage_collection() -> Iterator[Callable[[], None]]:
    """Garbage is collected again after the block, or from when what it yields is called; then what
    has been loaded by that time is not looked at again."""
    gc.disable()

    def resume() -> None:
        gc.freeze()
        gc.set_threshold(*USUAL)
        gc.enable()

    try:
        yield resume
    finally:
        gc.enable()
