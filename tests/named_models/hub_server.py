"""A hub on this machine: what `huggingface_hub` asks for, in the shapes of the real one."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

LARGE = 100_000
"""Bytes from which a file is stored apart (LFS), with a SHA-256."""


@dataclass
class HubServer:
    """Repositories by name, each a folder for each commit. `asked` are the paths that were asked
    for; `gated` repositories refuse, `damaged` is a file that comes with other bytes,
    `breaks_at` one that does not come. `variables` lead a program here."""

    repositories: dict[str, dict[str, Path]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    gated: set[str] = field(default_factory=set)
    damaged: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    breaks_at: str = ""

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/models/{owner}/{name}", self._info),
                Route("/api/models/{owner}/{name}/revision/{revision}", self._info),
                Route("/api/models/{owner}/{name}/tree/{revision}", self._tree),
                Route("/{owner}/{name}/resolve/{revision}/{path:path}", self._file),
            ]
        )

    def add(self, repo: str, commit: str, folder: Path) -> None:
        """A commit that is the newest of main."""
        self.repositories.setdefault(repo, {})[commit] = folder
        self.branches[f"{repo}@main"] = commit

    def _found(self, request: Request) -> tuple[str, Path] | Response:
        """The commit that is asked for, and its folder."""
        self.asked.append(request.url.path)
        repo = f"{request.path_params['owner']}/{request.path_params['name']}"
        commits = self.repositories.get(repo)
        if commits is None:
            return _refused(401, "RepoNotFound", "Invalid username or password.")
        if repo in self.gated:
            return _refused(403, "GatedRepo", "Access to it is restricted.")
        revision = request.path_params.get("revision", "main")
        commit = self.branches.get(f"{repo}@{revision}", revision)
        if commit not in commits:
            return _refused(404, "RevisionNotFound", "Invalid rev id")
        return commit, commits[commit]

    async def _info(self, request: Request) -> Response:
        found = self._found(request)
        if isinstance(found, Response):
            return found
        commit, folder = found
        siblings = [
            {
                "rfilename": name,
                **({"lfs": entry["lfs"]} if "lfs" in entry else {}),
                "size": entry["size"],
            }
            for name, entry in _entries(folder).items()
        ]
        repo = f"{request.path_params['owner']}/{request.path_params['name']}"
        return JSONResponse({"_id": "1", "id": repo, "sha": commit, "siblings": siblings})

    async def _tree(self, request: Request) -> Response:
        found = self._found(request)
        if isinstance(found, Response):
            return found
        rows = [
            {"type": "file", "path": name, "oid": entry["oid"], "size": entry["size"]}
            | ({"lfs": _sha(entry["lfs"])} if "lfs" in entry else {})
            for name, entry in _entries(found[1]).items()
        ]
        return JSONResponse(rows)

    async def _file(self, request: Request) -> Response:
        found = self._found(request)
        if isinstance(found, Response):
            return found
        commit, folder = found
        name = request.path_params["path"]
        one = _entries(folder).get(name)
        if one is None:
            return _refused(404, "EntryNotFound", "Entry not found")
        data = (folder / name).read_bytes()
        if name == self.damaged:
            data = bytes(len(data))
        if name == self.breaks_at and request.method == "GET":
            return Response("out of order", 500)
        tag = one["lfs"]["sha256"] if "lfs" in one else one["oid"]
        headers = {
            "X-Repo-Commit": commit,
            "ETag": f'"{tag}"',
            "Accept-Ranges": "bytes",
            "Content-Length": str(len(data)),
        }
        return Response(b"" if request.method == "HEAD" else data, headers=headers)


def _refused(status: int, code: str, message: str) -> Response:
    return JSONResponse(
        {"error": message}, status, headers={"X-Error-Code": code, "X-Error-Message": message}
    )


def _entries(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            one: dict[str, Any] = {"size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            if len(data) >= LARGE:
                sha = hashlib.sha256(data).hexdigest()
                one["lfs"] = {"sha256": sha, "size": len(data), "pointerSize": 134}
            found[path.relative_to(folder).as_posix()] = one
    return found


def _sha(lfs: dict[str, Any]) -> dict[str, Any]:
    """As the tree writes it."""
    return {"oid": lfs["sha256"], "size": lfs["size"], "pointerSize": lfs["pointerSize"]}
