"""What goes on beside a test, over and over."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(step: Callable[[], object]) -> Iterator[None]:
    """Do the step again and again in a thread of its own, until the block ends."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            step()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
