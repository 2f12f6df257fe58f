"""Ports for servers that have to be told theirs."""

import random
import socket
from contextlib import suppress

PORTS = range(10_000, 32_000)
"""Below those that systems give to connections: between the choice of a port and the start of its
server nobody takes one of these by chance."""

_random = random.SystemRandom()  # Hypothesis seeds the other one alike in all workers.


def free_port() -> int:
    """Return a port that nobody listens at."""
    while True:
        port = _random.choice(PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
