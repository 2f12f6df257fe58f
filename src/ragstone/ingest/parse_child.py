"""The process that reads files for a server: parse, cut into chunks, send.

It may die of a file. It has no secrets, sockets or locks of the server, as little memory as the
settings say, and it ends with the server, however that ends.
"""

import base64
import contextlib
import ctypes
import errno
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from ragstone.core.document import cut_places
from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.chunk import TextPiece, chunk
from ragstone.ingest.document import Block
from ragstone.ingest.formats.recognition import PAGE_SECONDS, is_computing
from ragstone.ingest.formats.types import MEGABYTE
from ragstone.ingest.parse import draw_document_picture, parse
from ragstone.ingest.parse_messages import (
    MEMORY,
    ArchiveMembers,
    Beginning,
    DocumentHead,
    Drawn,
    Finished,
    Message,
    Pieces,
    ReadFailure,
    ReadRequest,
    Ready,
    Recognising,
    encode_message,
    receive_frame,
    send_frame,
)
from ragstone.ingest.pictures import attach_leads
from ragstone.language.unicode import replace_surrogates

BATCH = 128
BATCH_CHARS = 1_000_000
BATCH_SECONDS = 1.0
"""A batch is sent when it has so many chunks or characters, or is so old, even if it is empty."""

BLOCK_CHARS = 1_000_000
"""A longer block is cut: a chunk is cut from a block that is in memory as a whole."""

SPARE_MB = 512
"""How much more may be set aside than used before the system refuses it: the server sees what is
used, but only 20 times a second."""

TRACE_CHARS = 10_000
MESSAGE_CHARS = 1_000

_PARENT_DEATH_SIGNAL = 1

Send = Callable[[Message], None]


def main(memory_mb: int, parent: int) -> None:
    """Answer requests on the standard input until it ends."""
    requests, answers = _pipes()
    _tie_to_parent(parent)
    _stay_offline()
    _limit(memory_mb)
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, waiting), daemon=True).start()

    one_at_a_time = threading.Lock()  # A recognition that nobody waits for may still speak.

    def send(message: Message) -> None:
        try:
            with one_at_a_time:
                send_frame(answers, encode_message(message))
        except OSError:
            os._exit(1)  # The server has gone.

    send(Ready())
    while True:
        request = ReadRequest(**json.loads(waiting.get()))
        _limit_time(request.seconds)
        answer(request, send)


def answer(request: ReadRequest, send: Send) -> None:
    """Read one file and send what it holds, or why it cannot be read."""
    try:
        if request.picture:
            send(Drawn(_draw(request)))
        elif request.members:
            _send_members(request, send)
        elif request.beginning:
            send(Beginning(_read_beginning(request, send)))
        else:
            _send_document(request, send)
    except DocumentError as error:
        send(ReadFailure(error.code, replace_surrogates(error.message)[:MESSAGE_CHARS]))
    except RecursionError:
        name = Path(request.path).name
        send(ReadFailure(UnreadableDocument.code, f"{name} is nested too deep to be read."))
    except MemoryError:
        send(ReadFailure(MEMORY, ""))
    # A panic of a parser in Rust is not an Exception.
    except BaseException as error:
        trace = replace_surrogates("".join(traceback.format_exception(error)))[-TRACE_CHARS:]
        send(ReadFailure("", type(error).__name__, trace))


def _read_beginning(request: ReadRequest, send: Send) -> str:
    text = ""
    noticed = _Recognising(request, send)
    for block in parse(Path(request.path), request, sample=True, noticed=noticed).blocks:
        text += block.text[: request.beginning] + "\n"
        if len(text) >= request.beginning:
            break
    return text[: request.beginning]


def _send_members(request: ReadRequest, send: Send) -> None:
    from ragstone.ingest.archives import list_members  # Few files are archives.

    folder = Path(request.unpack_to) if request.unpack_to else None
    members = list_members(Path(request.path), request.max_memory_mb * MEGABYTE, folder)
    while batch := list(islice(members, BATCH)):
        send(ArchiveMembers(batch))
    send(Finished())


def _draw(request: ReadRequest) -> str:
    folder = Path(request.folder) if request.folder else None
    _, data = draw_document_picture(Path(request.path), request, request.picture, folder)
    return base64.b64encode(data).decode()


def _send_document(request: ReadRequest, send: Send) -> None:
    folder = Path(request.folder) if request.folder else None
    parsed = parse(
        Path(request.path),
        request,
        folder,
        noticed=_Recognising(request, send),
        captions=request.captions,
    )
    notes = [replace_surrogates(note) for note in parsed.notes]
    send(DocumentHead(parsed.title, parsed.media_type, parsed.pages, parsed.metadata, notes))
    sender = _Batches(send)
    blocks = sender.report_progress(
        short for block in attach_leads(parsed.blocks) for short in cut_long_block(block)
    )
    # Cut here and not in the server, so that memory for a document is in this process alone.
    for piece in chunk(blocks, request.chunk_size, request.chunk_overlap):
        sender.add(piece)
    sender.flush()
    send(Finished([replace_surrogates(note) for note in parsed.last_notes()], spent=is_computing()))


class _Recognising:
    """Tells that a page is being recognised, and allows the time for it."""

    def __init__(self, request: ReadRequest, send: Send) -> None:
        self._request = request
        self._send = send
        self._pages = 0

    def __call__(self) -> None:
        self._pages += 1
        if self._pages <= self._request.ocr_pages:
            self._send(Recognising())
            _more_time(int(PAGE_SECONDS) + 1)


class _Batches:
    """Collects chunks until they are worth sending."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: list[TextPiece] = []
        self._characters = 0
        self._sent = time.monotonic()

    def add(self, piece: TextPiece) -> None:
        self._held.append(piece)
        self._characters += len(piece.text)
        if len(self._held) >= BATCH or self._characters >= BATCH_CHARS:
            self.flush()

    def report_progress(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Yield the blocks; while they come slowly, that they come is told."""
        for block in blocks:
            if time.monotonic() - self._sent > BATCH_SECONDS:
                self.flush()
            yield block

    def flush(self) -> None:
        self._send(Pieces(self._held))
        self._held, self._characters, self._sent = [], 0, time.monotonic()


def cut_long_block(block: Block, most: int = BLOCK_CHARS) -> Iterator[Block]:
    """Yield the block, or its parts of at most `most` characters, cut at line ends or words where
    there are any."""
    text, start = block.text, 0
    while len(text) - start > most:
        end = start + most
        cuts = (text.rfind(sign, start + most // 2, end) + 1 for sign in ("\n", " "))
        end = next((cut for cut in cuts if cut), end)
        yield _part(block, start, end)
        start = end
    yield _part(block, start, len(text)) if start else block


def _part(block: Block, start: int, end: int) -> Block:
    places = cut_places(block.places, start, end)
    return replace(block, text=block.text[start:end], places=places)


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes from and to the server, out of reach of parsers that print or read."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Parsers that print would write into the midst of a frame.
    os.dup2(2, 1)
    os.close(nothing)
    return os.fdopen(requests, "rb"), os.fdopen(answers, "wb")


def _listen(requests: BinaryIO, waiting: "queue.SimpleQueue[bytes]") -> None:
    """Take requests, and end with the server, also in the midst of a file."""
    while True:
        try:
            waiting.put(receive_frame(requests))
        except (EOFError, OSError):
            os._exit(0)


def _tie_to_parent(parent: int) -> None:
    """Ctrl-C is for the server. Where it dies without a word, Linux ends this process too, even if
    a parser holds Python's lock, behind which `_listen` could not run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def _limit(memory_mb: int) -> None:
    """What the system can hold this process to. The server watches the memory too: macOS limits
    none, and Windows has no such limits."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(OSError, ValueError):  # A lower limit of the user's stays.
        most = (memory_mb + SPARE_MB) << 20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    # A dump of memory would be a copy of the document on the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # Where the machine runs out of memory, this process goes first and not the server.
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def _limit_time(seconds: int) -> None:
    """For a process whose server is gone: the server's own watch is what counts."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    # The limit is of processor time, which all threads of a recognition use up together.
    _set_time(int(used.ru_utime + used.ru_stime) + seconds * (os.cpu_count() or 1))


def _more_time(seconds: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    _set_time(resource.getrlimit(resource.RLIMIT_CPU)[0] + seconds * (os.cpu_count() or 1))


def _set_time(most: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _stay_offline() -> None:
    """A document may not make its parser call anybody, at least not through Python."""

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            raise PermissionError(errno.EACCES, "a parser may not use the network")

    sys.addaudithook(refuse)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
