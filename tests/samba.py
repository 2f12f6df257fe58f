"""A real Samba: a share of a folder, whose files have the ACLs of Windows."""

import os
import shutil
import signal
import struct
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from smbclient._io import SMBFileTransaction, SMBRawIO
from smbprotocol.open import SMB2SetInfoRequest

from ragstone.plugins.sources.ntfs_rights import write_sid
from tests.ingest.sources.file_servers import PASSWORD, VARIABLE, wait_for_port
from tests.patience import PATIENCE
from tests.ports import free_port

USER = "games"
"""An account of every Debian, as Samba wants one of the machine."""

SMBD = shutil.which("smbd", path=f"{os.environ['PATH']}:/usr/sbin")
MODULES = list(Path("/usr/lib").glob("*/samba/vfs/acl_tdb.so"))

ALLOW, DENY = 0, 1
READ, WRITE, ALL = 0x120089, 0x116, 0x1F01FF

CONFIG = """
[global]
server role = standalone server
netbios name = FILES
interfaces = 127.0.0.1
bind interfaces only = yes
smb ports = {port}
disable netbios = yes
private dir = {root}/state
lock directory = {root}/state
state directory = {root}/state
cache directory = {root}/state
pid directory = {root}/state
ncalrpc dir = {root}/state/ncalrpc
log file = {root}/log
passdb backend = tdbsam
load printers = no
disable spoolss = yes
[share]
path = {root}/bucket
read only = no
admin users = {user}
vfs objects = acl_tdb
acl_tdb:ignore system acls = yes
store dos attributes = no
map archive = no
"""


def require_samba() -> None:
    """Skip where it is not installed, but fail in CI."""
    if SMBD is None or not MODULES or os.getuid() != 0:
        reason = "Samba is not there, or this is not root (make test-real installs it)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@dataclass
class Samba:
    """As `file_servers.FileServer`."""

    root: Path
    port: int = field(default_factory=free_port)
    kind: str = "smb"
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def folder(self) -> Path:
        return self.root / "bucket" / "house"

    @property
    def options(self) -> Mapping[str, str]:
        place = {"host": "127.0.0.1", "port": str(self.port), "share": "share", "path": "house"}
        return {**place, "rights": "no", "user": USER, "password": f"env:{VARIABLE}"}

    @property
    def config(self) -> Path:
        return self.root / "smb.conf"

    def start(self) -> None:
        assert SMBD is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.root / "state").mkdir(exist_ok=True)
        self.config.write_text(CONFIG.format(root=self.root, port=self.port, user=USER))
        subprocess.run(
            ["smbpasswd", "-c", self.config, "-a", "-s", USER],
            input=f"{PASSWORD}\n{PASSWORD}\n".encode(),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.process = subprocess.Popen(
            [SMBD, "--foreground", "--no-process-group", f"--configfile={self.config}"],
            start_new_session=True,
        )
        wait_for_port(self.port)

    def stop(self) -> None:
        if self.process is not None:
            # Each connection has a process of its own.
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(PATIENCE)
            self.process = None
            # What answers for accounts is a daemon that ends when nobody has asked for a while.
            helper = self.root / "state" / "samba-dcerpcd.pid"
            if helper.exists():
                with suppress(ProcessLookupError):
                    os.kill(int(helper.read_text()), signal.SIGTERM)

    def give_rights(self, name: str, *entries: tuple[int, str, int] | tuple[int, str, int, int]):
        """Set the ACL of a file: kinds, accounts and rights, with flags if there are."""
        self.set_descriptor(name, write_descriptor(entries))

    def set_descriptor(self, name: str, descriptor: bytes) -> None:
        cache: dict[str, Any] = {}
        login = {"username": USER, "password": PASSWORD, "port": self.port}
        raw = SMBRawIO(
            f"\\\\127.0.0.1\\share\\house\\{name}",
            "rb",
            "rwd",
            desired_access=0x60000,
            connection_cache=cache,
            **login,
        )
        request = SMB2SetInfoRequest()
        request["info_type"] = 3
        request["additional_information"] = 4
        request["file_id"] = raw.fd.file_id
        request["buffer"] = descriptor
        transaction = SMBFileTransaction(raw)
        transaction += (request, lambda sent: raw.fd.connection.receive(sent))
        transaction.commit()
        for connection in cache.values():
            connection.disconnect()


def write_descriptor(entries: Sequence[Sequence[Any]]) -> bytes:
    """A security descriptor with this ACL; see `Samba.give_rights`."""
    written = b""
    for kind, account, mask, *flags in entries:
        sid = write_sid(account)
        written += struct.pack("<BBHI", kind, *(flags or [0]), 8 + len(sid), mask) + sid
    acl = struct.pack("<BBHHH", 2, 0, 8 + len(written), len(entries), 0) + written
    return struct.pack("<BBHIIII", 1, 0, 0x9004, 0, 0, 0, 20) + acl


def find_sid(kind: str, number: int) -> str:
    """The SID that Samba has for a user or group of the machine."""
    return f"S-1-22-{1 if kind == 'user' else 2}-{number}"
