"""A collection follows a web site: one that a test scripts, and one of a real nginx."""

import gzip
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragstone.core.sync import SourceRun
from tests.ingest.sources.scripted_site import ScriptedSite, serve_site
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection
from tests.nginx import run_nginx
from tests.ports import free_port

SERVERS = """
types {{ text/html html; application/xml xml; text/plain txt; application/rss+xml rss; }}
default_type application/octet-stream;
server {{
    listen 127.0.0.1:{port};
    root @folder@/site;
    gzip on;
    gzip_min_length 0;
    location /moved {{ return 301 /wiki/Soup.html; }}
    location /away {{ return 302 http://127.0.0.1:{other}/secret.html; }}
    location /broken {{ return 500; }}
    location /staff/ {{ auth_basic staff; auth_basic_user_file @folder@/users; }}
}}
server {{ listen 127.0.0.1:{other}; root @folder@/inside; access_log @folder@/inside.log; }}
"""


def counts(run: SourceRun) -> tuple[int, ...]:
    """Added, changed, removed, unchanged, failed."""
    return run.added, run.changed, run.removed, run.unchanged, run.failed


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with serve_site() as served:
        yield served


@pytest.fixture
async def synced(tmp_path: Path, site: ScriptedSite) -> AsyncIterator[SyncedCollection]:
    options = {"url": f"{site.address}/"}
    async with opened_collection(tmp_path, kind="web", options=options) as collection:
        yield collection


@pytest.mark.slow
async def test_a_collection_follows_a_site(site: ScriptedSite, synced: SyncedCollection) -> None:
    site.put_page("/", "/a", "/b", ETag='"1"')
    site.put_page("/a", ETag='"1"')
    site.put_page("/b")
    first = await synced.sync()
    second = await synced.sync()
    site.put_page("/", "/a", "/c", ETag='"2"')
    site.put_page("/c")
    third = await synced.sync()

    assert counts(first) == (3, 0, 0, 0, 0)
    assert counts(second) == (0, 0, 0, 3, 0)
    assert counts(third) == (1, 1, 1, 1, 0)
    document = (await synced.documents())["/house/a.html"]
    assert document.source == f"{site.address}/a"
    assert document.metadata == {"source": "house", "url": f"{site.address}/a"}


@pytest.mark.slow
@pytest.mark.parametrize(("path", "status"), [("/", 500), ("/", 404), ("/robots.txt", 503)])
async def test_a_site_that_is_broken_loses_nothing(
    site: ScriptedSite, synced: SyncedCollection, path: str, status: int
) -> None:
    site.put_page("/", "/a")
    site.put_page("/a")
    await synced.sync()
    site.put(path, status=status)

    run = await synced.sync()

    assert (run.state, run.removed) == ("failed", 0)
    assert len(await synced.documents()) == 2


@pytest.mark.slow
async def test_a_pause_that_the_site_asks_for_moves_the_next_run(
    site: ScriptedSite, synced: SyncedCollection
) -> None:
    site.put_page("/", "/a")
    site.put("/a", status=429, Retry_After="50000")

    run = await synced.sync()

    stored = await synced.stored()
    assert (run.state, run.error) == ("failed", f"{site.address}/a answers 429.")
    assert stored.next_at is not None
    assert run.ended_at is not None
    assert stored.next_at - run.ended_at > 49_000


@pytest.mark.slow
async def test_a_dry_run_before_the_first_changes_nothing_of_it(
    site: ScriptedSite, synced: SyncedCollection
) -> None:
    site.put_page("/", "/a", ETag='"1"')
    site.put_page("/a", ETag='"2"')

    dry = await synced.sync(dry=True)
    run = await synced.sync()

    assert (counts(dry), counts(run)) == ((2, 0, 0, 0, 0), (2, 0, 0, 0, 0))


@pytest.mark.slow
async def test_nothing_is_removed_where_the_bound_cuts_the_listing(
    tmp_path: Path, site: ScriptedSite
) -> None:
    site.put_page("/", "/a", "/b")
    site.put_page("/a")
    site.put_page("/b")
    options = {"url": f"{site.address}/", "max_pages": "3"}
    async with opened_collection(tmp_path, kind="web", options=options) as synced:
        await synced.sync()
        site.put_page("/", "/c", "/d", "/a", "/b")
        site.put_page("/c")
        run = await synced.sync()

    assert (run.state, run.removed, run.added) == ("done", 0, 1)
    assert "has more than 3 addresses (max_pages)" in run.notes[0]


@dataclass(frozen=True)
class NginxSite:
    """A folder of files behind nginx."""

    address: str
    folder: Path
    inside_log: Path

    def write(self, name: str, text: str | bytes) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    def write_page(self, name: str, text: str, *links: str, head: str = "") -> None:
        anchors = " ".join(f'<a href="{link}">{link}</a>' for link in links)
        self.write(name, f"<html><head>{head}</head><body><p>{text}</p>{anchors}</body></html>")


@contextmanager
def readable_by_others() -> Iterator[None]:
    """The workers of nginx are another user, who reads nothing where the umask is 077."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def nginx_site() -> Iterator[NginxSite]:
    port, other = free_port(), free_port()
    with (
        readable_by_others(),
        run_nginx(SERVERS.format(port=port, other=other), port) as folder,
    ):
        made = NginxSite(f"http://127.0.0.1:{port}", folder / "site", folder / "inside.log")
        made.write("../users", "ada:{PLAIN}sesame-4711\n")
        made.write("../inside/secret.html", "<p>Of the server's own network.</p>")
        made.write("robots.txt", "User-agent: *\nDisallow: /*?action=\nDisallow: /drafts/\n")
        made.write_page("wiki/Soup.html", "There is soup.", "Bread.html", "?action=edit")
        made.write_page("wiki/Bread.html", "There is bread.", "Soup.html#top", "/moved", "/away")
        made.write_page("drafts/new.html", "A draft.")
        made.write_page("staff/pay.html", "The director earns 9,000.")
        made.write("files/menu.txt", "On Monday there is fish.")
        made.write("files/film.mp4", b"\0" * 1_000)
        made.write_page(
            "index.html",
            "Welcome.",
            *("/wiki/Soup.html", "/drafts/new.html", "/files/menu.txt", "/files/film.mp4"),
            *("/staff/pay.html", "/index.html"),
        )
        yield made


@pytest.mark.real
async def test_links_of_a_site_of_nginx_are_followed(tmp_path: Path, nginx_site: NginxSite) -> None:
    options = {"url": f"{nginx_site.address}/"}
    async with opened_collection(tmp_path, kind="web", options=options) as synced:
        first = await synced.sync()
        second = await synced.sync()
        nginx_site.write_page("wiki/Soup.html", "There is no soup any more.", "Bread.html")
        (nginx_site.folder / "wiki/Bread.html").unlink()
        third = await synced.sync()
        texts = await synced.texts()

    assert (first.state, *counts(first)) == ("done", 4, 0, 0, 0, 0)
    assert counts(second) == (0, 0, 0, 4, 0)
    assert counts(third) == (0, 1, 1, 2, 0)
    assert {"There is no soup any more.", "On Monday there is fish."} <= {
        text.partition("\n")[0] for text in texts
    }
    assert not nginx_site.inside_log.exists() or nginx_site.inside_log.read_text() == ""


@pytest.mark.real
async def test_a_site_of_nginx_is_read_with_its_password_and_nobody_sees_that(
    tmp_path: Path, nginx_site: NginxSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_SOURCE_WEB", "sesame-4711")
    options = {
        "url": f"{nginx_site.address}/staff/pay.html",
        "user": "ada",
        "password": "env:RAGSTONE_SOURCE_WEB",
    }
    async with opened_collection(tmp_path, kind="web", options=options) as synced:
        run = await synced.sync()
        monkeypatch.setenv("RAGSTONE_SOURCE_WEB", "wrong-4711")
        refused = await synced.sync()

    assert counts(run) == (1, 0, 0, 0, 0)
    assert refused.error == f"{nginx_site.address}/staff/pay.html answers 401."
    for folder, _, files in os.walk(tmp_path):
        for name in files:
            assert b"4711" not in Path(folder, name).read_bytes(), name


@pytest.mark.real
async def test_the_sitemap_of_a_site_of_nginx_is_followed(
    tmp_path: Path, nginx_site: NginxSite
) -> None:
    def write_sitemap(*names: str) -> None:
        entries = "".join(f"<url><loc>{nginx_site.address}/{name}</loc></url>" for name in names)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        text = f'<urlset xmlns="{space}">{entries}</urlset>'
        nginx_site.write("maps/1.xml.gz", gzip.compress(text.encode()))

    nginx_site.write("robots.txt", f"Sitemap: {nginx_site.address}/sitemap.xml\n")
    index = "<sitemap><loc>/maps/1.xml.gz</loc></sitemap>"
    nginx_site.write("sitemap.xml", f"<sitemapindex>{index}</sitemapindex>")
    write_sitemap("wiki/Soup.html", "wiki/Bread.html", "wiki/gone.html")
    options = {"url": f"{nginx_site.address}/"}
    async with opened_collection(tmp_path, kind="web", options=options) as synced:
        first = await synced.sync()
        write_sitemap("wiki/Soup.html", "drafts/new.html", "broken")
        second = await synced.sync()
        documents = set(await synced.documents())
        write_sitemap("wiki/Soup.html", "drafts/new.html")
        third = await synced.sync()

    assert counts(first) == (2, 0, 0, 0, 0)
    assert (counts(second), len(second.notes)) == ((1, 0, 0, 1, 1), 1)
    assert documents == {
        "/house/wiki/Soup.html",
        "/house/wiki/Bread.html",
        "/house/drafts/new.html",
    }
    assert counts(third) == (0, 0, 1, 2, 0)


@pytest.mark.real
async def test_a_site_of_nginx_whose_disk_is_away_loses_nothing(
    tmp_path: Path, nginx_site: NginxSite
) -> None:
    options = {"url": f"{nginx_site.address}/"}
    async with opened_collection(tmp_path, kind="web", options=options) as synced:
        await synced.sync()
        os.rename(nginx_site.folder, nginx_site.folder.with_name("elsewhere"))
        run = await synced.sync()
        documents = await synced.documents()

    assert run.state == "failed"
    assert len(documents) == 4
