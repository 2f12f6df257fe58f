"""A Git repository as a source: its newest commit, as a folder of this machine.

A repository is somebody else's: nothing in it is run, no link in it is followed, and it brings no
other repositories along.
"""

import asyncio
import base64
import os
import shutil
from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from ragstone.core.errors import SourceUnavailable
from ragstone.ingest.child_process import kill_session
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

SECONDS = 3_600.0
"""How long one call of git may take."""

SLOW_SECONDS = 60
"""How long a server may send almost nothing."""

MAX_SAID = 2**16
"""Bytes of what git says that are kept."""

PROTOCOLS = ("https", "http", "ssh", "file")


class GitOptions(SourceOptions):
    """Options of a repository."""

    url: str = Field(description="Its address: https://, ssh://, file:// or user@host:path.")
    branch: str = Field("", description="The branch; the repository's usual one if empty.")
    user: str = Field("", description="The user's name for https://.")
    password: SecretStr = Field(SecretStr(""), description="The password or token for https://.")

    @field_validator("url", "branch")
    @classmethod
    def _check_plain(cls, value: str) -> str:
        # What begins with a dash is an option to git, and `::` names a program to run.
        if value.startswith("-") or "::" in value or not value.isprintable():
            raise ValueError("this is not the name of a repository or branch")
        return value


class GitRepository:
    """`ports.sources.FolderSource` of a repository."""

    def __init__(self, name: str, options: GitOptions, folder: Path) -> None:
        self._options = options
        # What it is called is the first part of the documents' paths.
        self._clone = folder / name
        self._draft = folder / "draft"

    async def check(self) -> None:
        await self._git("ls-remote", "--exit-code", "--", self._options.url, self._reference)

    async def update(self) -> Path:
        if not (self._clone / ".git").is_dir():
            await asyncio.to_thread(self._begin)
            await self._git("init", "--quiet", "--", str(self._draft))
            await asyncio.to_thread(self._draft.rename, self._clone)
        await asyncio.to_thread(self._remove_locks)
        fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules")
        await self._git(*fetch, "--", self._options.url, self._reference, inside=True)
        await self._git("checkout", "--quiet", "--force", "--detach", "FETCH_HEAD", inside=True)
        await self._git("clean", "--quiet", "-ffdx", inside=True)
        return self._clone

    async def aclose(self) -> None:
        """`ports.sources.FolderSource`."""

    @property
    def _reference(self) -> str:
        return f"refs/heads/{self._options.branch}" if self._options.branch else "HEAD"

    def _begin(self) -> None:
        for folder in (self._draft, self._clone):
            shutil.rmtree(folder, ignore_errors=True)
        self._draft.mkdir(mode=0o700, parents=True)

    def _remove_locks(self) -> None:
        """Delete what a git that was killed has left; no other works here."""
        for lock in (self._clone / ".git").rglob("*.lock"):
            lock.unlink(missing_ok=True)

    async def _git(self, *arguments: str, inside: bool = False) -> None:
        """Run git. Raises SourceUnavailable with what it says."""
        place = ("-C", str(self._clone)) if inside else ()
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                *place,
                *arguments,
                env=self._environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise SourceUnavailable("There is no git on the server. Install it.") from error
        try:
            async with asyncio.timeout(SECONDS):
                said = await _read_end(process.stderr)
                await process.wait()
        except TimeoutError as error:
            raise SourceUnavailable(f"{self._options.url} took more than an hour.") from error
        finally:
            if process.returncode is None:
                kill_session(process)
                await process.wait()
        if process.returncode:
            raise SourceUnavailable(self._explain(said.decode("utf-8", "replace")))

    def _environment(self) -> dict[str, str]:
        """Return what git is told besides its arguments, which everybody on the machine can see."""
        config = {
            "core.symlinks": "false",
            "core.hooksPath": os.devnull,
            # A password is for the server that it was given for.
            "http.followRedirects": "false",
            # Whoever deletes the locks of a git that was killed must know that none is at work.
            "gc.autoDetach": "false",
            "maintenance.autoDetach": "false",
            "http.lowSpeedLimit": "1000",
            "http.lowSpeedTime": str(SLOW_SECONDS),
        }
        if password := self._options.password.get_secret_value():
            login = f"{self._options.user or 'git'}:{password}".encode()
            config["http.extraHeader"] = f"Authorization: Basic {base64.b64encode(login).decode()}"
        told = {f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(config)}
        told |= {f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(config.values())}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "RAGSTONE_"))
        }
        return {
            **kept,
            **told,
            "GIT_CONFIG_COUNT": str(len(config)),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": f"ssh -oBatchMode=yes -oConnectTimeout={SLOW_SECONDS}",
            "LC_ALL": "C",
        }

    def _explain(self, said: str) -> str:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        fatal = next((line for line in lines if line.startswith("fatal:")), "")
        reason = (fatal.removeprefix("fatal: ") or (lines[-1] if lines else "")).rstrip(".")
        if not reason:
            branch = self._options.branch
            reason = f"it has no branch {branch!r}" if branch else "it is empty"
        return f"The repository {self._options.url} cannot be read: {reason[:300]}."


async def _read_end(stream: asyncio.StreamReader | None) -> bytes:
    """Read all that git says, and return the end: a server can have it say any amount."""
    end = b""
    while stream and (part := await stream.read(MAX_SAID)):
        end = (end + part)[-MAX_SAID:]
    return end


def open_repository(parts: SourceParts[GitOptions]) -> GitRepository:
    """Make the source."""
    return GitRepository(parts.name, parts.options, parts.folder)


GIT = SourceKind("A Git repository.", GitOptions, open_repository, of_server=True)
