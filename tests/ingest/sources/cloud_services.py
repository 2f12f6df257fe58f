"""Services of the cloud, as their public documentation prints their answers. None of them is real.

Each holds texts by number, and answers over HTTP what a source asks: pages of few entries, tokens
that end, and what a test says that goes wrong.
"""

import base64
import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.ingest.sources.file_servers import PASSWORD, VARIABLE

SECRET = f"env:{VARIABLE}"

PER_PAGE = 3


@dataclass(frozen=True)
class Asked:
    """A request."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What is answered; a text as it is, all else as JSON."""

    content: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Text:
    """A text that the service holds: who may read it, by names of the service, and when it was
    changed."""

    content: str
    readers: Sequence[str] = ("ada",)
    version: int = 1


class CloudService(ABC):
    """What the services have in common. `troubles` are what is answered once to paths that match,
    `fetched` the texts that were read."""

    kind: str

    def __init__(self) -> None:
        self.address = ""
        self.texts: dict[int, Text] = {}
        self.fetched: list[int] = []
        self.asked: list[str] = []
        self.troubles: list[tuple[str, Answer]] = []
        self.is_expired = False

    @property
    def secret(self) -> str:
        """What the variable of the server holds."""
        return PASSWORD

    @property
    @abstractmethod
    def options(self) -> dict[str, str]:
        """Those of a source that reads it."""

    @abstractmethod
    def path(self, number: int) -> str:
        """Where the document of a text is below the source's folder."""

    @abstractmethod
    def answer(self, asked: Asked) -> Answer: ...

    def put(self, texts: Mapping[int, str]) -> None:
        """Add texts, or change what they are."""
        for number, content in texts.items():
            known = self.texts.get(number)
            if known is None:
                self.texts[number] = Text(content)
            else:
                known.content = content
                known.version += 1
            self.note(number)

    def remove(self, number: int) -> None:
        """Delete a text."""
        del self.texts[number]
        self.note(number)

    def share(self, number: int, *readers: str) -> None:
        """Have a text be for others."""
        self.texts[number].readers = readers
        self.note(number)

    def close(self, number: int) -> None:
        """Have a text be for nobody that is known."""
        self.share(number)

    @abstractmethod
    def list_rows(self, rows: list[Any], link: str) -> dict[str, Any]:
        """A page of a listing that leads to a link."""

    def note(self, number: int) -> None:
        """Remember that something of this text has changed."""
        return

    def fetch(self, number: int) -> str:
        """The content, which is read."""
        self.fetched.append(number)
        return self.texts[number].content

    def respond(self, asked: Asked) -> Answer:
        """The answer to a request, or what a test has in its place."""
        self.asked.append(asked.path)
        for number, (path, trouble) in enumerate(self.troubles):
            if re.match(path, asked.path):
                del self.troubles[number]
                return trouble
        return self.answer(asked)

    def page(self, rows: Sequence[Any], start: str) -> tuple[Sequence[Any], str]:
        """The rows of a page, and where the next one begins; empty behind the last."""
        first = int(start or 0)
        end = first + PER_PAGE
        return rows[first:end], str(end) if end < len(rows) else ""


@contextmanager
def serve(service: CloudService) -> Iterator[None]:
    """Have a service answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            url = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(url.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = service.respond(Asked(unquote(url.path), query, headers, body))
            content = answer.content
            sent = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(sent)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


DRIVE = "b!drive"
NOT_THERE = Answer({"error": {"code": "itemNotFound", "message": "Not found."}}, 404)


class Graph(CloudService):
    """A library in a folder `Rooms`, which all may not read."""

    kind = "sharepoint"

    def __init__(self) -> None:
        super().__init__()
        self.tokens = 0
        self.roles = ["Sites.FullControl.All"]
        self.changes: list[str] = []
        self.folder = "Rooms"
        self.grants: list[dict[str, Any]] = []
        """Further permissions of every file, as Graph has them."""
        self.root_grants: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []
        """Further entries of the folder."""
        self.forgets = False

    @property
    def options(self) -> dict[str, str]:
        return {
            "tenant": "x.org",
            "client": "app",
            "secret": SECRET,
            "site": "https://x.sharepoint.com/sites/house",
            "login": self.address,
            "graph": f"{self.address}/v1.0",
        }

    def path(self, number: int) -> str:
        return f"{self.folder}/{number}.txt"

    def list_rows(self, rows: list[Any], link: str) -> dict[str, Any]:
        return {"value": rows, "@odata.nextLink": link}

    def note(self, number: int) -> None:
        self.changes.append(f"file-{number}")

    def move(self, folder: str) -> None:
        """Give the folder another name."""
        self.folder = folder
        self.changes.append("folder-1")

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/x.org/oauth2/v2.0/token":
            return self.sign_in(asked)
        if asked.path.startswith("/download/"):
            # The address itself lets in whoever has it, and nobody may learn the token there.
            if "authorization" in asked.headers:
                return Answer("A token was sent.", 400)
            return Answer(self.fetch(int(asked.path.rpartition("-")[2])))
        if asked.headers.get("authorization") != f"Bearer {self.token}":
            message = "Access token has expired or is not yet valid."
            return Answer(
                {"error": {"code": "InvalidAuthenticationToken", "message": message}}, 401
            )
        path = asked.path.removeprefix("/v1.0")
        if path == "/$batch":
            requests = json.loads(asked.body)["requests"]
            told = [self.answer_part(request) for request in reversed(requests)]
            return Answer({"responses": told})
        if path == "/sites/x.sharepoint.com:/sites/house":
            return Answer({"id": "x.sharepoint.com,1,2", "displayName": "House"})
        if path in ("/sites/x.sharepoint.com,1,2/drive", "/users/ada@x.org/drive"):
            return Answer({"id": DRIVE, "driveType": "documentLibrary", "name": "Documents"})
        if path == "/sites/x.sharepoint.com,1,2/drives":
            return Answer({"value": [{"id": DRIVE, "name": "Documents"}]})
        return self.answer_drive(path.removeprefix(f"/drives/{DRIVE}"), asked)

    @property
    def token(self) -> str:
        told = json.dumps({"roles": self.roles, "n": self.tokens}).encode()
        return f"e30.{base64.urlsafe_b64encode(told).decode().rstrip('=')}.c2ln"

    def sign_in(self, asked: Asked) -> Answer:
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        if self.is_expired or form.get("client_secret") != PASSWORD:
            reason = "AADSTS7000222: The client secret is expired."
            return Answer({"error": "invalid_client", "error_description": reason}, 401)
        assert form["grant_type"] == "client_credentials", form
        return Answer({"token_type": "Bearer", "expires_in": 3599, "access_token": self.token})

    def answer_part(self, request: Mapping[str, Any]) -> dict[str, Any]:
        path = f"/v1.0{request['url']}"
        answer = self.respond(Asked(path, {}, {"authorization": f"Bearer {self.token}"}, b""))
        body = {"body": answer.content} if answer.content else {}
        return {"id": request["id"], "status": answer.status, "headers": answer.headers, **body}

    def answer_drive(self, path: str, asked: Asked) -> Answer:
        base = f"{self.address}{asked.path}"
        if path == "/root/delta":
            return self.answer_delta(asked)
        if path == "/root/permissions":
            return Answer({"value": self.root_grants})
        if path == "/root/children":
            folder = {"id": "folder-1", "name": self.folder, "folder": {"childCount": 1}}
            return Answer({"value": [folder]})
        id, _, rest = path.removeprefix("/items/").partition("/")
        if rest == "children" and id == "folder-1":
            files = [self.describe(number) for number in sorted(self.texts)]
            rows, further = self.page([*files, *self.entries], asked.query.get("$skiptoken", ""))
            next_link = {"@odata.nextLink": f"{base}?$skiptoken={further}"} if further else {}
            return Answer({"value": rows, **next_link})
        number = int(id.rpartition("-")[2])
        if number not in self.texts:
            return NOT_THERE
        if rest == "permissions":
            grants = [make_grant(name) for name in self.texts[number].readers]
            return Answer({"value": [*grants, *self.grants]})
        if rest == "content":
            return Answer("", 302, {"Location": f"{self.address}/download/{id}"})
        return NOT_THERE

    def answer_delta(self, asked: Asked) -> Answer:
        assert "deltashowsharingchanges" in asked.headers["prefer"]
        since = asked.query["token"]
        if self.forgets and since != "latest":
            return Answer({"error": {"code": "resyncRequired", "message": "Resync."}}, 410)
        start = len(self.changes) if since == "latest" else int(since)
        rows: list[dict[str, Any]] = [{"id": "root-1", "root": {}, "folder": {}}]
        for id in dict.fromkeys(self.changes[start:]):
            is_folder = id.startswith("folder")
            gone = not is_folder and int(id.rpartition("-")[2]) not in self.texts
            facet = "deleted" if gone else "folder" if is_folder else "file"
            rows.append({"id": id, facet: {}})
        page, further = self.page(rows, asked.query.get("at", ""))
        base = f"{self.address}/v1.0/drives/{DRIVE}/root/delta"
        if further:
            return Answer({"value": page, "@odata.nextLink": f"{base}?token={since}&at={further}"})
        return Answer({"value": page, "@odata.deltaLink": f"{base}?token={len(self.changes)}"})

    def describe(self, number: int) -> dict[str, Any]:
        return {
            "id": f"file-{number}",
            "name": f"{number}.txt",
            "cTag": f'"c:{{{number}}},{self.texts[number].version}"',
            "webUrl": f"https://x.sharepoint.com/sites/house/Rooms/{number}.txt",
            "lastModifiedDateTime": "2026-03-01T10:00:00Z",
            "file": {"mimeType": "text/plain"},
        }


class Atlassian(CloudService):
    """A product of a site whose accounts are known by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.members = {"staff-id": ["ada", "bob", "cleo"], "hr-id": ["bob", "dan"]}
        self.hidden_mails: set[str] = set()

    def close(self, number: int) -> None:
        self.share(number, "zoe")

    def refuses(self, asked: Asked) -> bool:
        """Whether who asks has not signed in."""
        login = base64.b64encode(f"bot@x.org:{PASSWORD}".encode()).decode()
        return self.is_expired or asked.headers.get("authorization") != f"Basic {login}"


def make_grant(name: str) -> dict[str, Any]:
    """A permission of an account."""
    user = {"id": f"id-{name}", "displayName": name.title(), "email": f"{name}@x.org"}
    site_user = {"id": "7", "loginName": f"i:0#.f|membership|{name}@x.org", **user}
    granted = {"user": user, "siteUser": site_user}
    return {"id": f"permission-{name}", "roles": ["read"], "grantedToV2": granted}


class Confluence(Atlassian):
    """A space `HOUSE`, whose viewers are the group `staff`, with Ada and Bob in it."""

    kind = "confluence"

    def __init__(self) -> None:
        super().__init__()
        self.viewers = [("group", "staff-id")]
        self.ancestors: dict[int, list[str]] = {}
        self.others: dict[str, Sequence[str]] = {}
        """Readers of what is no page, such as folders, by its id."""
        self.attachments: dict[int, int] = {}
        """The pages of texts that are attached to one."""

    @property
    def options(self) -> dict[str, str]:
        url = f"{self.address}/wiki"
        return {"url": url, "user": "bot@x.org", "token": SECRET, "spaces": "HOUSE"}

    def path(self, number: int) -> str:
        if number in self.attachments:
            page = self.attachments[number]
            return f"HOUSE/Room {page} {page}/{number}.txt"
        return f"HOUSE/Room {number} {number}.html"

    def list_rows(self, rows: list[Any], link: str) -> dict[str, Any]:
        return {"results": rows, "_links": {"next": link}}

    def answer(self, asked: Asked) -> Answer:
        if asked.path.startswith("/download/"):
            return Answer(self.fetch(int(asked.path.rpartition("/")[2])))
        if self.refuses(asked):
            return Answer({"message": "Basic authentication failed."}, 401)
        path = asked.path.removeprefix("/wiki")
        base = {"base": f"{self.address}/wiki"}
        if path == "/api/v2/spaces":
            space = {"id": "65", "key": "HOUSE", "name": "House", "type": "global"}
            return Answer({"results": [space], "_links": base})
        if path == "/api/v2/spaces/65/permissions":
            read = {"key": "read", "targetType": "space"}
            told = [
                {"id": str(n), "principal": {"type": kind, "id": id}, "operation": operation}
                for n, (kind, id) in enumerate([*self.viewers, ("user", "eve")])
                for operation in [read if id != "eve" else {"key": "delete", "targetType": "page"}]
            ]
            return Answer({"results": told, "_links": base})
        if path == "/rest/api/content/search":
            return self.search(asked)
        parts = path.split("/")[3:]
        return self.answer_people(parts, asked) or self.answer_content(parts, asked)

    def answer_people(self, parts: Sequence[str], asked: Asked) -> Answer | None:
        match parts:
            case ["group", "by-id"]:
                id = asked.query["id"]
                return Answer({"type": "group", "name": id.removesuffix("-id"), "id": id})
            case ["group", id, "membersByGroupId"]:
                rows = [self.describe_user(name) for name in self.members.get(id, [])]
                return Answer({"results": rows, "start": 0, "limit": 200, "size": len(rows)})
            case ["user"]:
                return Answer(self.describe_user(asked.query["accountId"]))
        return None

    def answer_content(self, parts: Sequence[str], asked: Asked) -> Answer:
        match parts:
            case ["pages", id] if int(id) in self.texts:
                assert asked.query["body-format"] == "storage"
                text = f"<p>{self.fetch(int(id))}</p>"
                body = {"storage": {"value": text, "representation": "storage"}}
                return Answer({"id": id, "status": "current", "body": body})
            case ["content", _, "child", "attachment", id, "download"]:
                place = f"{self.address}/download/{id.removeprefix('att')}"
                return Answer("", 302, {"Location": place})
            case ["content", id, "restriction", "byOperation", "read"] if id in self.others:
                told = {"restrictions": self.restrict(self.others[id])}
                return Answer({"operation": "read", **told})
        return Answer({"statusCode": 404, "message": "No content found."}, 404)

    def search(self, asked: Asked) -> Answer:
        cql, expand = asked.query["cql"], asked.query["expand"].split(",")
        assert cql.startswith('space = "HOUSE" and type '), cql
        attached = "type = attachment" in cql
        numbers = [
            number for number in sorted(self.texts) if (number in self.attachments) == attached
        ]
        rows, further = self.page(numbers, asked.query.get("cursor", ""))
        told = {
            "results": [self.describe(number, expand) for number in rows],
            "start": 0,
            "limit": PER_PAGE,
            "size": len(rows),
            "_links": {"base": f"{self.address}/wiki", "context": "/wiki"},
        }
        if further:
            query = f"cql={quote(cql)}&expand={','.join(expand)}&cursor={further}"
            told["_links"]["next"] = f"/rest/api/content/search?{query}"  # type: ignore[index]
        return Answer(told)

    def describe(self, number: int, expand: Sequence[str]) -> dict[str, Any]:
        text = self.texts[number]
        version = {"number": text.version, "when": "2026-03-01T10:00:00.000Z"}
        links = {"webui": f"/spaces/HOUSE/pages/{number}"}
        if number in self.attachments:
            page = self.attachments[number]
            container = {"id": str(page), "type": "page", "title": f"Room {page}"}
            told: dict[str, Any] = {"id": f"att{number}", "type": "attachment"}
            told |= {"title": f"{number}.txt", "container": container}
        else:
            told = {"id": str(number), "type": "page", "title": f"Room {number}"}
        told |= {"version": version, "_links": links}
        if "ancestors" in expand:
            told["ancestors"] = [{"id": id} for id in self.ancestors.get(number, [])]
        if any(name.startswith("restrictions.") for name in expand):
            read = {"operation": "read", "restrictions": self.restrict(text.readers)}
            told["restrictions"] = {"read": read}
        return told

    def restrict(self, readers: Sequence[str]) -> dict[str, Any]:
        groups = [
            {"type": "group", "name": name.removeprefix("group:"), "id": f"{name[6:]}-id"}
            for name in readers
            if name.startswith("group:")
        ]
        users = [self.describe_user(name) for name in readers if not name.startswith("group:")]
        return {
            "user": {"results": users, "start": 0, "limit": 100, "size": len(users)},
            "group": {"results": groups, "start": 0, "limit": 100, "size": len(groups)},
        }

    def describe_user(self, name: str) -> dict[str, Any]:
        mail = "" if name in self.hidden_mails else f"{name.title()}@x.org"
        return {"type": "known", "accountId": name, "accountType": "atlassian", "email": mail}


def describe_account(name: str) -> dict[str, Any]:
    """An account as Jira has it."""
    told = {"accountId": name, "accountType": "atlassian", "displayName": name.title()}
    return {**told, "emailAddress": f"{name.title()}@x.org", "active": True}


def hold(kind: str, parameter: str = "", value: str = "") -> dict[str, Any]:
    """Whom a right is given to."""
    return {"type": kind, "parameter": parameter, "value": value or parameter}


class Jira(Atlassian):
    """A project `HOUSE`, which the role 10002 may browse: the group `staff`, with Ada and Bob.

    A text is an issue of a security level of its own, whose members are its readers.
    """

    kind = "jira"

    def __init__(self) -> None:
        super().__init__()
        self.browsing = [hold("projectRole", "10002")]
        self.actors: list[dict[str, Any]] = [
            {
                "id": 1,
                "type": "atlassian-group-role-actor",
                "actorGroup": {"name": "staff", "groupId": "staff-id"},
            }
        ]
        self.levels: dict[int, list[dict[str, Any]]] = {}
        """Further members of levels of texts."""
        self.has_scheme = True
        self.shows_level = True
        self.comments: list[dict[str, Any]] = []
        self.attachments: dict[int, int] = {}
        """The issues of texts that are attached to one."""

    @property
    def options(self) -> dict[str, str]:
        return {"url": self.address, "user": "bot@x.org", "token": SECRET, "projects": "HOUSE"}

    def path(self, number: int) -> str:
        if number in self.attachments:
            return f"HOUSE/HOUSE-{self.attachments[number]}/plan {number}.txt"
        return f"HOUSE/HOUSE-{number}.html"

    def list_rows(self, rows: list[Any], link: str) -> dict[str, Any]:
        return {"issues": rows, "_links": {"next": link}}

    def answer(self, asked: Asked) -> Answer:
        if asked.path.startswith("/download/"):
            return Answer(self.fetch(int(asked.path.rpartition("/")[2])))
        if self.refuses(asked):
            return Answer({"message": "Basic authentication failed."}, 401)
        parts, start = asked.path.split("/")[4:], asked.query.get("startAt", "")
        return (
            self.answer_rights(parts, start)
            or self.answer_people(parts, asked, start)
            or self.answer_content(parts, asked, start)
        )

    def answer_rights(self, parts: Sequence[str], start: str) -> Answer | None:
        match parts:
            case ["project", "search"]:
                return Answer(self.list_values([{"id": "1", "key": "HOUSE"}], start))
            case ["project", "HOUSE"]:
                return Answer({"id": "1", "key": "HOUSE", "name": "House"})
            case ["project", "HOUSE", "permissionscheme"]:
                told = [
                    {"id": n, "holder": holder, "permission": permission}
                    for permission, holders in (
                        ("BROWSE_PROJECTS", self.browsing),
                        ("CREATE_ISSUES", [hold("anyone")]),
                    )
                    for n, holder in enumerate(holders)
                ]
                return Answer({"id": 10000, "name": "Usual", "permissions": told})
            case ["project", "HOUSE", "role", "10002"]:
                return Answer({"id": 10002, "name": "Members", "actors": self.actors})
            case ["project", "HOUSE", "issuesecuritylevelscheme"] if self.has_scheme:
                return Answer({"id": 10001, "name": "Levels", "levels": []})
            case ["issuesecurityschemes", "10001", "members"]:
                return Answer(self.list_values(self.list_members(), start))
        return None

    def answer_people(self, parts: Sequence[str], asked: Asked, start: str) -> Answer | None:
        match parts:
            case ["group", "member"]:
                rows = list(map(describe_account, self.members.get(asked.query["groupId"], [])))
                return Answer(self.list_values(rows, start))
            case ["group", "bulk"]:
                id = asked.query["groupId"]
                row = {"groupId": id, "name": id.removesuffix("-id")}
                return Answer(self.list_values([row], start))
            case ["user"]:
                return Answer(describe_account(asked.query["accountId"]))
        return None

    def answer_content(self, parts: Sequence[str], asked: Asked, start: str) -> Answer:
        match parts:
            case ["search", "jql"]:
                return self.search(asked)
            case ["issue", id] if int(id) in self.texts:
                return Answer(self.describe_issue(int(id)))
            case ["issue", _, "comment"]:
                rows, _ = self.page(self.comments, start)
                told = {"startAt": int(start or 0), "total": len(self.comments)}
                return Answer({**told, "maxResults": PER_PAGE, "comments": rows})
            case ["attachment", "content", id]:
                return Answer("", 303, {"Location": f"{self.address}/download/{id}"})
        return Answer({"errorMessages": ["It does not exist."], "errors": {}}, 404)

    def list_values(self, rows: Sequence[Any], start: str) -> dict[str, Any]:
        page, further = self.page(rows, start)
        told = {"startAt": int(start or 0), "maxResults": PER_PAGE, "total": len(rows)}
        return {**told, "isLast": not further, "values": page}

    def list_members(self) -> list[dict[str, Any]]:
        members = []
        for number, text in self.texts.items():
            holders = [hold("user", name) for name in text.readers if ":" not in name]
            groups = [name[6:] for name in text.readers if name.startswith("group:")]
            holders += [hold("group", name, f"{name}-id") for name in groups]
            holders += self.levels.get(number, [])
            members += [
                {"id": str(n), "issueSecurityLevelId": str(number), "holder": holder}
                for n, holder in enumerate(holders)
            ]
        return members

    def search(self, asked: Asked) -> Answer:
        assert asked.query["jql"] == 'project = "HOUSE" ORDER BY created', asked.query
        numbers = [number for number in sorted(self.texts) if number not in self.attachments]
        rows, further = self.page(numbers, asked.query.get("nextPageToken", ""))
        token = {"nextPageToken": further} if further else {}
        return Answer({"issues": [self.describe(n) for n in rows], "isLast": not further, **token})

    def describe(self, number: int) -> dict[str, Any]:
        text = self.texts[number]
        attached = [n for n, issue in self.attachments.items() if issue == number]
        fields: dict[str, Any] = {
            "summary": f"Room {number}",
            "updated": f"2026-03-01T10:00:{text.version:02}.000+0000",
            "reporter": describe_account("ada"),
            "assignee": None,
            "attachment": [{"id": str(n), "filename": "plan.txt", "size": 9} for n in attached],
        }
        if self.shows_level:
            fields["security"] = {"id": str(number), "name": "Level"} if text.readers else None
        return {"id": str(number), "key": f"HOUSE-{number}", "fields": fields}

    def describe_issue(self, number: int) -> dict[str, Any]:
        fields = {
            "summary": f"Room {number}",
            "status": {"name": "In progress"},
            "labels": ["green", "large"],
            "assignee": describe_account("bob"),
            "reporter": None,
        }
        rendered = {"description": f"<p>{self.fetch(number)}</p>"}
        return {"id": str(number), "fields": fields, "renderedFields": rendered}


FOLDER = "application/vnd.google-apps.folder"


@cache
def _make_key() -> rsa.RSAPrivateKey:
    """Return the key of every account: making another takes a tenth of a second."""
    return rsa.generate_private_key(65_537, 2_048)


class Drive(CloudService):
    """Files in a folder `Rooms` of My Drive, or of a shared drive; `kinds` are media types of
    those that are no files of text."""

    kind = "drive"

    def __init__(self, shared: str = "") -> None:
        super().__init__()
        self.shared = shared
        self.private_key = _make_key()
        self.changes: list[str] = []
        self.folder = "Rooms"
        self.grants: list[dict[str, Any]] = []
        """Further permissions of every file, as Drive has them."""
        self.members: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []
        """Further files and folders."""
        self.kinds: dict[int, str] = {}
        self.is_incomplete = False
        self.forgets = False

    @property
    def secret(self) -> str:
        pem = self.private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return json.dumps(
            {
                "type": "service_account",
                "client_email": "ragstone@house.iam.gserviceaccount.com",
                "private_key": pem.decode(),
                "token_uri": f"{self.address}/token",
            }
        )

    @property
    def options(self) -> dict[str, str]:
        drive = {"drive": self.shared} if self.shared else {}
        return {"key": SECRET, "user": "ada@x.org", "api": f"{self.address}/drive/v3", **drive}

    def path(self, number: int) -> str:
        return f"{self.folder}/{number}.txt"

    def list_rows(self, rows: list[Any], link: str) -> dict[str, Any]:
        return {"files": rows, "nextPageToken": link}

    def note(self, number: int) -> None:
        self.changes.append(f"file-{number}")

    def move(self, folder: str) -> None:
        """Give the folder another name."""
        self.folder = folder
        self.changes.append("folder-1")

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/token":
            return self.sign_in(asked)
        if asked.headers.get("authorization") != "Bearer ya29.token":
            return Answer({"error": {"code": 401, "message": "Invalid Credentials"}}, 401)
        parts, token = asked.path.split("/")[3:], asked.query.get("pageToken", "")
        return self.answer_drive(parts, token) or self.answer_files(parts, asked, token)

    def answer_drive(self, parts: Sequence[str], token: str) -> Answer | None:
        match parts:
            case ["about"]:
                return Answer({"kind": "drive#about"})
            case ["drives", id] if id == self.shared:
                return Answer({"kind": "drive#drive"})
            case ["changes", "startPageToken"]:
                return Answer({"startPageToken": str(len(self.changes))})
            case ["changes"]:
                return self.answer_changes(token)
        return None

    def answer_files(self, parts: Sequence[str], asked: Asked, token: str) -> Answer:
        match parts:
            case ["files"]:
                rows, further = self.page(self.list_files(asked.query), token)
                told = {"nextPageToken": further} if further else {}
                return Answer({**told, "incompleteSearch": self.is_incomplete, "files": rows})
            case ["files", id, "permissions"]:
                rows, further = self.page(self.list_grants(id), token)
                told = {"nextPageToken": further} if further else {}
                return Answer({**told, "permissions": rows})
            case ["files", id]:
                assert asked.query["alt"] == "media", asked.query
                return Answer(self.fetch(int(id.rpartition("-")[2])))
            case ["files", id, "export"]:
                self.fetch(int(id.rpartition("-")[2]))
                return Answer(f"Exported as {asked.query['mimeType']}.")
        return Answer({"error": {"code": 404, "message": "File not found."}}, 404)

    def sign_in(self, asked: Asked) -> Answer:
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        claims = jwt.decode(
            form["assertion"],
            self.private_key.public_key(),
            ["RS256"],
            audience=f"{self.address}/token",
        )
        assert claims["scope"].endswith("/auth/drive.readonly"), claims
        if self.is_expired or claims["sub"] != "ada@x.org":
            told = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
            return Answer(told, 400)
        return Answer({"access_token": "ya29.token", "expires_in": 3599, "token_type": "Bearer"})

    def answer_changes(self, token: str) -> Answer:
        if self.forgets:
            return Answer({"error": {"code": 400, "message": "Invalid page token."}}, 400)
        rows = [
            {
                "changeType": "file",
                "fileId": id,
                "file": {"mimeType": FOLDER if id.startswith("folder") else "text/plain"},
            }
            for id in self.changes
        ]
        page, further = self.page(rows, token)
        told = {"nextPageToken": further} if further else {"newStartPageToken": str(len(rows))}
        return Answer({**told, "changes": page})

    def list_files(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        assert query["orderBy"] == "createdTime"
        assert query.get("driveId", "") == self.shared
        if query["q"] == f"mimeType = '{FOLDER}' and trashed = false":
            folder = {"id": "folder-1", "name": self.folder, "parents": ["root-1"]}
            return [folder, *(row for row in self.entries if row.get("mimeType") == FOLDER)]
        assert query["q"] == f"mimeType != '{FOLDER}' and trashed = false", query
        files = [self.describe(number) for number in sorted(self.texts)]
        return [*files, *(row for row in self.entries if row.get("mimeType") != FOLDER)]

    def describe(self, number: int) -> dict[str, Any]:
        media = self.kinds.get(number, "text/plain")
        told: dict[str, Any] = {
            "id": f"file-{number}",
            "name": f"{number}" if number in self.kinds else f"{number}.txt",
            "parents": ["folder-1"],
            "mimeType": media,
            "modifiedTime": f"2026-03-01T10:00:{self.texts[number].version:02}.000Z",
            "webViewLink": f"https://drive.google.com/file/d/file-{number}/view",
        }
        if number not in self.kinds:
            told["md5Checksum"] = f"{self.texts[number].version:032x}"
        # As in a shared drive, where nothing is said of them here.
        return told if self.shared else {**told, "permissions": self.list_grants(told["id"])}

    def list_grants(self, id: str) -> list[dict[str, Any]]:
        if id == self.shared:
            return self.members
        readers = self.texts[int(id.rpartition("-")[2])].readers
        return [*map(grant_to, readers), *self.grants, *self.members]


def grant_to(name: str) -> dict[str, Any]:
    """A permission of an account of Google."""
    told = {"id": f"0{name}", "type": "user", "role": "reader"}
    return {**told, "emailAddress": f"{name.title()}@x.org"}


CLOUD_SERVICES: Mapping[str, Callable[[], CloudService]] = {
    "sharepoint": Graph,
    "confluence": Confluence,
    "jira": Jira,
    "drive": Drive,
    "shared drive": lambda: Drive("0AHouse"),
}
"""The services by the names of their sources; a shared drive is apart."""
