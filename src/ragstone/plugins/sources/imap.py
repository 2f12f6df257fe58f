"""Mailboxes of a mail server as a source, each message a document.

A message never changes, so that what is new is known by its number. With CONDSTORE (RFC 7162) a
server says what has changed since; what is gone, any server says by the numbers of what is left.
"""

import asyncio
import email
import email.policy
import imaplib
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, Literal, ParamSpec, TypeVar

from imapclient import IMAPClient, SocketTimeout, imap_utf7
from imapclient.exceptions import LoginError, ProtocolError
from pydantic import Field, SecretStr

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.ingest.formats.mail import read_header
from ragstone.plugins.sources.remote_files import MAX_SECONDS, SECONDS, explain_connection
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

PAGE = 200
"""Messages whose heads are read at a time."""

CHUNK = 2**22
"""Bytes of a message that are read at a time."""

MAX_SUBJECT = 80
"""Characters of a subject in a path."""

_EMPTY = {b"\\noselect", b"\\nonexistent"}
"""Attributes of mailboxes that are names alone."""

_LEFT_OUT = {b"\\drafts", b"\\junk", b"\\trash", b"\\all", b"\\flagged"}
"""Attributes of mailboxes that a pattern does not mean: what nobody keeps, and what shows other
mailboxes once more."""

Given = ParamSpec("Given")
Result = TypeVar("Result")


class ImapOptions(SourceOptions):
    """Options of a mail server."""

    host: str = Field(description="The machine's name.", pattern=r"^[\w.:-]+$")
    port: int = Field(993, ge=1, le=65_535, description="Its port.")
    encryption: Literal["tls", "starttls", "none"] = Field("tls", description="Of the connection.")
    user: str = Field(min_length=1, description="The user's name.")
    password: SecretStr = Field(SecretStr(""), description="The password.")
    mailboxes: str = Field(
        "INBOX", min_length=1, description="Which; * stands for any, also in Team/*."
    )


@dataclass(frozen=True, slots=True)
class _Mailbox:
    """A mailbox: its name as the server has it, and as a folder for people."""

    name: bytes
    folder: str

    @property
    def key(self) -> str:
        return self.name.decode("utf-8", "surrogateescape")


class Mailboxes:
    """`ports.sources.ItemSource` of mailboxes. There is one connection, on which one thing is done
    at a time."""

    def __init__(self, parts: SourceParts[ImapOptions]) -> None:
        self._options = parts.options
        self._place = f"imap://{parts.options.host}:{parts.options.port}"
        self._client: IMAPClient | None = None
        self._turn = asyncio.Lock()
        self._selected: tuple[bytes, int] = (b"", 0)
        self._mailboxes: Sequence[_Mailbox] = ()
        self._checkpoint: dict[str, tuple[int, int]] = {}

    async def check(self) -> None:
        self._mailboxes = await self._do(self._find_mailboxes)
        if not self._mailboxes:
            raise SourceUnavailable(
                f"{self._place} has no mailbox {self._options.mailboxes!r} for this user."
            )

    async def list_items(self, checkpoint: str) -> AsyncGenerator[SourceItem, None]:
        before = json.loads(checkpoint) if checkpoint else {}
        for mailbox in self._mailboxes:
            validity, modseq, uids = await self._do(
                self._find_messages, mailbox, *before.get(mailbox.key, (0, 0))
            )
            for start in range(0, len(uids), PAGE):
                some = uids[start : start + PAGE]
                for item in await self._do(self._describe, mailbox, validity, some):
                    yield item
            if modseq:
                self._checkpoint[mailbox.key] = (validity, modseq)

    async def list_keys(self) -> AsyncIterator[str]:
        for mailbox in self._mailboxes:
            validity, _, uids = await self._do(self._find_messages, mailbox, 0, 0)
            for uid in uids:
                yield _make_key(mailbox, validity, uid)

    def get_checkpoint(self) -> str:
        return json.dumps(self._checkpoint) if self._checkpoint else ""

    async def fetch(self, item: SourceItem, target: BinaryIO) -> None:
        size = 0
        while True:
            part = await self._do(self._read_part, item.key, size)
            target.write(part)
            if len(part) < CHUNK:
                return
            size += len(part)

    async def aclose(self) -> None:
        # Its thread may still wait for an answer, which ends with the connection.
        if self._client is not None:
            with suppress(OSError):
                await asyncio.to_thread(self._client.shutdown)

    async def _do(
        self, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """Do something that blocks. Raises SourceUnavailable."""
        try:
            async with self._turn, asyncio.timeout(MAX_SECONDS):
                return await asyncio.to_thread(work, *given, **named)
        except (imaplib.IMAP4.error, OSError, ValueError, LookupError) as error:
            reason = _explain(error)
            raise SourceUnavailable(f"{self._place} cannot be read: {reason}.") from error

    def _connect(self) -> IMAPClient:
        if self._client is None:
            options = self._options
            context = ssl.create_default_context()
            client = IMAPClient(
                options.host,
                options.port,
                ssl=options.encryption == "tls",
                ssl_context=context,
                timeout=SocketTimeout(SECONDS, SECONDS),
            )
            self._client = client
            client.normalise_times = False
            # A name that is not encoded as it should be is a mailbox all the same.
            client.folder_encode = False
            if options.encryption == "starttls":
                client.starttls(context)
            client.login(options.user, options.password.get_secret_value())
            if client.has_capability("ENABLE") and client.has_capability("CONDSTORE"):
                client.enable("CONDSTORE")
        return self._client

    def _find_mailboxes(self) -> Sequence[_Mailbox]:
        pattern = imap_utf7.encode(self._options.mailboxes)
        listed = self._connect().list_folders(b"", pattern)
        found = []
        for attributes, delimiter, name in listed:
            name = name if isinstance(name, bytes) else str(name).encode()
            told = {attribute.lower() for attribute in attributes}
            if told & _EMPTY or (told & _LEFT_OUT and name != pattern):
                continue
            folder = _decode_name(name)
            if delimiter and delimiter != b"/":
                folder = folder.replace("/", "-").replace(delimiter.decode(), "/")
            found.append(_Mailbox(name, folder))
        return found

    def _select(self, mailbox: bytes) -> Mapping[bytes, Any]:
        told: Mapping[bytes, Any] = self._connect().select_folder(mailbox, readonly=True)
        self._selected = (mailbox, int(told.get(b"UIDVALIDITY", 0)))
        return told

    def _find_messages(
        self, mailbox: _Mailbox, validity: int, modseq: int
    ) -> tuple[int, int, list[int]]:
        """Return what the mailbox is, how far it is, and the messages that have changed since then;
        all, where it cannot say."""
        told = self._select(mailbox.name)
        now, newest = self._selected[1], int(told.get(b"HIGHESTMODSEQ", 0))
        criteria = ["UNDELETED"]
        if newest and now == validity:
            if newest == modseq:
                return now, newest, []
            criteria += ["MODSEQ", str(modseq + 1)]
        return now, newest, list(self._connect().search(criteria))

    def _describe(
        self, mailbox: _Mailbox, validity: int, uids: Sequence[int]
    ) -> Sequence[SourceItem]:
        self._open(mailbox.name, validity)
        fields = ["INTERNALDATE", "BODY.PEEK[HEADER.FIELDS (SUBJECT)]"]
        told = self._connect().fetch(uids, fields)
        return [_make_item(mailbox, validity, uid, told[uid]) for uid in uids if uid in told]

    def _read_part(self, key: str, start: int) -> bytes:
        validity, uid, name = key.split("/", 2)
        self._open(name.encode("utf-8", "surrogateescape"), int(validity))
        told = self._connect().fetch([int(uid)], [f"BODY.PEEK[]<{start}.{CHUNK}>"])
        part = _find_body(told.get(int(uid), {}))
        if part is None:
            raise DocumentError("It is not there any more.")
        return part

    def _open(self, mailbox: bytes, validity: int) -> None:
        """Have a mailbox selected. Raises DocumentError if it is another one of the same name."""
        if self._selected[0] != mailbox:
            self._select(mailbox)
        if self._selected[1] != validity:
            raise DocumentError("Its mailbox was made anew meanwhile.")


def _make_key(mailbox: _Mailbox, validity: int, uid: int) -> str:
    return f"{validity}/{uid}/{mailbox.key}"


def _make_item(mailbox: _Mailbox, validity: int, uid: int, told: Mapping[bytes, Any]) -> SourceItem:
    message = email.message_from_bytes(_find_body(told) or b"", policy=email.policy.default)
    subject = "".join(char for char in read_header(message, "subject") if char.isprintable())
    name = subject.replace("/", " ")[:MAX_SUBJECT].strip(". ") or "Mail"
    arrived = told.get(b"INTERNALDATE")
    modified = max(arrived.timestamp(), 0.0) if isinstance(arrived, datetime) else 0.0
    path = f"{mailbox.folder}/{name} {uid}.eml"
    return SourceItem(
        _make_key(mailbox, validity, uid),
        "1",
        path,
        title=subject,
        modified=modified,
        metadata={"mailbox": mailbox.folder},
    )


def _find_body(told: Mapping[bytes, Any]) -> bytes | None:
    """Return what a server says of a message's text, under whatever name."""
    return next((value or b"" for name, value in told.items() if name.startswith(b"BODY[")), None)


def _decode_name(name: bytes) -> str:
    try:
        return str(imap_utf7.decode(name))
    except ValueError:
        return name.decode("utf-8", "replace")


def _explain(error: Exception) -> str:
    """Return what an error means: the end of a sentence."""
    if isinstance(error, OSError | imaplib.IMAP4.abort):
        return str(explain_connection(error))
    if isinstance(error, ValueError | LookupError | ProtocolError):
        return "it answers what is no IMAP"
    answer = re.sub(r"\bb(['\"])(.*)\1", r"\2", str(error))[:300]
    if isinstance(error, LoginError):
        return f"it refuses the user or the password ({answer!r})"
    return f"it answers {answer!r}"


IMAP = SourceKind("Mailboxes of a mail server.", ImapOptions, Mailboxes, of_server=True)
