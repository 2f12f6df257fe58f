"""A real mail server: Dovecot, with the mailboxes of one user."""

import imaplib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.ingest.sources.file_servers import wait_for_port
from tests.patience import PATIENCE
from tests.ports import free_port

USER, PASSWORD = "ada", "open-sesame-4711"

OWNER = 65_534
"""The user and the group that have nothing else, in every Debian."""

CONFIG = """
protocols = imap
listen = 127.0.0.1
base_dir = {root}/run
state_dir = {root}/state
log_path = {root}/log
ssl = {ssl}
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = mdbox:{root}/mail
mailbox_list_index = yes
auth_failure_delay = 0
default_vsz_limit = 0
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={root}/home
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Trash {{
    auto = create
    special_use = \\Trash
  }}
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
"""


@dataclass
class Dovecot:
    """The server with its data in `root`."""

    root: Path
    certificate: Path | None = None
    port: int = field(default_factory=free_port)
    tls_port: int = field(default_factory=free_port)
    password: str = PASSWORD
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        # Root reads nobody's mail, and its login processes are another user.
        self.root.chmod(0o755)
        for name in ("home", "mail"):
            folder = self.root / name
            folder.mkdir(exist_ok=True)
            os.chown(folder, OWNER, OWNER)
        tls = f"yes\nssl_cert = <{self.certificate}\nssl_key = <{self.certificate}"
        config = self.root / "dovecot.conf"
        config.write_text(
            CONFIG.format(
                root=self.root,
                ssl=tls if self.certificate else "no",
                password=self.password,
                uid=OWNER,
                gid=OWNER,
                port=self.port,
                tls_port=self.tls_port if self.certificate else 0,
            )
        )
        program = find_dovecot()
        assert program is not None
        self.process = subprocess.Popen([program, "-F", "-c", str(config)])
        wait_for_port(self.port)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None

    @contextmanager
    def open(self) -> Iterator[imaplib.IMAP4]:
        """What a mail program does."""
        with imaplib.IMAP4("127.0.0.1", self.port) as client:
            client.login(USER, self.password)
            yield client

    def put(self, text: str, subject: str, mailbox: str = "INBOX", *head: str) -> None:
        lines = [f"Subject: {subject}", "From: Ada <ada@x.org>", *head, "", text]
        with self.open() as client:
            client.create(mailbox)
            done, told = client.append(mailbox, "", "", "\r\n".join(lines).encode())
            assert done == "OK", told

    def remove(self, uid: int, mailbox: str = "INBOX") -> None:
        with self.open() as client:
            client.select(mailbox)
            client.uid("STORE", str(uid), "+FLAGS", r"(\Deleted)")


def find_dovecot() -> str | None:
    return shutil.which("dovecot", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


@contextmanager
def run_dovecot(certificate: Path | None = None) -> Iterator[Dovecot]:
    """Skips where it is not installed or this is not root, but fails in CI."""
    if find_dovecot() is None or os.getuid() != 0:
        reason = "Dovecot is not there, or this is not root (make test-real installs it)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with TemporaryDirectory(prefix="ragstone-dovecot-") as folder:
        server = Dovecot(Path(folder))
        if certificate:
            server.certificate = Path(shutil.copy(certificate, folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
