"""Real servers of files: rclone speaks WebDAV, S3 and SFTP for a folder of this machine."""

import shutil
import socket
import subprocess
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.ports import free_port

RCLONE = shutil.which("rclone", path=sysconfig.get_path("scripts"))

USER, PASSWORD = "ada", "open-sesame-4711"

VARIABLE = "RAGSTONE_SOURCE_FILES"

PATIENCE = 30.0


@dataclass
class FileServer:
    """A server whose files are below `root`; what a source of it reads is in a folder of that."""

    kind: str
    root: Path
    port: int = field(default_factory=free_port)
    host_key: str = ""
    remembers: str = "0s"
    """For how long it answers without a look at the disk."""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def folder(self) -> Path:
        return self.root / "bucket" / "house"

    @property
    def options(self) -> Mapping[str, str]:
        """Those of a source that reads the folder."""
        login = {"user": USER, "password": f"env:{VARIABLE}"}
        match self.kind:
            case "webdav":
                return {"url": f"http://127.0.0.1:{self.port}/bucket/house", **login}
            case "s3":
                endpoint = f"http://127.0.0.1:{self.port}"
                keys = {"key": USER, "secret": f"env:{VARIABLE}"}
                return {"bucket": "bucket", "prefix": "house", "endpoint": endpoint, **keys}
            case _:
                place = {"host": "127.0.0.1", "port": str(self.port), "path": "bucket/house"}
                return {**place, "host_key": self.host_key, **login}

    def start(self) -> None:
        assert RCLONE is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        arguments = ["--user", USER, "--pass", PASSWORD]
        if self.kind == "s3":
            arguments = ["--auth-key", f"{USER},{PASSWORD}"]
        if self.kind == "sftp":
            key = self.root / "host_key"
            if not key.exists():
                subprocess.run(["ssh-keygen", "-qt", "ed25519", "-N", "", "-f", key], check=True)
            self.host_key = key.with_suffix(".pub").read_text().strip()
            arguments += ["--key", str(key)]
        self.process = subprocess.Popen(
            [
                *(RCLONE, "--config=", "serve", self.kind, str(self.root)),
                *(
                    "--addr",
                    f"127.0.0.1:{self.port}",
                    f"--dir-cache-time={self.remembers}",
                    *arguments,
                ),
            ],
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.port)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def wait_for_port(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
