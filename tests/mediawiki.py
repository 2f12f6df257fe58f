"""A real MediaWiki on SQLite, behind PHP's own web server."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

from tests.ingest.sources.file_servers import wait_for_port
from tests.ports import free_port

USER, PASSWORD = "Ada", "open-sesame-4711"

CODE = Path(__file__).parents[1] / ".nox/wikis/usr/share/mediawiki"

SETTINGS = """
$wgMainCacheType = CACHE_NONE;
$wgJobRunRate = 0;
$wgRateLimits = [];
$wgPasswordAttemptThrottle = [];
"""


@dataclass
class MediaWikiServer:
    """The wiki with its data in `root`."""

    root: Path
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=60))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api.php"

    def install(self) -> None:
        (self.root / "data").mkdir()
        arguments = ["--confpath", self.root, "--dbtype", "sqlite", "--dbpath", self.root / "data"]
        address = ["--server", f"http://127.0.0.1:{self.port}", "--scriptpath", ""]
        wiki = ["--pass", PASSWORD, "House", USER]
        subprocess.run(
            ["php", "maintenance/install.php", *arguments, *address, *wiki],
            cwd=CODE,
            env={**os.environ, "MW_CONFIG_FILE": str(self.settings)},
            check=True,
            capture_output=True,
        )
        self.set(SETTINGS)

    @property
    def settings(self) -> Path:
        return self.root / "LocalSettings.php"

    def set(self, line: str) -> None:
        with self.settings.open("a") as file:
            file.write(f"{line}\n")

    def start(self) -> None:
        workers = {"MW_CONFIG_FILE": str(self.settings), "PHP_CLI_SERVER_WORKERS": "4"}
        self.process = subprocess.Popen(
            ["php", "-d", "opcache.revalidate_freq=0", "-S", f"127.0.0.1:{self.port}", "-t", CODE],
            env={**os.environ, **workers},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for_port(self.port)

    def stop(self) -> None:
        if self.process is not None:
            # Its workers are processes of their own.
            os.killpg(self.process.pid, 15)
            self.process.wait()
            self.process = None

    def ask(self, **parameters: str) -> Any:
        """What a program does that edits."""
        form = {"format": "json", "formatversion": "2", **parameters}
        told = self.http.post(self.url, data=form).raise_for_status().json()
        assert "error" not in told, told
        return told

    def sign_in(self) -> None:
        token = self.ask(action="query", meta="tokens", type="login")["query"]["tokens"]
        login = {"lgname": USER, "lgpassword": PASSWORD, "lgtoken": token["logintoken"]}
        assert self.ask(action="login", **login)["login"]["result"] == "Success"

    def change(self, action: str, **parameters: str) -> Any:
        token = self.ask(action="query", meta="tokens")["query"]["tokens"]["csrftoken"]
        return self.ask(action=action, token=token, **parameters)

    def put(self, title: str, text: str) -> None:
        self.change("edit", title=title, text=text)

    def remove(self, title: str) -> None:
        self.change("delete", title=title)


@contextmanager
def run_mediawiki() -> Iterator[MediaWikiServer]:
    """With an administrator who is signed in. Skips where it is not installed, but fails in CI."""
    if not CODE.exists() or shutil.which("php") is None:
        reason = "MediaWiki is not there (make test-real brings it)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with TemporaryDirectory(prefix="ragstone-mediawiki-") as folder:
        server = MediaWikiServer(Path(folder))
        server.install()
        server.start()
        try:
            server.sign_in()
            yield server
        finally:
            server.stop()
            server.http.close()
