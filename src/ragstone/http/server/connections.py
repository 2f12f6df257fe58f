"""Connections that neither hold on for ever nor become too many."""

import asyncio
import logging
import socket
import struct
import sys
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = logging.getLogger(__name__)

FILES_BESIDES = 512
"""Files that a process has open besides its connections: databases, the index, models."""

HEAD_BYTES = 64 * 1024
"""Bytes of a request's head from which the connection is ended."""

SENT_AHEAD = 65_536
"""Bytes that the system may hold of what a client has not been sent yet. Its own choice is several
megabytes for each connection, all of them answered before anybody notices that nobody reads."""


def reserve_connections(connections: int) -> int:
    """Let this process open so many connections, or as many as the system allows; how many."""
    if sys.platform == "win32":
        return connections  # It has no such limit.
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + FILES_BESIDES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    room = min(connections, max(wanted - FILES_BESIDES, 16))
    if room < connections:
        log.warning(
            "Only %s connections can be open: raise the limit of open files (ulimit -n).", room
        )
    return room


class HttpConnection(HttpToolsProtocol):
    """HTTP/1.1 for uvicorn: of `most` connections at a time, each request's head must be there
    `head_seconds` after the connection began or the head's first byte came, in `HEAD_BYTES`, and a
    client must take some of what is sent to it within `send_seconds`."""

    head_seconds: ClassVar[float]
    send_seconds: ClassVar[float]
    most: ClassVar[int]

    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
            return
        if sys.platform != "win32":
            self._option(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, SENT_AHEAD)
        # Whatever the system does not take at once is waited for, and its time counts.
        transport.set_write_buffer_limits(high=0)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._unwatch_head()
        elif self.timeout_keep_alive_task is None:
            self._watch_head()
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The head of the request is too large.")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_answering():
            self._unwatch_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unwatch_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch_head()
        self._unwatch_reader()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch_head(self) -> None:
        """Start the time of a request's head unless it runs: its bytes do not start it anew."""
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._abort)

    def _unwatch_head(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _watch_reader(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._send_timer = self.loop.call_later(self.send_seconds, self._has_read, unsent)

    def _unwatch_reader(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def _has_read(self, unsent: int) -> None:
        """Go on with who took some of a large answer; end it with who took nothing."""
        if self.transport.get_write_buffer_size() < unsent:
            self._watch_reader()
            return
        log.info("A client has read nothing for %g s and was disconnected.", self.send_seconds)
        # Otherwise the system keeps trying to send its buffer.
        self._option(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _option(self, level: int, name: int, value: int | bytes) -> None:
        self.transport.get_extra_info("socket").setsockopt(level, name, value)

    def _abort(self) -> None:
        self._head_timer = None
        self.transport.abort()


def protocol(head_seconds: float, send_seconds: float, most: int) -> type[asyncio.Protocol]:
    """Make a class of connections with these limits."""
    limits = {"head_seconds": head_seconds, "send_seconds": send_seconds, "most": most}
    return type("Limited", (HttpConnection,), limits)
