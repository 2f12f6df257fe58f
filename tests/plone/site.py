"""A real Plone site in a process of its own, and what its editors do, over its REST API."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.plone.inside import GROUPS, PASSWORD, USERS
from tests.ports import free_port

ROOT = Path(__file__).parent.parent.parent
PYTHON = os.environ.get("RAGSTONE_PLONE", str(ROOT / ".nox/plone" / "bin" / "python"))
"""The Python of an environment with Plone (`nox -s plone`)."""
STARTS = 240.0
"""Seconds in which a site is made on a busy machine."""

ROLES = ("Reader", "Editor", "Contributor", "Reviewer")
Item = dict[str, Any]


@dataclass
class PloneSite:
    """The site at `url`. Paths are those below it, and everything is done as its manager."""

    url: str
    _http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        headers = {"accept": "application/json"}
        self._http = httpx.Client(headers=headers, timeout=60, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def ask(
        self, method: str, path: str, body: Any = None, user: str = "sync", **query: Any
    ) -> Any:
        """What the site answers `user`, empty for a visitor."""
        auth = (user, PASSWORD) if user else None
        address = path if path.startswith("http") else f"{self.url}{path}"
        self._http.cookies.clear()  # A login's would make its user of everyone who asks after it.
        response = self._http.request(method, address, json=body, params=query, auth=auth)
        assert response.status_code < 300, (method, path, response.status_code, response.text[:400])
        return response.json() if response.content else None

    def found_by(self, user: str, **query: Any) -> dict[str, str]:
        """What Plone's own search finds for a user, empty for a visitor: paths by UID."""
        wanted = {"b_size": 5000, "metadata_fields": "UID", **query}
        items = self.ask("GET", "/@search", user=user, **wanted)["items"]
        return {item["UID"]: self.path(item["@id"]) for item in items}

    def path(self, address: str) -> str:
        return address.removeprefix(self.url) or "/"

    def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups and roles of a user, as credentials name them, from the site itself."""
        known = self.ask("GET", f"/@users/{user}")
        groups = {item["id"] for item in known["groups"]["items"]}
        return tuple(sorted({*known["roles"], *groups}))

    def add(self, where: str, kind: str, id: str, text: str = "", **fields: Any) -> Item:
        """A new object, private where its type has a workflow."""
        body = {"@type": kind, "id": id, "title": fields.pop("title", id.title()), **fields}
        if text and kind == "File":
            name = {"filename": f"{id}.txt", "content-type": "text/plain", "encoding": "utf-8"}
            body["file"] = {"data": text, **name}
        elif text:
            body["text"] = f"<p>{text}</p>"
        made: Item = self.ask("POST", where, body)
        return made

    def change(self, path: str, **fields: Any) -> None:
        self.ask("PATCH", path, fields)

    def transition(self, path: str, name: str) -> None:
        self.ask("POST", f"{path}/@workflow/{name}", {})

    def share(
        self, path: str, roles: Mapping[str, Sequence[str]] | None = None, inherit: bool = True
    ) -> None:
        """Give users and groups these roles, and take the others of theirs away."""
        entries = [
            {
                "id": name,
                "type": "group" if name in (*GROUPS, "AuthenticatedUsers") else "user",
                "roles": {role: role in has for role in ROLES},
            }
            for name, has in (roles or {}).items()
        ]
        self.ask("POST", f"{path}/@sharing", {"entries": entries, "inherit": inherit})

    def move(self, path: str, to: str) -> str:
        """Where it is now."""
        [done] = self.ask("POST", f"{to}/@move", {"source": f"{self.url}{path}"})
        return self.path(done["target"])

    def rename(self, path: str, id: str) -> str:
        self.change(path, id=id)
        return f"{path.rpartition('/')[0]}/{id}"

    def delete(self, path: str) -> None:
        self.ask("DELETE", path)

    def uid(self, path: str) -> str:
        return str(self.ask("GET", path)["UID"])

    def token(self, user: str = "sync") -> str:
        body = {"login": user, "password": PASSWORD}
        return str(self.ask("POST", "/@login", body, user="")["token"])

    def tokens_last(self, seconds: int) -> None:
        """Set how long the tokens live that the site gives from now on, in Zope's own form."""
        place = f"{self.url}/acl_users/jwt_auth"
        with httpx.Client(auth=("sync", PASSWORD), timeout=60, trust_env=False) as http:
            page = http.get(f"{place}/manage_config")
            known = re.search(r'name="_authenticator"[^>]* value="([^"]+)"', page.text)
            assert known, page.text
            form = {"token_timeout": str(seconds), "use_keyring": "on", "_authenticator": known[1]}
            done = http.post(f"{place}/manage_updateConfig", data=form)
        assert "Configuration+updated" in done.headers.get("location", ""), done.text


@contextmanager
def plone_site(folder: Path) -> Iterator[PloneSite]:
    """A new site, made in half a minute, with what `inside.py` puts into it."""
    assert Path(PYTHON).exists(), f"There is no Plone at {PYTHON}: run 'nox -s plone'."
    port = free_port()
    inside = Path(__file__).with_name("inside.py")
    log = folder / "plone.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [PYTHON, str(inside), str(folder / "instance"), str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": ""},
        )
        try:
            assert process.stdout
            lines = iter(process.stdout.readline, "")
            ready = any(line.strip() == "ready" for line in lines)
            assert ready, f"Plone did not start:\n{log.read_text()[-3000:]}"
            site = PloneSite(f"http://127.0.0.1:{port}/Plone")
            yield site
            site.close()
        finally:
            assert process.stdin
            assert process.stdout
            process.stdin.close()
            process.stdout.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


__all__ = ["GROUPS", "PASSWORD", "USERS", "PloneSite", "plone_site"]
