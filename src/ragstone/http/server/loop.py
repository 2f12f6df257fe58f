"""Running a server's event loop, with the signals that end it."""

import asyncio
import signal
import sys
from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM)

if sys.platform == "win32":
    from asyncio import run as run

    def on_signals(handle: Callable[[int], None]) -> None:
        """Call `handle` in the running loop when the process shall end."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:  # Loops of Windows cannot.
            signal.signal(number, lambda item, _: loop.call_soon_threadsafe(handle, item))

    def off_signals() -> None:
        """End what `on_signals` began."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)

else:
    from uvloop import run as run

    def on_signals(handle: Callable[[int], None]) -> None:
        """Call `handle` in the running loop when the process shall end."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, handle, number)

    def off_signals() -> None:
        """End what `on_signals` began."""
        for number in SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)
