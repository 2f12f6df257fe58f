"""Places that sources read, of each kind that can be filled from here: one interface for tests and
benchmarks that do the same with all."""

import imaplib
import os
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from tests import dovecot, mediawiki
from tests.ingest.sources.cloud_services import CLOUD_SERVICES, serve
from tests.ingest.sources.file_servers import VARIABLE, FileServer
from tests.samba import Samba, require_samba

SECRET = f"env:{VARIABLE}"
"""The password of every place, where there is one."""


class Place(Protocol):
    """Has a text by its number."""

    kind: str

    @property
    def options(self) -> Mapping[str, str]:
        """Those of a source that reads it."""
        ...

    def put(self, texts: Mapping[int, str]) -> None:
        """Add texts, or change what they are."""
        ...

    def path(self, number: int) -> str:
        """Where the document of a text is below the source's folder, as long as it is the first."""
        ...


@dataclass
class FilePlace:
    """A folder of this machine, also behind a server."""

    folder: Path
    server: FileServer | Samba | None = None
    in_folder: int = 500

    @property
    def kind(self) -> str:
        return self.server.kind if self.server else "folder"

    @property
    def options(self) -> Mapping[str, str]:
        return self.server.options if self.server else {"path": str(self.folder)}

    def put(self, texts: Mapping[int, str]) -> None:
        for number, text in texts.items():
            file = self.folder / self.path(number)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def path(self, number: int) -> str:
        return f"{number // self.in_folder}/{number}.txt"


@dataclass
class TablePlace:
    """A table in a file of SQLite."""

    file: Path
    kind: str = "sql"

    @property
    def options(self) -> Mapping[str, str]:
        columns = {"title": "title", "text": "text", "modified": "changed"}
        return {"url": f"sqlite:///{self.file}", "query": "SELECT * FROM room", **columns}

    def put(self, texts: Mapping[int, str]) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            table = "room (id INTEGER PRIMARY KEY, title TEXT, text TEXT, changed TEXT)"
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            rows = [(number, f"Room {number}", text, hash(text)) for number, text in texts.items()]
            connection.executemany("REPLACE INTO room VALUES (?, ?, ?, ?)", rows)

    def path(self, number: int) -> str:
        return f"{number}.txt"


@dataclass
class MailPlace:
    """An inbox, in which a changed text is another message."""

    server: dovecot.Dovecot
    kind: str = "imap"
    uids: dict[int, int] = field(default_factory=dict)
    newest: int = 0

    @property
    def options(self) -> Mapping[str, str]:
        place = {"host": "127.0.0.1", "port": str(self.server.port), "encryption": "none"}
        return {**place, "user": dovecot.USER, "password": SECRET}

    def put(self, texts: Mapping[int, str]) -> None:
        with self.server.open() as client:
            client.select("INBOX")
            for number, text in texts.items():
                if number in self.uids:
                    uid = str(self.uids[number])
                    client.uid("STORE", uid, "+FLAGS", r"(\Deleted)")
                self._add(client, number, text)

    def _add(self, client: imaplib.IMAP4, number: int, text: str) -> None:
        lines = [f"Subject: Room {number}", "From: Ada <ada@x.org>", "", text]
        client.append("INBOX", "", "", "\r\n".join(lines).encode())
        self.newest += 1
        self.uids[number] = self.newest

    def path(self, number: int) -> str:
        return f"INBOX/Room {number} {self.uids[number]}.eml"


@dataclass
class WikiPlace:
    """The pages of a wiki."""

    server: mediawiki.MediaWikiServer
    kind: str = "mediawiki"

    @property
    def options(self) -> Mapping[str, str]:
        return {"url": self.server.url}

    def put(self, texts: Mapping[int, str]) -> None:
        folder = self.server.root / "texts"
        folder.mkdir(exist_ok=True)
        files = [folder / f"Room {number}.txt" for number in texts]
        for file, text in zip(files, texts.values(), strict=True):
            file.write_text(text)
        subprocess.run(
            ["php", "maintenance/importTextFiles.php", "--overwrite", "-u", mediawiki.USER, *files],
            cwd=mediawiki.CODE,
            env={**os.environ, "MW_CONFIG_FILE": str(self.server.settings)},
            check=True,
            capture_output=True,
        )

    def path(self, number: int) -> str:
        return f"Room {number}.html"


@contextmanager
def open_place(kind: str, **server: Any) -> Iterator[Place]:
    """An empty place of a kind; VARIABLE is to hold PASSWORD, or the secret of a service. Skips
    where its server is not installed, but fails in CI."""
    # Of a short name, as servers have sockets below it.
    with TemporaryDirectory(prefix="ragstone-place-") as folder, ExitStack() as stack:
        root = Path(folder)
        if kind in CLOUD_SERVICES:
            service = CLOUD_SERVICES[kind]()
            stack.enter_context(serve(service))
            yield service
        elif kind == "imap":
            yield MailPlace(stack.enter_context(dovecot.run_dovecot()))
        elif kind == "mediawiki":
            wiki = stack.enter_context(mediawiki.run_mediawiki())
            wiki.remove("Main Page")
            yield WikiPlace(wiki)
        elif kind == "sql":
            yield TablePlace(root / "house.sqlite")
        elif kind == "folder":
            yield FilePlace(root / "house")
        else:
            if kind == "smb":
                require_samba()
            files = Samba(root) if kind == "smb" else FileServer(kind, root, **server)
            stack.callback(files.stop)
            files.start()
            yield FilePlace(files.folder, files)
