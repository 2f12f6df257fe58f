"""Events to a syslog server: RFC 5424 by UDP, or by TCP with the length before each (RFC 6587)."""

import json
import logging
import os
import queue
import socket
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Events that wait for the server at most."""

SECONDS = 5.0
LOG_AUDIT = 13
INFORMATIONAL, WARNING = 6, 4


class Syslog:
    """Sends events by a thread of its own. `unsent` counts those that did not fit in the queue, or
    could not be sent in two attempts."""

    def __init__(self, address: str) -> None:
        self._url = urlsplit(address)
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._socket: socket.socket | None = None
        self._failing = False
        self.unsent = 0
        self._thread = threading.Thread(target=self._run, name="audit-syslog", daemon=True)
        self._thread.start()

    def send(self, event: Mapping[str, Any]) -> None:
        """Let an event be sent."""
        try:
            self._waiting.put_nowait(format_message(event))
        except queue.Full:
            self.unsent += 1

    def close(self) -> None:
        """Send what waits, for as long as one attempt takes."""
        try:
            self._waiting.put(None, timeout=SECONDS)
        except queue.Full:
            return
        self._thread.join(SECONDS)

    def _run(self) -> None:
        while (message := self._waiting.get()) is not None:
            try:
                try:
                    self._send(message)
                except OSError:  # The server may have been started again.
                    self._disconnect()
                    self._send(message)
                self._failing = False
            except OSError as error:
                self._disconnect()
                self.unsent += 1
                if not self._failing:
                    log.error("Events are not sent to %s: %s", self._url.geturl(), error)
                self._failing = True
        self._disconnect()

    def _send(self, message: bytes) -> None:
        host, port = self._url.hostname or "", self._url.port or 514
        stream = self._url.scheme == "tcp"
        if self._socket is None and stream:
            self._socket = socket.create_connection((host, port), SECONDS)
        elif self._socket is None:
            [family, kind, _, _, to], *_ = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
            self._socket = socket.socket(family, kind)
            self._socket.connect(to)
        self._socket.sendall(b"%d %b" % (len(message), message) if stream else message)

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def format_message(event: Mapping[str, Any]) -> bytes:
    """Return a message of RFC 5424; the event is its text, in ASCII."""
    severity = INFORMATIONAL if event["status_id"] == 1 else WARNING
    at = datetime.fromtimestamp(event["time"] / 1000, UTC).isoformat(timespec="milliseconds")
    host = "".join(c for c in socket.gethostname() if "!" <= c <= "~")[:255] or "-"
    kind, text = event["metadata"]["event_code"], json.dumps(event, separators=(",", ":"))
    head = f"<{LOG_AUDIT * 8 + severity}>1 {at.replace('+00:00', 'Z')} {host} ragstone"
    return f"{head} {os.getpid()} {kind} - {text}".encode("ascii")
