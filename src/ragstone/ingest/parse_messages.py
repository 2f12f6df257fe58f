"""What a server and a process that reads files say to each other: JSON in frames with a length.

The process handles hostile files, so nothing that it sends may be executed here (no pickle), a
frame has a largest size, and the server checks the type of every value. Neither pydantic nor the
settings are imported: the process starts in 60 ms without them.
"""

import json
import struct
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, BinaryIO, Literal

from ragstone.ingest.chunk import TextPiece

FRAME_BYTES = 1 << 26
"""Longest frame. Batches are far smaller; a single chunk may have 100,000 tokens."""

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A file to read, and the settings for it.

    With `beginning` only so many characters of its text are wanted, else its chunks. `seconds` is
    the processor time after which the process ends; each page that is recognised adds
    PAGE_SECONDS. `folder` is the one that it may include files of, empty if there is none. With
    `picture`, an id, that picture of it is wanted and nothing else. `captions` is what a model said
    of its pictures, by their digests. With `members` those of an archive are wanted, with
    `unpack_to` in files of that folder.
    """

    path: str
    max_file_mb: int
    max_memory_mb: int
    chunk_size: int
    chunk_overlap: int
    seconds: int
    beginning: int = 0
    folder: str = ""
    ocr: bool = True
    ocr_pages: int = 1000
    picture: str = ""
    captions: dict[str, str] = field(default_factory=dict)
    members: bool = False
    unpack_to: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """The process has started."""

    kind: Literal["ready"] = "ready"


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """What is known of a document before its chunks."""

    title: str
    media_type: str
    pages: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kind: Literal["head"] = "head"


@dataclass(frozen=True, slots=True)
class Recognising:
    """The text of a page that is a picture is being recognised, for which there is more time."""

    kind: Literal["recognising"] = "recognising"


@dataclass(frozen=True, slots=True)
class Pieces:
    """Some chunks; none are a sign of life."""

    pieces: list[TextPiece]
    kind: Literal["pieces"] = "pieces"


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in an archive: its path there, its bytes, and what tells its content from another.

    `file` is where it was unpacked; `refusal` says why it cannot be.
    """

    path: str
    size: int
    digest: str
    file: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class ArchiveMembers:
    """Some members of an archive."""

    members: list[ArchiveMember]
    kind: Literal["members"] = "members"


@dataclass(frozen=True, slots=True)
class Beginning:
    """The beginning of a document's text."""

    text: str
    kind: Literal["beginning"] = "beginning"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture of a document, as it is shown, in base64."""

    base64: str
    kind: Literal["drawn"] = "drawn"


@dataclass(frozen=True, slots=True)
class Finished:
    """The document is read. `notes` say what turned out meanwhile; of a process that is `spent`
    no other file is asked."""

    notes: list[str] = field(default_factory=list)
    spent: bool = False
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The document cannot be read. `code` is that of a DocumentError, MEMORY, or empty for a parser
    that broke; then `trace` says where."""

    code: str
    message: str
    trace: str = ""
    kind: Literal["failure"] = "failure"


MEMORY = "memory"
"""The code of a failure for want of memory."""

Message = (
    Ready
    | DocumentHead
    | Recognising
    | Pieces
    | ArchiveMembers
    | Beginning
    | Drawn
    | Finished
    | ReadFailure
)


def encode_message(message: Message | ReadRequest) -> bytes:
    """Return the message as JSON."""
    # A path may hold surrogates, which only an escape carries; texts are whole.
    ascii_only = isinstance(message, ReadRequest)
    text = json.dumps(message, default=_plain, ensure_ascii=ascii_only, separators=(",", ":"))
    return text.encode("utf-8")


def _plain(value: object) -> object:
    """A dataclass as its fields, anything else that JSON has not (a date in metadata) as text."""
    if not is_dataclass(value):
        return str(value)
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def send_frame(pipe: BinaryIO, data: bytes) -> None:
    """Write a frame whole; waits while the other side does not read."""
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive_frame(pipe: BinaryIO, most: int = FRAME_BYTES) -> bytes:
    """Read a frame; raises EOFError where the other side has ended, ValueError for a frame of more
    than `most` bytes."""
    [length] = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    # Before it is read: a hostile process may claim gigabytes.
    if length > most:
        raise ValueError(f"a frame of {length:,} bytes")
    return _exactly(pipe, length)


def _exactly(pipe: BinaryIO, length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data
