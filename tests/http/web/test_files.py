"""The files of the web app: how they are served, what they weigh, what they are made of."""

import gzip
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from ragstone.http.app import create_app
from ragstone.http.web import FILES, addresses
from ragstone.settings import AuthSettings, Settings
from tests.fake_service import FakeService
from training.web_vendor import FILES as VENDORED

IMPORT = re.compile(r"""(?:^|[;}\s])(?:import|export)\b[^;'"]*?from\s*["'](\./[^"']+)["']""")
TEXT = re.compile(r"""\bt\(\s*"((?:[^"\\]|\\.)*)\"""")
TABLE = re.compile(
    r"^(?:export )?const (?:STAGES|STATES|FILE_STATES|LISTS|VERDICTS|ROLES|MEASURES|REASONS|GONE|"
    r"KINDS|OUTCOMES|SECTIONS|SINGULAR|GROUPS|PROMPTS|PURPOSES|CHECKS)"
    r" = \{(.*?)\};",
    re.M | re.S,
)
OWN = sorted(FILES.glob("*.js"))
LANGUAGES = sorted((FILES / "languages").glob("*.js"))
FIRST_LOAD = 100_000
SHOWN = {
    "http://server.lan",
    "https://www.example.org",
    "https://${site}",
    "https://ragstone.example.org/web/widget.js",
}
"""Addresses that stand in the page as examples, and what is typed without its beginning."""


def client(**settings: object) -> httpx2.AsyncClient:
    app = create_app(FakeService(), Settings(**settings), "token")  # type: ignore[arg-type]
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", timeout=30
    )


def loaded_at_first() -> set[Path]:
    """The files that the page needs before it shows anything."""
    waiting = [FILES / "main.js"]
    found = {FILES / "index.html", FILES / "app.css", FILES / "icon.svg"}
    while waiting:
        file = waiting.pop()
        if file in found:
            continue
        found.add(file)
        named = IMPORT.findall(file.read_text(encoding="utf-8"))
        waiting += [(file.parent / name).resolve() for name in named]
    return found


async def test_a_browser_gets_the_page_under_a_strict_policy() -> None:
    async with client() as http:
        page = await http.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=", page.text)


async def test_everybody_may_load_the_page_but_not_what_it_shows() -> None:
    async with client(auth=AuthSettings(required=True)) as http:
        statuses = {(await http.get(address)).status_code for address in addresses()}
        refused = await http.get("/local/operations")
    assert statuses == {200}
    assert refused.status_code == 401


async def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    async with client() as http:
        first = await http.get("/web/main.js", headers={"accept-encoding": "gzip"})
        again = await http.get("/web/main.js", headers={"if-none-match": first.headers["etag"]})
        plain = await http.get("/web/main.js", headers={"accept-encoding": "identity"})
    assert first.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert first.content == plain.content
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["../__init__.py", "..%2f__init__.py", "none.js", "vendor", ""])
async def test_nothing_else_of_the_disk_is_served(name: str) -> None:
    async with client() as http:
        assert (await http.get(f"/web/{name}")).status_code == 404


def test_the_first_load_is_small() -> None:
    weights = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in loaded_at_first()}
    assert {"preact.js", "ask.js"} <= weights.keys()
    assert sum(weights.values()) < FIRST_LOAD, weights


def test_nothing_is_loaded_from_elsewhere() -> None:
    named = "".join(file.read_text(encoding="utf-8") for file in (*OWN, FILES / "index.html"))
    assert set(re.findall(r"https?://[^\s\"'`)]+", named)) <= SHOWN
    assert not re.search(r"\binnerHTML\b|\beval\(|dangerouslySetInnerHTML|document\.write", named)


@pytest.mark.parametrize("item", VENDORED, ids=lambda item: item.name)
def test_a_library_is_what_the_vendoring_script_fetched(item: object) -> None:
    file = FILES / "vendor" / item.name  # type: ignore[attr-defined]
    assert sha256(file.read_bytes()).hexdigest() == item.sha256  # type: ignore[attr-defined]


def test_there_is_no_library_that_the_script_does_not_fetch() -> None:
    assert {item.name for item in (FILES / "vendor").iterdir()} == {item.name for item in VENDORED}


def test_the_page_names_every_program_that_it_needs_at_first() -> None:
    named = re.findall(
        r'<link rel="modulepreload" href="web/([^"]+)">', (FILES / "index.html").read_text()
    )
    needed = {
        file.relative_to(FILES).as_posix() for file in loaded_at_first() if file.suffix == ".js"
    }
    assert {*named, "main.js"} == needed


def texts() -> set[str]:
    """Every text that the page asks its languages for, or names for later."""
    found, tabled = set(), set()
    for file in OWN:
        source = file.read_text(encoding="utf-8")
        found |= {json.loads(f'"{item}"') for item in TEXT.findall(source)}
        for table in TABLE.findall(source):
            tabled |= set(re.findall(r'[\w.?}]"?: "([^"]+)"', table))
    return found | tabled


def entries(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith('  "'):
            key, value = json.loads("[" + line.strip().rstrip(",").replace('": "', '", "', 1) + "]")
            yield key, value


@pytest.mark.parametrize("file", LANGUAGES, ids=lambda file: file.stem)
def test_a_language_has_every_text_with_its_places(file: Path) -> None:
    known = dict(entries(file))
    assert sorted(texts() - known.keys()) == []
    assert sorted(known.keys() - texts()) == []
    places = re.compile(r"\{\w+\}")
    assert not [key for key in known if set(places.findall(key)) != set(places.findall(known[key]))]


def test_there_are_four_languages_beside_english() -> None:
    assert [file.stem for file in LANGUAGES] == ["ar", "de", "ko", "zh"]


async def test_who_asks_learns_what_it_may_do() -> None:
    async with client() as http:
        local = (await http.get("/local/operations")).json()
        operator = (
            await http.get("/local/operations", headers={"authorization": "Bearer token"})
        ).json()
    assert local["caller"]["role"] == "admin", "whoever is on this machine may do everything"
    assert "ask" in local["operations"]
    assert operator["caller"]["role"] == "admin"
    assert {"ingest", "maintenance.back_up"} <= operator["operations"].keys()
    assert operator["operations"]["search"]["arguments"] == ["ask"]


async def test_without_a_host_of_its_own_it_needs_no_network() -> None:
    async with client() as http:
        assert (await http.get("/")).status_code == 200
