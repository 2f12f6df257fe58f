"""A web site is listed politely and within bounds, whatever it answers."""

import gzip
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import DocumentError, InputError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.plugins.sources import site as sites
from ragstone.plugins.sources import web
from ragstone.plugins.sources.item_run import _find_fault, _is_document
from ragstone.plugins.sources.kinds import SOURCES
from ragstone.plugins.sources.options import check_options
from ragstone.plugins.sources.site import Site
from ragstone.plugins.sources.web import WebOptions, WebSite
from ragstone.plugins.sources.web_pages import name_path, parse_page, parse_sitemap
from tests.ingest.sources.scripted_site import Reply, ScriptedSite, serve_site

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with serve_site() as served:
        yield served


@dataclass
class Listing:
    """What a run found."""

    items: list[SourceItem] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    gap: str = ""

    @property
    def paths(self) -> list[str]:
        return [item.path for item in self.items]

    @property
    def versions(self) -> dict[str, str]:
        return {item.path: item.version for item in self.items}


async def read(site: ScriptedSite, folder: Path, start: str = "/", **options: object) -> Listing:
    """List a site, and fetch everything."""
    given = WebOptions.model_validate({"url": f"{site.address}{start}", **options})
    source = WebSite(given, folder)
    found = Listing()
    try:
        await source.check()
        async for item in source.list_items(""):
            found.items.append(item)
            target = BytesIO()
            try:
                await source.fetch(item, target)
            except DocumentError as error:
                found.refused[item.path] = error.message
            found.texts[item.path] = target.getvalue().decode("utf-8", "replace")
        found.gap = source.explain_gap()
    finally:
        await source.aclose()
    return found


def put_sitemap(site: ScriptedSite, path: str, *pages: str, changed: str = "") -> None:
    lastmod = f"<lastmod>{changed}</lastmod>" if changed else ""
    entries = "".join(f"<url><loc>{site.address}{page}</loc>{lastmod}</url>" for page in pages)
    site.put(path, f'<?xml version="1.0"?><urlset xmlns="{SITEMAP}">{entries}</urlset>')


async def test_links_are_followed_in_the_folder_of_the_start_to_the_depth(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/docs/", "a.html", "/docs/a.html#part", "../private", "mailto:ada@x.org")
    site.put_page("/docs/a.html", "b.html", "http://other.invalid/docs/", "//[bad", "/docs/")
    site.put_page("/docs/b.html", "c.html")
    site.put_page("/private")

    found = await read(site, tmp_path, "/docs/", depth=2)

    assert found.paths == ["docs/index.html", "docs/a.html", "docs/b.html"]
    assert found.items[1].url == f"{site.address}/docs/a.html"
    assert "This is /docs/a.html." in found.texts["docs/a.html"]
    assert "/private" not in site.paths
    assert site.paths.count("/docs/a.html") == 1


async def test_the_pages_of_sitemaps_are_listed_with_what_they_offer_for_download(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put("/robots.txt", f"Sitemap: {site.address}/maps/all.xml")
    index = "".join(f"<sitemap><loc>/maps/{name}</loc></sitemap>" for name in ("1.xml", "2.xml.gz"))
    site.put("/maps/all.xml", f'<sitemapindex xmlns="{SITEMAP}">{index}</sitemapindex>')
    put_sitemap(site, "/maps/1.xml", "/a", "/b")
    put_sitemap(site, "/maps/2.xml.gz", "/c")
    site.put("/maps/2.xml.gz", gzip.compress(site.replies["/maps/2.xml.gz"].body))
    site.put_page("/")
    site.put_page("/a", "/unlisted", "/files/plan.pdf")
    site.put_page("/b")
    site.put_page("/c")
    site.put("/files/plan.pdf", b"%PDF-", Content_Type="application/pdf")
    site.put_page("/unlisted")

    found = await read(site, tmp_path)
    followed = await read(site, tmp_path / "other", "/a", sitemap="no")

    assert found.paths == ["a.html", "b.html", "c.html", "files/plan.pdf"]
    assert followed.paths == ["a.html", "unlisted.html", "files/plan.pdf"]
    assert found.gap == ""


async def test_a_sitemap_that_breaks_off_removes_nothing(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/")
    site.put_page("/a")
    put_sitemap(site, "/sitemap.xml", "/a", "/b")
    site.put("/sitemap.xml", site.replies["/sitemap.xml"].body[:-30])

    found = await read(site, tmp_path)

    assert "sitemap.xml cannot be read to its end" in found.gap
    assert found.paths == ["a.html"]


async def test_robots_txt_is_obeyed(site: ScriptedSite, tmp_path: Path) -> None:
    rules = (
        "User-agent: *\nDisallow: /\n\nUser-agent: ragstone\nDisallow: /*?edit\nDisallow: /old\n"
    )
    site.put("/robots.txt", rules)
    site.put_page("/", "/a?edit=1", "/a?page=2", "/old/x", "/moved")
    site.put("/moved", status=302, Location="/old/y")
    site.put_page("/a?page=2")

    found = await read(site, tmp_path)

    assert found.paths == ["index.html", "a?page=2.html"]
    assert not any(path.startswith(("/old", "/a?edit")) for path in site.paths)
    assert all(headers["User-Agent"].startswith("ragstone/") for _, headers in site.asked)


async def test_a_site_that_wants_no_robots_is_not_read(site: ScriptedSite, tmp_path: Path) -> None:
    site.put("/robots.txt", "User-agent: *\nDisallow: /\n")

    with pytest.raises(SourceUnavailable, match="does not let 'ragstone' read"):
        await read(site, tmp_path)

    assert site.paths == ["/robots.txt"]


async def test_a_crawl_delay_is_kept_within_a_bound(
    site: ScriptedSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(sites, "sleep", note)
    site.put("/robots.txt", "User-agent: *\nCrawl-delay: 90000\n")
    site.put_page("/")

    await read(site, tmp_path, sitemap=False)

    assert pauses == [sites.MAX_DELAY] * 2


@pytest.mark.parametrize(
    ("head", "headers", "listed"),
    [
        ('<meta name="robots" content="NOINDEX">', {}, {"/b"}),
        ('<meta name="robots" content="none">', {}, set()),
        ('<meta name="robots" content="nofollow">', {}, {"/a"}),
        ('<meta name="googlebot" content="none">', {}, {"/a", "/b"}),
        ("", {"X_Robots_Tag": "noindex, nofollow"}, set()),
        ("", {"X_Robots_Tag": "otherbot: noindex"}, {"/a", "/b"}),
        ("", {"X_Robots_Tag": "ragstone: noindex"}, {"/b"}),
    ],
)
async def test_a_page_says_whether_it_is_listed_and_its_links_followed(
    site: ScriptedSite, tmp_path: Path, head: str, headers: dict[str, str], listed: set[str]
) -> None:
    site.put("/", '<a href="/a">a</a> <a rel="nofollow" href="/c">c</a>')
    site.put_page("/a", "/b", head=head, **headers)
    site.put_page("/b")
    site.put_page("/c")

    found = await read(site, tmp_path)

    assert {f"/{path}" for path in found.paths} - {"/index.html"} == {
        f"{path}.html" for path in listed
    }


async def test_a_page_under_several_addresses_is_listed_once(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/", "/index.html", "/p?session=1", "/p?session=2", "/x", "/folder")
    site.put_page("/index.html")
    site.replies["/index.html"] = site.replies["/"]
    for address in ("/p", "/p?session=1", "/p?session=2"):
        site.put_page(address, head='<link rel="canonical" href="/p">')
    site.put_page("/x", head='<link rel="canonical" href="/y">')
    site.put_page("/y", head='<link rel="canonical" href="/x">')
    site.put("/folder", status=301, Location="/folder/")
    site.put_page("/folder/")

    found = await read(site, tmp_path)

    assert sorted(found.paths) == ["folder/index.html", "index.html", "p.html", "y.html"]
    assert found.gap == ""


async def test_an_endless_calendar_is_cut_and_the_run_says_so(
    site: ScriptedSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(path: str) -> Reply:
        day = int(path.partition("=")[2] or 0)
        links = "".join(f'<a href="/?day={day + n}">next</a>' for n in range(1, 5))
        return Reply(f"<p>Day {day}.</p>{links}".encode(), headers={"Content-Type": "text/html"})

    monkeypatch.setattr(site, "answer", answer)

    found = await read(site, tmp_path, depth=100, max_pages=20)

    assert len(found.items) == 20
    assert "has more than 20 addresses (max_pages): the rest was not looked at." in found.gap


async def test_nothing_outside_of_the_site_is_asked(site: ScriptedSite, tmp_path: Path) -> None:
    with serve_site() as inside:
        inside.put_page("/secret")
        elsewhere = f"{inside.address}/secret"
        site.put("/robots.txt", f"Sitemap: {elsewhere}")
        site.put_page("/", "/moved", elsewhere, "/loop", "/framed")
        site.put("/moved", status=307, Location=elsewhere)
        site.put("/loop", status=302, Location="/loop")
        site.put("/framed", f'<base href="{inside.address}/"><iframe src="secret"></iframe>')

        found = await read(site, tmp_path, user="ada", password="sesame-4711")

    assert inside.asked == []
    assert found.paths == ["index.html", "framed.html"]
    assert all("Authorization" in headers for _, headers in site.asked)


async def test_a_start_that_leads_to_another_site_names_it(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put("/", status=301, Location="https://www.x.org/")

    with pytest.raises(SourceUnavailable, match="another site: https://www.x.org/. Give that"):
        await read(site, tmp_path)


async def test_the_folder_of_an_address_without_its_slash_is_meant(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put("/docs", status=301, Location="/docs/")
    site.put_page("/docs/", "/docs/a", "/docs2/")
    site.put_page("/docs/a")
    site.put_page("/docs2/")

    found = await read(site, tmp_path, "/docs")

    assert found.paths == ["docs/index.html", "docs/a.html"]


async def test_beginnings_of_paths_narrow_what_is_asked(site: ScriptedSite, tmp_path: Path) -> None:
    site.put_page("/de/", "/de/a", "/en/b", "/en/old/c", "/en/Special:d", "/fr/e")
    for path in ("/de/a", "/en/b", "/en/old/c", "/en/Special:d", "/fr/e"):
        site.put_page(path)

    found = await read(site, tmp_path, "/de/", include="/de/ /en/", exclude="/en/old/ /en/Special:")

    assert found.paths == ["de/index.html", "de/a.html", "en/b.html"]


async def test_what_has_not_changed_is_not_sent_again_and_still_leads_on(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/", "/a", ETag='"1"')
    site.put_page("/a", "/b", ETag='"2-gzip"')
    site.put_page("/b", ETag='W/"3"')
    first = await read(site, tmp_path)
    site.answered.clear()

    source = WebSite(WebOptions(url=f"{site.address}/"), tmp_path)
    await source.check()
    second = [item async for item in source.list_items("")]
    await source.aclose()

    assert {item.path: item.version for item in second} == first.versions
    # The first request for the start is only to see that the site answers.
    assert [status for path, status in site.answered if path in ("/", "/a", "/b")] == [
        200,
        304,
        304,
        304,
    ]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({"ETag": '"1"'}, {"ETag": '"2"'}, False),
        ({"Last_Modified": "Mon, 02 Nov 2026 10:00:00 GMT"},) * 2 + (True,),
        (
            {"Last_Modified": "Mon, 02 Nov 2026 10:00:00 GMT"},
            {"Last_Modified": "Tue, 03 Nov 2026 10:00:00 GMT"},
            False,
        ),
    ],
    ids=["etag", "same date", "other date"],
)
async def test_the_version_is_what_the_server_says(
    site: ScriptedSite,
    tmp_path: Path,
    before: dict[str, str],
    after: dict[str, str],
    same: bool,
) -> None:
    site.put_page("/", **before)
    first = await read(site, tmp_path)
    site.put_page("/", "/new words", **after)
    second = await read(site, tmp_path)

    assert (first.versions == second.versions) is same


async def test_without_a_word_of_the_server_the_sitemap_or_the_content_counts(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/", "/a")
    site.put_page("/a")
    by_content = await read(site, tmp_path)
    site.put_page("/a", "/changed")
    changed = await read(site, tmp_path)
    put_sitemap(site, "/sitemap.xml", "/", "/a", changed="2026-11-01")
    by_date = await read(site, tmp_path)
    site.put_page("/a", "/changed/again")
    same_date = await read(site, tmp_path)

    assert by_content.versions["index.html"] == changed.versions["index.html"]
    assert by_content.versions["a.html"] != changed.versions["a.html"]
    assert by_date.versions == same_date.versions
    assert "/changed/again" in same_date.texts["a.html"]


@pytest.mark.parametrize("status", [403, 404, 410])
async def test_a_page_that_is_gone_is_not_listed(
    site: ScriptedSite, tmp_path: Path, status: int
) -> None:
    site.put_page("/", "/a", "/b")
    site.put_page("/a", ETag='"1"')
    site.put_page("/b")
    await read(site, tmp_path)
    site.put("/a", status=status)

    found = await read(site, tmp_path)

    assert (found.paths, found.gap) == (["index.html", "b.html"], "")


async def test_a_page_that_breaks_stays_as_it_was_with_what_it_leads_to(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/", "/a")
    site.put_page("/a", "/b", ETag='"1"')
    site.put_page("/b")
    first = await read(site, tmp_path)
    site.put("/a", status=500)

    found = await read(site, tmp_path)

    assert (found.versions, found.gap) == (first.versions, "")


async def test_a_page_that_breaks_for_long_still_stays(site: ScriptedSite, tmp_path: Path) -> None:
    site.put_page("/", "/a")
    site.put_page("/a", "/b")
    site.put_page("/b")
    first = await read(site, tmp_path)
    site.put("/a", status=500)
    await read(site, tmp_path)

    found = await read(site, tmp_path)

    assert (found.versions, found.gap) == (first.versions, "")


async def test_a_page_that_was_never_read_and_breaks_keeps_all(
    site: ScriptedSite, tmp_path: Path
) -> None:
    site.put_page("/", "/a", "/b")
    site.put("/a", status=502)
    site.put_page("/b")

    found = await read(site, tmp_path)

    assert found.paths == ["index.html", "a.html", "b.html"]
    assert found.refused == {"a.html": f"{site.address}/a answers 502."}
    assert found.gap == f"{site.address}/a does not answer, and what it leads to is not known."


async def test_a_site_that_breaks_in_the_middle_ends_the_run(
    site: ScriptedSite, tmp_path: Path
) -> None:
    pages = [f"/{number}" for number in range(2 * web.MAX_FAILURES)]
    site.put_page("/", *pages)
    for page in pages:
        site.put(page, status=500)

    with pytest.raises(SourceUnavailable, match="answers 500"):
        await read(site, tmp_path)


@pytest.mark.parametrize(
    ("status", "wanted", "pause"),
    [
        (429, "120", 120.0),
        (503, "120", 120.0),
        (429, "", sites.BUSY_SECONDS),
        (429, "soon", sites.BUSY_SECONDS),
        (503, "9" * 30, sites.MAX_PAUSE),
        (503, "", None),
        (500, "120", None),
    ],
)
async def test_a_site_that_asks_for_a_pause_gets_it(
    site: ScriptedSite, tmp_path: Path, status: int, wanted: str, pause: float | None
) -> None:
    site.put_page("/", "/a")
    site.put("/a", status=status, **({"Retry_After": wanted} if wanted else {}))

    if pause is None:
        assert (await read(site, tmp_path)).gap
    else:
        with pytest.raises(SourceUnavailable) as raised:
            await read(site, tmp_path)
        assert raised.value.retry_after == pause


async def test_a_pause_may_be_a_date(site: ScriptedSite, tmp_path: Path) -> None:
    until = datetime.now(UTC) + timedelta(hours=10)
    site.put("/", status=503, Retry_After=format_datetime(until, usegmt=True))

    with pytest.raises(SourceUnavailable) as raised:
        await read(site, tmp_path)

    assert raised.value.retry_after is not None
    assert 0 < raised.value.retry_after <= 36_000


async def test_a_site_that_is_away_fails_in_a_sentence(tmp_path: Path) -> None:
    with serve_site() as gone:
        pass

    with pytest.raises(SourceUnavailable, match="does not answer: "):
        await read(gone, tmp_path)


async def test_headers_and_addresses_that_are_none_stop_nothing(
    site: ScriptedSite, tmp_path: Path
) -> None:
    bad = {"ETag": '"\xfc"', "Last_Modified": "yesterday \xfc", "X_Robots_Tag": "\xfc"}
    site.put("/robots.txt", "Crawl-delay: nan\nSitemap: http://[\nDisallow\n\x00")
    site.put_page("/", "/a", "http://[", "/moved", "/typed", head='<base href="http://[">', **bad)
    site.put_page("/a", head='<link rel="canonical" href="http://[">')
    site.put("/moved", status=302, Location="http://[\xfc")
    site.put(
        "/typed", "x", Content_Type=";;;\xfc", Content_Disposition="attachment; filename*=x''%"
    )

    first = await read(site, tmp_path)
    second = await read(site, tmp_path)

    assert first.paths == second.paths == ["index.html", "a.html"]


@pytest.mark.parametrize("layers", [1, 2])
async def test_a_bomb_fills_no_memory_and_stops_nothing(
    site: ScriptedSite, tmp_path: Path, layers: int
) -> None:
    bomb = gzip.compress(b"<p>" + b"x" * 200_000_000, 1)
    coding = ", ".join(["gzip"] * layers)
    for _ in range(layers - 1):
        bomb = gzip.compress(bomb)
    site.put_page("/", "/bomb", "/b")
    site.put("/bomb", bomb, Content_Encoding=coding)
    site.put("/sitemap.xml", bomb)
    site.put_page("/b")

    tracemalloc.start()
    try:
        found = await read(site, tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()

    assert found.paths == ["index.html", "bomb.html", "b.html"]
    assert list(found.refused) == ["bomb.html"]
    assert found.gap == ""


async def test_what_is_packed_is_read(site: ScriptedSite, tmp_path: Path) -> None:
    site.put("/", gzip.compress(b'<a href="/cut">cut</a>'), Content_Encoding="gzip")
    site.put("/cut", gzip.compress(b"<p>Some text.</p>")[:-12], Content_Encoding="gzip")

    found = await read(site, tmp_path)

    assert found.texts["index.html"] == '<a href="/cut">cut</a>'
    assert "it was cut off on the way" in found.refused["cut.html"]


async def test_entities_of_a_sitemap_are_not_written_out(
    site: ScriptedSite, tmp_path: Path
) -> None:
    lots = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 10))
    site.put_page("/")
    site.put_page("/a")
    site.put(
        "/sitemap.xml",
        f'<!DOCTYPE x [<!ENTITY e0 "/a"><!ENTITY f SYSTEM "file:///etc/passwd">{lots}]>'
        f"<urlset><url><loc>/a</loc></url><url><loc>&e9;</loc></url><url><loc>&f;</loc></url>"
        "</urlset>",
    )

    found = await read(site, tmp_path)

    assert found.paths == ["a.html"]


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("windows-1251", "windows-1251"),
        ("utf-8", "utf-8"),
        ("iso-8859-1", "utf-8"),
        ("no-such", "utf-8"),
    ],
)
async def test_a_page_is_read_in_the_encoding_that_its_header_says(
    site: ScriptedSite, tmp_path: Path, charset: str, encoding: str
) -> None:
    text = '<p>Музей открыт.</p><a href="/стр">x</a>'
    site.put("/", text.encode(encoding), Content_Type=f"text/html; charset={charset}")
    site.put_page("/%D1%81%D1%82%D1%80")

    found = await read(site, tmp_path)

    assert found.texts["index.html"] == text
    assert found.paths == ["index.html", "стр.html"]


async def test_documents_are_listed_by_what_they_are(site: ScriptedSite, tmp_path: Path) -> None:
    served = {
        "/plan.pdf": ("application/pdf", ""),
        "/login.pdf": ("text/html", ""),
        "/get?id=1": ("application/pdf", ""),
        "/get?id=2": ("application/octet-stream", 'attachment; filename="plan.docx"'),
        "/get?id=3": ("application/octet-stream", ""),
        "/feed": ("application/rss+xml", ""),
        "/film.mp4": ("video/mp4", ""),
    }
    site.put_page("/", *served)
    for path, (media, disposition) in served.items():
        site.put(path, b"abc", Content_Type=media, Content_Disposition=disposition)

    found = await read(site, tmp_path)

    assert found.paths == [
        "index.html",
        "plan.pdf",
        "login.pdf.html",
        "get?id=1.pdf",
        "get?id=2.docx",
    ]
    assert "/film.mp4" not in site.paths


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("/", "index.html"),
        ("/a/b/", "a/b/index.html"),
        ("/a.html", "a.html"),
        ("/wiki/Stra%C3%9Fe", "wiki/Straße.html"),
        ("/wiki/A%2FB", "wiki/A%2FB.html"),
        ("/%2e%2e/%2e%2e/etc/passwd", "%2e%2e/%2e%2e/etc/passwd.html"),
        ("/a%00b%0A", "a%00b%0A.html"),
        ("/%FF", "%FF.html"),
        ("//a//b", "a/b.html"),
        ("/s?q=a/../b&r=%2F", "s?q=a%2F..%2Fb&r=%2F.html"),
        ("/a%E2%80%AEb", "a%E2%80%AEb.html"),
    ],
)
def test_the_path_is_the_address_as_people_read_it(address: str, path: str) -> None:
    item = SourceItem("x", "1", name_path(f"https://x.org{address}", ".html"))

    assert item.path == path
    assert _find_fault(item) == ""
    assert _is_document(item.path)


PIECES = (
    b'<a href=|<base href=|<link rel=canonical href=|<meta name=robots content=|"|>|//|[|:|..|%2e'
    b"|http://x.org/|<urlset>|<url>|<loc>|\xff|\x00"
).split(b"|")
A_SITE = Site(WebOptions(url="http://x.org/"))


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=12).map(b"".join))
def test_whatever_a_page_holds_its_links_are_addresses_of_the_site(body: bytes) -> None:
    for page in (body, body.decode("latin-1").encode("utf-16")):
        links, canonical, _ = parse_page(page, "http://x.org/docs/", A_SITE)
        entries, _ = parse_sitemap(page)
        for url in (*links, *filter(None, [canonical])):
            assert url.startswith("http://x.org/")
            assert _find_fault(SourceItem(url, "1", name_path(url, ".html"))) == ""
        assert all(name in ("url", "sitemap") for name, _, _ in entries)


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ftp://x.org/"},
        {"url": "file:///etc/passwd"},
        {"url": "https:///"},
        {"url": "https://ada:sesame@x.org/"},
        {"url": "https://x.org/", "depth": "-1"},
        {"url": "https://x.org/", "max_pages": "0"},
        {"url": "https://x.org/", "password": "sesame"},
    ],
    ids=lambda options: " ".join(options.values()),
)
@pytest.mark.parametrize("kind", ["web", "feed"])
def test_what_is_no_site_is_refused(kind: str, options: dict[str, str]) -> None:
    with pytest.raises(InputError) as raised:
        check_options(kind, SOURCES.get(kind), options)

    assert "sesame" not in str(raised.value)


def test_only_the_operator_has_the_server_ask_other_servers() -> None:
    assert SOURCES.get("web").of_server
    assert SOURCES.get("feed").of_server
