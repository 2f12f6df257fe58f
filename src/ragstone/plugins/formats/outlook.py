"""Outlook's messages (.msg): a mail is made of their MAPI properties, which the parser of mails
reads.

The container is OLE (olefile). A property stands in a stream that is named after its tag and type,
or, if it is a number or a time, in the stream of properties (MS-OXMSG, MS-OXPROPS).
"""

import mimetypes
import re
import struct
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email import message_from_string
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from ragstone.core.errors import DocumentError, UnreadableDocument
from ragstone.ingest.document import Parsed
from ragstone.ingest.formats.decode import decode_as
from ragstone.ingest.formats.mail import parse_message
from ragstone.ingest.formats.package import translate_library_errors
from ragstone.ingest.formats.types import OLE, Format
from ragstone.plugins.formats.rtf import parse_rtf

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_HEADERS, _MESSAGE_ID, _REPLY_TO, _REFERENCES = "007D", "1035", "1042", "1039"
_SENT, _DELIVERED = "0039", "0E06"
_SENDER, _SENDER_SMTP, _SENDER_ADDRESS = "0C1A", "5D01", "0C1F"
_NAME, _SMTP, _ADDRESS, _RECIPIENT_TYPE = "3001", "39FE", "3003", "0C15"
_CODE_PAGE, _INTERNET_CODE_PAGE = "3FFD", "3FDE"
_DATA, _LONG_FILE_NAME, _FILE_NAME, _MIME_TYPE, _HIDDEN = "3701", "3707", "3704", "370E", "7FFE"

_TEXT, _TEXT_8, _BINARY, _STORAGE = "001F", "001E", "0102", "000D"
_NUMBER, _BOOLEAN, _TIME = 0x0003, 0x000B, 0x0040
_FIELDS = {1: "To", 2: "Cc"}
"""The header of recipients by their type; 3 are hidden ones."""

_PLAIN_ADDRESS = re.compile(r'[^\s@"/]+@[^\s@]+')
_MAX_NESTED = 10
_CODECS = {65001: "utf-8", 20127: "ascii", 20866: "koi8-r", 21866: "koi8-u", 936: "gb18030"}


def parse_msg(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a message whole. Raises UnreadableDocument."""
    return _parse_nested_msg(path, ending, max_bytes, 0)


def _parse_nested_msg(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    import olefile  # Few folders have such files.

    with translate_library_errors(path), olefile.OleFileIO(path) as parts:  # type: ignore[no-untyped-call]
        if not parts.exists("__properties_version1.0"):
            raise UnreadableDocument(f"{path.name} is no message of Outlook: it has no properties.")
        message = _make_message(path, parts, (), max_bytes, 0)
    return parse_message(path, message, max_bytes, depth)


class _Properties:
    """Those of the message, recipient or attachment in one storage."""

    def __init__(self, parts: Any, storage: Sequence[str], codec: str = "") -> None:
        self._parts, self._storage = parts, tuple(storage)
        self._numbers = dict(self._read_numbers())
        page = self.number(_CODE_PAGE) or self.number(_INTERNET_CODE_PAGE)
        self.codec = codec or _CODECS.get(page, f"cp{page}")

    def _read_numbers(self) -> Iterator[tuple[int, bytes]]:
        data = self._stream("__properties_version1.0")
        # Their head is 8, 24 or 32 bytes long; what looks like properties in it has no known tag.
        for tag, _, value in struct.iter_unpack("<II8s", data[len(data) % 16 :]):
            yield tag, value

    def _stream(self, name: str) -> bytes:
        place = [*self._storage, name]
        return self._parts.openstream(place).read() if self._parts.exists(place) else b""

    def number(self, tag: str) -> int:
        value = self._numbers.get(int(tag, 16) << 16 | _NUMBER, b"")
        return int.from_bytes(value[:4], "little")

    def is_set(self, tag: str) -> bool:
        return any(self._numbers.get(int(tag, 16) << 16 | _BOOLEAN, b"")[:2])

    def time(self, tag: str) -> datetime | None:
        value = self._numbers.get(int(tag, 16) << 16 | _TIME)
        if value is None:
            return None
        try:
            spent = timedelta(microseconds=int.from_bytes(value, "little") // 10)
            return datetime(1601, 1, 1, tzinfo=UTC) + spent
        except OverflowError:
            return None

    def text(self, *tags: str) -> str:
        """The text of the first of the properties that has one."""
        for tag in tags:
            if data := self._stream(f"__substg1.0_{tag}{_TEXT}"):
                return data.decode("utf-16-le", "replace").rstrip("\0")
            if data := self._stream(f"__substg1.0_{tag}{_TEXT_8}"):
                return decode_as(data, self.codec).rstrip("\0")
        return ""

    def data(self, tag: str) -> bytes:
        return self._stream(f"__substg1.0_{tag}{_BINARY}")

    def storages(self, kind: str) -> list[tuple[str, ...]]:
        """Return the storages in this one whose names begin so."""
        size = len(self._storage) + 1
        found = {tuple(place[:size]) for place in self._parts.listdir() if len(place) > size}
        return sorted(
            place for place in found if place[:-1] == self._storage and place[-1].startswith(kind)
        )


def _make_message(
    path: Path, parts: Any, storage: Sequence[str], max_bytes: int, depth: int
) -> EmailMessage:
    """Return the mail of a storage, with those that are attached to it."""
    given = _Properties(parts, storage)
    message = EmailMessage()
    for name, value in _make_headers(given, parts).items():
        if value := " ".join(value.split()):
            message[name] = value
    text, page = given.text(_BODY), _read_html(given)
    if not text.strip() and not page and (packed := given.data(_RTF)):
        text = _read_rtf(path, unpack_rtf(packed, max_bytes), max_bytes)
    message.set_content(text)
    if page:
        message.add_alternative(page, subtype="html")
    for place in given.storages("__attach_version1.0_"):
        _attach(path, message, parts, place, given.codec, max_bytes, depth)
    return message


def _make_headers(given: _Properties, parts: Any) -> dict[str, str]:
    """Return those of the mail as it went over the wire, where they are kept, and those that
    Outlook knows."""
    wire = message_from_string(given.text(_HEADERS))
    kept = ("Message-ID", "In-Reply-To", "References", "Date", "From", "To", "Cc")
    headers = {name: str(wire.get(name) or "") for name in kept}
    headers["Subject"] = given.text(_SUBJECT)
    sent = given.time(_SENT) or given.time(_DELIVERED)
    known = {
        "From": _person(given.text(_SENDER), given.text(_SENDER_SMTP, _SENDER_ADDRESS)),
        "Date": format_datetime(sent) if sent else "",
        "Message-ID": given.text(_MESSAGE_ID),
        "In-Reply-To": given.text(_REPLY_TO),
        "References": given.text(_REFERENCES),
    }
    people: dict[str, list[str]] = {"To": [], "Cc": []}
    for place in given.storages("__recip_version1.0_"):
        person = _Properties(parts, place, given.codec)
        if field := _FIELDS.get(person.number(_RECIPIENT_TYPE)):
            people[field].append(_person(person.text(_NAME), person.text(_SMTP, _ADDRESS)))
    known |= {field: ", ".join(names) for field, names in people.items()}
    if "@" not in known["From"]:
        known["From"] = headers["From"] or known["From"]
    return {name: known.get(name) or value for name, value in headers.items()}


def _person(name: str, address: str) -> str:
    """Name and address; those of an Exchange server's directory are no addresses for people."""
    name = name.strip("'").replace('"', "'")
    if not _PLAIN_ADDRESS.fullmatch(address):
        return f'"{name}"' if name else ""
    return f'"{name}" <{address}>' if name != address else address


def _read_html(given: _Properties) -> str:
    if data := given.data(_HTML):
        return decode_as(data, given.codec)
    return given.text(_HTML)


def _read_rtf(path: Path, data: bytes, max_bytes: int) -> str:
    """Return the text of a body in RTF, in which Outlook keeps HTML too."""
    with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
        file = Path(folder) / path.name
        file.write_bytes(data)
        try:
            blocks = parse_rtf(file, ".rtf", max_bytes).blocks
            return "\n\n".join(block.text for block in blocks)
        except DocumentError:
            return ""


def _attach(
    path: Path,
    message: EmailMessage,
    parts: Any,
    place: Sequence[str],
    codec: str,
    max_bytes: int,
    depth: int,
) -> None:
    given = _Properties(parts, place, codec)
    if given.is_set(_HIDDEN):
        return
    name = given.text(_LONG_FILE_NAME, _FILE_NAME, _NAME)
    inner = (*place, f"__substg1.0_{_DATA}{_STORAGE}")
    if parts.exists([*inner, "__properties_version1.0"]):
        if depth < _MAX_NESTED:
            message.add_attachment(_make_message(path, parts, inner, max_bytes, depth + 1))
        return
    data = given.data(_DATA)
    kind = given.text(_MIME_TYPE) or mimetypes.guess_type(name)[0] or ""
    main, _, sub = kind.partition("/")
    if not re.fullmatch(r"[\w.+-]+/[\w.+-]+", kind) or main in ("multipart", "message"):
        main, sub = "application", "octet-stream"
    message.add_attachment(data, maintype=main, subtype=sub, filename=name or "attachment")


_PACKED, _PLAIN = 0x75465A4C, 0x414C454D
_WINDOW = 4096
_PRESET = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""What the window of a packed RTF begins with (MS-OXRTFCP)."""


def unpack_rtf(packed: bytes, max_bytes: int) -> bytes:
    """Return the RTF of a body; what is not packed as it should be ends it."""
    if len(packed) < 16:
        return b""
    _, size, kind, _ = struct.unpack_from("<4I", packed)
    if kind == _PLAIN:
        return packed[16 : 16 + size]
    window = bytearray(_PRESET.ljust(_WINDOW, b"\0"))
    place, end = len(_PRESET), min(size, max_bytes)
    made = bytearray()
    position = 16
    while kind == _PACKED and position < len(packed) and len(made) < end:
        control = packed[position]
        position += 1
        for bit in range(8):
            if control >> bit & 1:
                if position + 2 > len(packed):
                    return bytes(made)
                pair = int.from_bytes(packed[position : position + 2], "big")
                position += 2
                start = pair >> 4
                if start == place:
                    return bytes(made)
                items = [(start + index) % _WINDOW for index in range((pair & 15) + 2)]
            else:
                if position >= len(packed):
                    return bytes(made)
                window[place] = packed[position]
                position += 1
                items = [place]
            for item in items:
                window[place] = window[item]
                made.append(window[place])
                place = (place + 1) % _WINDOW
    return bytes(made)


MSG = Format(
    "application/vnd.ms-outlook", parse_msg, whole=True, magic=OLE, nested=_parse_nested_msg
)
