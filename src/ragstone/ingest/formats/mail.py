"""EML and MBOX with the standard library: head, new text, quoted earlier mails, attachments.

The text is the plain one, or the HTML one where that is missing or says much more. Earlier mails
that are quoted are blocks of their own kind, so that nobody's words are taken for another's.
Attachments are sections, read by the parsers of their types.
"""

import base64
import codecs
import email
import email.policy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.message import EmailMessage, Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO

from ragstone.core.errors import TooLarge, UnreadableDocument, WrongType
from ragstone.ingest.document import Block, Parsed
from ragstone.ingest.formats.decode import decode_as
from ragstone.ingest.formats.members import LeftOut, member_blocks, read_member_blocks
from ragstone.ingest.formats.plain_mail import is_earlier_mail, plain_blocks
from ragstone.ingest.formats.types import Format

_HEADER = re.compile(
    rb"(?im)^(from|to|subject|date|received|message-id|return-path|mime-version|content-type):"
)
_MAX_PARTS = 1000
_MAX_NESTED = 50
_MUCH_MORE = 3
"""An HTML text of so many times the words of the plain one is the one that was meant to be read."""
_HIDDEN_HTML = re.compile(r"(?is)<(script|style|head|title)\b.*?</\1\s*>|<!--.*?-->")
_TAG = re.compile(r"<[^>]*>")
_HEADER_ERRORS = (ValueError, LookupError, AttributeError, TypeError)
"""What the standard library raises over headers that are not as they should be."""
_ENDINGS = {
    "text/plain": ".txt",
    "text/html": ".html",
    "text/csv": ".csv",
    "message/rfc822": ".eml",
    "application/pdf": ".pdf",
    "application/json": ".json",
}


def parse_eml(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Read a mail whole. Raises WrongType or UnreadableDocument."""
    return parse_nested_eml(path, ending, max_bytes, 0)


def parse_nested_eml(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    """Return the mail of a file that stands in `depth` others."""
    data = path.read_bytes()
    if not _HEADER.search(data[:_HEAD_BYTES]):
        raise WrongType(f"{path.name} ends in .eml, but it has none of the header lines of a mail.")
    return parse_message(path, _read_message(path, data), max_bytes, depth)


def parse_message(path: Path, message: "Message[str, str]", max_bytes: int, depth: int) -> Parsed:
    """Return the mail of a file that stands in `depth` others. Raises UnreadableDocument."""
    left_out = LeftOut()
    mail = _Mail(path, message, max_bytes, left_out, depth)
    return Parsed(mail.subject, mail.blocks(1), metadata=mail.metadata(), last_notes=left_out.notes)


def _read_message(path: Path, data: bytes) -> Any:
    try:
        return email.message_from_bytes(data, policy=email.policy.default)
    except (*_HEADER_ERRORS, RecursionError) as error:
        raise _damage_error(path) from error


_HEAD_BYTES = 16_384
_LEADING_BYTES = 200
"""Among so many a mailbox begins; some programs leave empty lines before the first mail."""

_BEFORE = codecs.BOM_UTF8 + b"\r\n"


def parse_mbox(path: Path, ending: str, max_bytes: int) -> Parsed:
    """Return the mails of a mailbox, one in memory at a time. Raises WrongType."""
    return parse_nested_mbox(path, ending, max_bytes, 0)


def parse_nested_mbox(path: Path, ending: str, max_bytes: int, depth: int) -> Parsed:
    """The mailbox of a file that stands in `depth` others. Some programs save a single mail so."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head[:_LEADING_BYTES].lstrip(_BEFORE).startswith(b"From "):
        if not (_HEAD_LINE.match(head) and _HEADER.search(head)):
            raise WrongType(f"{path.name} ends in .mbox, but it does not begin as a mailbox does.")
        if path.stat().st_size > max_bytes:
            raise _too_large(path)
        return replace(parse_nested_eml(path, ending, max_bytes, depth), media_type=EML.media_type)

    left_out = LeftOut()

    def blocks() -> Iterator[Block]:
        for data in _mails(path, max_bytes):
            message = _read_message(path, data)
            yield from _Mail(path, message, max_bytes, left_out, depth).blocks(1)

    return Parsed(path.stem, blocks(), last_notes=left_out.notes)


_STAMP = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +[A-Z][a-z]{2} +\d\d? +\d\d:\d\d.*\d{4}.*"
_FROM = re.compile(rb"From (?:-(?: +%s)?|\S+ +%s)\s*" % (_STAMP, _STAMP))
_HEAD_LINE = re.compile(rb"[A-Za-z][\w-]*:")


def _mails(path: Path, max_bytes: int) -> Iterator[bytes]:
    """Yield the mails of a mailbox: each begins with a line "From ". Of an empty line before it, an
    address and a date in it, and a header below it, two must be there: mails of a stated length end
    without an empty line, and the text of a mail may have such a line too."""
    held: list[bytes] = []
    size, empty, begun = 0, True, False
    with path.open("rb") as file:
        after = file.readline(1 << 20).removeprefix(codecs.BOM_UTF8)
        while line := after:
            after = file.readline(1 << 20)
            begins = line.startswith(b"From ") and (
                bool(_FROM.fullmatch(line)) + bool(_HEAD_LINE.match(after)) + empty > 1
            )
            if begins:
                if held:
                    yield b"".join(held)
                held, size, begun = [], 0, True
            elif begun:
                # Programs quote lines of the text that look like the beginning of a mail.
                held.append(line[1:] if re.match(rb">+From ", line) else line)
                size += len(line)
                if size > max_bytes:
                    raise _too_large(path)
            empty = not line.strip()
    if held:
        yield b"".join(held)


def _too_large(path: Path) -> TooLarge:
    return TooLarge(
        f"{path.name} has a single mail that is larger than INGEST__MAX_FILE_MB allows."
    )


@dataclass(slots=True)
class _Parts:
    """What a mail consists of: its texts in order, and what is attached."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    """Kind ("plain" or "html") and text."""
    attached: list[tuple[str, "Message[str, str]"]] = field(default_factory=list)
    count: int = 0


class _Mail:
    """One mail being read."""

    def __init__(
        self, path: Path, message: Any, max_bytes: int, left_out: LeftOut, depth: int
    ) -> None:
        self._path, self._max, self._left_out, self._depth = path, max_bytes, left_out, depth
        self._message = message
        self._parts = _Parts()
        try:
            _collect(message, self._parts, 0)
        except (*_HEADER_ERRORS, RecursionError) as error:
            raise _damage_error(path) from error
        self.subject = read_header(self._message, "subject")

    def metadata(self) -> dict[str, Any]:
        """Return who wrote it when, and what thread it belongs to."""
        message = self._message
        references = re.findall(r"<[^<>\s]+>", read_header(message, "references"))
        reply = re.findall(r"<[^<>\s]+>", read_header(message, "in-reply-to"))
        own = read_header(message, "message-id")
        values = {
            "author": _people(message, "from"),
            "to": _people(message, "to"),
            "cc": _people(message, "cc"),
            "created": date.isoformat() if (date := _date(message)) else "",
            "message_id": own,
            "in_reply_to": reply[0] if reply else "",
            "references": references,
            # The first reference is the mail that began the thread.
            "thread": (*references, *reply, own)[0],
        }
        return {name: value for name, value in values.items() if value}

    def blocks(self, level: int) -> Iterator[Block]:
        if self.subject:
            yield Block(self.subject, "heading", level)
        if head := self._head():
            yield Block(head, "header")
        for kind, text in self._parts.texts:
            yield from plain_blocks(text) if kind == "plain" else self._html(text, level)
        for name, part in self._parts.attached:
            yield from member_blocks(
                name,
                lambda file, part=part: _write(part, file),  # type: ignore[misc]
                self._max,
                self._left_out,
                level=level + 1,
                depth=self._depth + 1,
            )

    def _head(self) -> str:
        message = self._message
        date = _date(message)
        lines = {
            "From": _people(message, "from"),
            "To": _people(message, "to"),
            "Cc": _people(message, "cc"),
            "Date": date.isoformat(" ", "minutes") if date else read_header(message, "date"),
            "Attachments": ", ".join(name for name, _ in self._parts.attached),
        }
        return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)

    def _html(self, text: str, level: int) -> Iterator[Block]:
        """Yield the page, all of it as its main part; what follows the head of an earlier mail is
        quoted."""
        page = text if "<main" in text.lower() else f"<main>{text}</main>"
        data = f"<html><body>{page}</body></html>".encode("utf-8", "replace")
        quoted = False
        found = read_member_blocks(
            "mail.html",
            lambda file: _write_bytes(file, data),
            self._max,
            LeftOut(),  # The page is the mail itself.
            depth=self._depth,
        )
        for block in found:
            quoted = quoted or (block.kind != "table" and is_earlier_mail(block.text))
            if block.kind == "heading":
                yield replace(block, level=block.level + level)
            elif quoted and block.kind in ("paragraph", "item"):
                yield replace(block, kind="quote", level=0, label="")
            else:
                yield block


def _damage_error(path: Path) -> UnreadableDocument:
    return UnreadableDocument(f"{path.name} is not a mail that can be read: its parts are damaged.")


def _collect(part: Any, found: _Parts, depth: int) -> None:
    """Sort a part, or those within it, into texts and attachments."""
    found.count += 1
    if found.count > _MAX_PARTS or depth > _MAX_NESTED:
        return
    kind = part.get_content_type()
    name = _name(part)
    if kind == "multipart/alternative":
        _collect_best(part, found, depth)
    elif part.is_multipart() and kind != "message/rfc822":
        inner = list(part.iter_parts())
        # The second part of a signed mail is its signature.
        for item in inner[:1] if kind == "multipart/signed" else inner:
            _collect(item, found, depth + 1)
    elif kind in ("text/plain", "text/html") and not _is_attached(part, name):
        found.texts.append((kind.removeprefix("text/"), _text(part)))
    elif kind.startswith("text/") and not name:
        found.texts.append(("plain", _text(part)))
    else:
        name = name or f"{_attachment_title(part)}{_ENDINGS.get(kind, '')}"
        if "." in name or kind.startswith(("message/", "application/")):
            found.attached.append((name, part))


def _collect_best(part: Any, found: _Parts, depth: int) -> None:
    """One of several forms of the same text: the plain one, unless the HTML one says much more."""
    forms = _Parts(count=found.count)
    for item in part.iter_parts():
        _collect(item, forms, depth + 1)
    plain = [text for kind, text in forms.texts if kind == "plain"]
    rich = [text for kind, text in forms.texts if kind == "html"]
    words = sum(len(text.split()) for text in plain)
    rich_words = sum(len(_TAG.sub(" ", _HIDDEN_HTML.sub(" ", text)).split()) for text in rich)
    # Newsletters have a plain part that only says to open the other one.
    chosen = "html" if rich and rich_words > _MUCH_MORE * words else "plain"
    found.texts += [item for item in forms.texts if item[0] == chosen]
    found.attached += forms.attached
    found.count = forms.count


def _is_attached(part: Any, name: str) -> bool:
    try:
        return part.get_content_disposition() == "attachment" or bool(name)
    except _HEADER_ERRORS:
        return bool(name)


def _name(part: Any) -> str:
    try:
        name = part.get_filename() or ""
    except _HEADER_ERRORS:
        return ""
    return " ".join(str(name).replace("\\", "/").rpartition("/")[2].split())


def _attachment_title(part: Any) -> str:
    """Return what a mail that is attached without a name is called: its subject."""
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        return read_header(part.get_payload(0), "subject").replace("/", "-") or "mail"
    return "attachment"


def _text(part: Any) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return str(part.get_payload() or "")
    try:
        charset = part.get_content_charset() or "utf-8"
    except _HEADER_ERRORS:
        charset = "utf-8"
    return decode_as(data, charset)


def _write(part: Any, file: BinaryIO) -> None:
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = part.get_payload(0)
        try:
            # The standard forbids base64 for attached mails, and Python does not decode it; some
            # programs use it all the same.
            if (
                not inner.keys()
                and "base64" in read_header(part, "content-transfer-encoding").lower()
            ):
                file.write(base64.b64decode(str(inner.get_payload())))
            else:
                file.write(inner.as_bytes(policy=email.policy.compat32))
        except _HEADER_ERRORS as error:
            raise UnreadableDocument("the attached mail is damaged.") from error
        return
    data = part.get_payload(decode=True)
    file.write(data if isinstance(data, bytes) else str(part.get_payload() or "").encode())


def _write_bytes(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def read_header(message: Any, name: str) -> str:
    """A header as people read it; one that the standard library stumbles over, as it stands."""
    try:
        value = message.get(name)
    except _HEADER_ERRORS:
        value = next(
            (raw for key, raw in getattr(message, "_headers", ()) if key.lower() == name), ""
        )
    return " ".join(str(value or "").split())


def _people(message: EmailMessage, name: str) -> str:
    """Return names with their addresses: "Ann Lee <ann@example.org>, ..."."""
    text = read_header(message, name)
    try:
        found = getaddresses([text])
    except _HEADER_ERRORS:
        return text
    known: Iterable[str] = (
        f"{who} <{address}>" if who and address and who != address else who or address
        for who, address in found
    )
    return ", ".join(item for item in known if item) or text


def _date(message: Any) -> datetime | None:
    try:
        return parsedate_to_datetime(read_header(message, "date"))
    except _HEADER_ERRORS:
        return None


EML = Format("message/rfc822", parse_eml, whole=True, nested=parse_nested_eml)
MBOX = Format("application/mbox", parse_mbox, nested=parse_nested_mbox)
