"""A connection that breaks on command: passes bytes on between a browser and a server."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cutting:
    """Listens on a port of its own. While it is `away`, nobody gets through."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.away = False
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def cut(self) -> None:
        """Break every connection that there is."""
        with self._lock:
            broken, self._open = self._open, set()
        for item in broken:
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)

    def lead_to(self, port: int) -> None:
        """Pass new connections on to another port."""
        self._to = ("127.0.0.1", port)

    def serve(self) -> None:
        """Pass on until it is closed."""
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.away:
                client.close()
                continue
            try:
                server = socket.create_connection(self._to)
            except OSError:  # No server is there.
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def close(self) -> None:
        self._listening.close()
        self.cut()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while part := one.recv(65_536):
                other.sendall(part)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def cutting(url: str) -> Iterator[Cutting]:
    """A way to the server at this address."""
    made = Cutting(int(url.rpartition(":")[2]))
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.close()
