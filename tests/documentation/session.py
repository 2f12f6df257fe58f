"""A reader's session: runs what a page shows, in a directory of its own.

Shell text is run by bash, where `ragstone` stands for the real command line in this process:
starting a process for each command would take a second. `ragstone serve` is a process; the session
goes on while it runs. Its port, 8006 in the documentation, is a free one here.
"""

import ast
import asyncio
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ragstone.cli import main
from ragstone.service.server_file import read_token
from tests.documentation.pages import ROOT
from tests.e2e.processes import environment, serving

ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):8006")
ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b")
LONGEST = 240
"""Seconds that a script may take."""

STAND_IN = """#!{python} -SE
import json, os, socket, sys
given = "" if sys.stdin.isatty() else sys.stdin.read()
link = socket.socket(socket.AF_UNIX)
link.connect({place!r})
asked = [sys.argv[1:], dict(os.environ), os.getcwd(), given]
link.sendall(json.dumps(asked).encode())
link.shutdown(socket.SHUT_WR)
written, status = json.loads(b"".join(iter(lambda: link.recv(65536), b"")))
for stream, text in written:
    (sys.stdout if stream == 1 else sys.stderr).write(text)
    (sys.stdout if stream == 1 else sys.stderr).flush()
sys.exit(status)
"""
"""What bash finds as `ragstone`: it hands its arguments to the session. Its input must have ended
before: a command in front of it in a pipe has its turn first."""


@dataclass(frozen=True)
class Done:
    """What was written, and the exit status."""

    output: str
    status: int


class Session:
    """Bash, the command line and Python on one data directory. Exports and `cd` stay."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.data = place / "data"
        self._work, self._home, self._bin = (place / n for n in ("work", "home", "bin"))
        self._socket = socket.socket(socket.AF_UNIX)
        self._stack = ExitStack()
        self._server = ExitStack()
        self._url = ""
        self._id = "ID"
        self._names: dict[str, Any] = {"__name__": "__main__"}

    def __enter__(self) -> "Session":
        for folder in (self._work, self._home, self._bin):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", self._work / "examples")
        link = self.place / "link"
        link.unlink(missing_ok=True)
        self._socket.bind(str(link))
        self._socket.listen()
        self._socket.settimeout(0.05)
        self._stack.callback(self._socket.close)
        self._stack.callback(self._server.close)
        command = self._bin / "ragstone"
        command.write_text(STAND_IN.format(python=sys.executable, place=str(link)))
        command.chmod(0o755)
        path = os.pathsep.join((str(self._bin), "/usr/local/bin", "/usr/bin", "/bin"))
        here = {"HOME": str(self._home), "PATH": path, "AUTH__GUESTS": "ask"}
        self._environment = environment(self.data, **here)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def shell(self, script: str) -> Done:
        """Run a script to its end, or to the first command of it that fails."""
        if ADDRESS.search(script):
            script = self._here(script)
        kept, folder = self.place / "environment", self.place / "folder"
        ending = f"trap 'env -0 > {kept}; pwd > {folder}' EXIT\n"
        with (self.place / "output").open("w+") as output:
            with subprocess.Popen(
                ["/bin/bash", "-e", "-o", "pipefail", "-c", ending + script],
                env=self._environment,
                cwd=self._work,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ) as process:
                self._answer_until_ended(process)
            output.seek(0)
            said = output.read()
        variables = kept.read_text().rstrip("\0").split("\0")
        self._environment = dict(variable.split("=", 1) for variable in variables)
        self._work = Path(folder.read_text().rstrip("\n"))
        return Done(self._there(said), process.returncode)

    def python(self, source: str) -> Done:
        """Run the text of a module, which may `await`; names stay for the next one."""
        if ADDRESS.search(source):
            source = self._here(source)
        code = compile(source, "<documentation>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        said = io.StringIO()
        with self._as_reader(), redirect_stdout(said):
            awaited = eval(code, self._names)
            if asyncio.iscoroutine(awaited):
                asyncio.run(awaited)
        return Done(self._there(said.getvalue()), 0)

    def request(self, text: str) -> httpx2.Response:
        """Send a request that is written as HTTP does: a line, headers, an empty line, a body.
        The token of the data directory goes with it."""
        head, _, body = text.partition("\n\n")
        first, *lines = head.splitlines()
        method, target = first.split()[:2]
        url = f"{self._served()}{target}"
        headers = dict(line.split(": ", 1) for line in lines)
        headers.setdefault("authorization", f"Bearer {read_token(self.data)}")
        if body.strip():
            headers.setdefault("content-type", "application/json")
        return httpx2.request(method, url, headers=headers, content=body.strip(), timeout=60)

    def _answer_until_ended(self, process: "subprocess.Popen[bytes]") -> None:
        """Run the commands that bash calls, until it ends."""
        for _ in range(LONGEST * 20):
            try:
                link, _address = self._socket.accept()
            except TimeoutError:
                if process.poll() is not None:
                    return
                continue
            with link, link.makefile("rb") as asked:
                link.sendall(json.dumps(self._called(*json.load(asked))).encode())
        process.kill()
        raise AssertionError("the script does not end")

    def _called(
        self, arguments: list[str], variables: dict[str, str], folder: str, given: str
    ) -> tuple[list[tuple[int, str]], int]:
        """What a command writes, by stream, and its exit status."""
        if arguments[:1] == ["serve"]:
            self._serve(variables)
            return [], 0
        arguments = [self._id if argument == "ID" else argument for argument in arguments]
        written: list[tuple[int, str]] = []
        with (
            self._as_reader(variables, folder),
            redirect_stdout(_stream(1, written.append)),
            redirect_stderr(_stream(2, written.append)),
            pytest.MonkeyPatch.context() as patched,
        ):
            patched.setattr(sys, "stdin", io.StringIO(given))
            patched.setattr(sys, "argv", ["ragstone", *arguments])
            status = self._status(main)
        if found := ID.search("".join(text for _, text in written)):
            self._id = found[0]
        return written, status

    def _status(self, command: Callable[[], None]) -> int:
        try:
            command()
        except SystemExit as ended:
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
                return 1
            return ended.code or 0
        return 0

    @contextmanager
    def _as_reader(
        self, variables: Mapping[str, str] | None = None, folder: str = ""
    ) -> Iterator[None]:
        """This process with the environment and the working directory of the session."""
        with pytest.MonkeyPatch.context() as patched:
            for name in set(os.environ):
                patched.delenv(name)
            for name, value in (variables or self._environment).items():
                patched.setenv(name, value)
            patched.chdir(folder or self._work)
            yield

    def _serve(self, variables: Mapping[str, str]) -> None:
        self._server.close()
        self._url = self._server.enter_context(serving(self.data, **variables))

    def _served(self) -> str:
        """The server's address; it starts if none runs."""
        if not self._url:
            self._serve(self._environment)
        return self._url

    def _here(self, text: str) -> str:
        return ADDRESS.sub(self._served().removeprefix("http://"), text)

    def _there(self, text: str) -> str:
        return (
            text.replace(self._url.removeprefix("http://"), "127.0.0.1:8006") if self._url else text
        )


class _Written(io.RawIOBase):
    def __init__(self, number: int, keep: Callable[[tuple[int, str]], None]) -> None:
        self._number, self._keep = number, keep

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._keep((self._number, bytes(data).decode()))
        return len(data)


def _stream(number: int, keep: Callable[[tuple[int, str]], None]) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_Written(number, keep), 1), "utf-8", write_through=True
    )
