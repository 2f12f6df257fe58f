"""The entries of a feed are documents."""

from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from random import Random

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.core.errors import DocumentError, SourceUnavailable
from ragstone.core.sync import SourceItem
from ragstone.ingest.formats.html import HTML
from ragstone.plugins.sources.feed import Feed, FeedOptions, _parse_feed
from ragstone.plugins.sources.item_run import _find_fault, _is_document
from tests.ingest.sources.scripted_site import ScriptedSite, serve_site
from tests.ingest.sources.scripted_source import SyncedCollection, opened_collection

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>News of the house</title>
<item><title>Soup &amp;amp; bread: &lt;b&gt;daily&lt;/b&gt;</title><link>{site}/soup</link>
  <guid isPermaLink="false">tag:1</guid><pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate>
  <author>Ada</author><category>menu</category>
  <description>Short.</description>
  <content:encoded>&lt;p&gt;There is &lt;a href="day"&gt;soup&lt;/a&gt;.&lt;/p&gt;</content:encoded>
</item>
<item><title>../../etc/passwd</title><link>http://192.0.2.1/admin</link>
  <description><![CDATA[There is fish.<script>alert(1)</script>]]></description></item>
<item><description>Neither title nor link.</description></item>
</channel></rss>"""

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://x.org/blog/"><title>Blog</title>
<entry><title>1 &lt; 2</title><id>urn:1</id><link href="first"/>
  <updated>2026-11-03T10:00:00+02:00</updated>
  <content type="text">Not &lt;b&gt; bold.</content></entry>
<entry><title>Second</title><id>urn:2</id><link href="/second"/>
  <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>With a page.</p></div>
  </content></entry>
</feed>"""


@pytest.fixture
def site() -> Iterator[ScriptedSite]:
    with serve_site() as served:
        yield served


def put_feed(site: ScriptedSite, text: str = RSS) -> None:
    site.put("/feed", text.replace("{site}", site.address), Content_Type="application/xml")


async def read(site: ScriptedSite, **options: object) -> list[tuple[SourceItem, str]]:
    """The entries of the site's feed with what is fetched for them, or why it is not."""
    source = Feed(FeedOptions.model_validate({"url": f"{site.address}/feed", **options}))
    try:
        await source.check()
        items = [item async for item in source.list_items("")]
        return [(item, await fetch(source, item)) for item in items]
    finally:
        await source.aclose()


async def fetch(source: Feed, item: SourceItem) -> str:
    target = BytesIO()
    try:
        await source.fetch(item, target)
    except DocumentError as error:
        return error.message
    return target.getvalue().decode()


async def test_entries_of_rss_are_documents(site: ScriptedSite, tmp_path: Path) -> None:
    put_feed(site)

    (soup, text), (passwd, fish), (bare, _) = await read(site)

    assert (soup.key, soup.title) == ("tag:1", "Soup & bread: daily")
    assert soup.path.startswith("Soup & bread daily "[:12])
    assert (soup.url, soup.modified) == (f"{site.address}/soup", 1793613600.0)
    page = tmp_path / "page.html"
    page.write_text(text)
    parsed = HTML.parse(page, ".html", 10**6)
    assert [block.text for block in parsed.blocks] == ["Soup & bread: daily", "There is soup."]
    assert parsed.metadata["author"] == "Ada"
    assert parsed.metadata["created"] == "2026-11-02T10:00:00+00:00"
    assert "script" not in fish
    assert passwd.url == "http://192.0.2.1/admin"
    for item in (soup, passwd, bare):
        assert _find_fault(item) == ""
        assert _is_document(item.path)


async def test_entries_of_atom_are_documents(site: ScriptedSite) -> None:
    put_feed(site, ATOM)

    (first, text), (second, page) = await read(site)

    assert (first.title, first.url) == ("1 < 2", "https://x.org/blog/first")
    assert "<p>Not &lt;b&gt; bold.</p>" in text
    assert first.modified == 1793692800.0
    assert second.url == "https://x.org/second"
    assert "<p>With a page.</p>" in page


async def test_an_entry_has_another_version_when_it_says_something_else(site: ScriptedSite) -> None:
    put_feed(site)
    before = [item for item, _ in await read(site)]
    put_feed(site, RSS.replace("There is fish.", "There is rice."))
    after = [item for item, _ in await read(site)]

    assert [item.key for item in before] == [item.key for item in after]
    changed = [a.version != b.version for a, b in zip(before, after, strict=True)]
    assert changed == [False, True, False]


async def test_pages_are_read_of_the_site_alone(site: ScriptedSite) -> None:
    put_feed(site)
    site.put("/soup", status=302, Location="/soup/today")
    site.put_page("/soup/today")

    (_, soup), (_, fish), (_, bare) = await read(site, pages="yes")

    assert "This is /soup/today." in soup
    assert "There is fish." in fish
    assert "Neither title nor link." in bare


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (404, {}, "/soup is no page, or is gone."),
        (200, {"Content_Type": "video/mp4"}, "/soup is no page, or is gone."),
        (500, {}, "/soup answers 500."),
        (302, {"Location": "http://192.0.2.1/"}, "leads to another site: http://192.0.2.1/."),
    ],
)
async def test_a_page_that_cannot_be_had_fails_alone(
    site: ScriptedSite, status: int, headers: dict[str, str], reason: str
) -> None:
    put_feed(site)
    site.put("/soup", status=status, **headers)

    (_, soup), (_, fish), _ = await read(site, pages="yes")

    assert reason in soup
    assert "There is fish." in fish


async def test_robots_txt_keeps_pages_from_being_read(site: ScriptedSite) -> None:
    put_feed(site)
    site.put("/robots.txt", "User-agent: *\nDisallow: /soup\n")

    (_, soup), *_ = await read(site, pages="yes")

    assert "There is" in soup
    assert "/soup" not in site.paths


@pytest.mark.parametrize(
    "body",
    [
        "<html><body><p>Not a feed.</p></body></html>",
        "/etc/passwd",
        "http://192.0.2.1/feed",
        "",
        "\x00\x01\x02",
        '{"a": 1}',
    ],
)
async def test_what_is_no_feed_ends_the_run(site: ScriptedSite, body: str) -> None:
    put_feed(site, body)

    with pytest.raises(SourceUnavailable, match="is no feed of RSS or Atom"):
        await read(site)


async def test_entities_are_bounded_and_read_no_file(site: ScriptedSite, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("open-sesame")
    lots = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 10))
    put_feed(
        site,
        f'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY e0 "lots and lots of it">{lots}'
        f'<!ENTITY f SYSTEM "file://{tmp_path}/secret">]><rss version="2.0"><channel>'
        "<item><title>One</title><description>&f;</description></item>"
        "<item><title>Two</title><description>&e9;</description></item></channel></rss>",
    )

    entries = await read(site)

    assert all(len(text) < 10_000 and "sesame" not in text for _, text in entries)


@given(st.randoms(use_true_random=False), st.sampled_from([RSS, ATOM]))
def test_a_broken_feed_is_read_or_none(random: Random, text: str) -> None:
    broken = bytearray(text.encode())
    for _ in range(random.randint(1, 12)):
        start, other, length = (random.randrange(len(broken)) for _ in range(3))
        match random.randrange(3):
            case 0:
                broken[start] = random.randrange(256)
            case 1:
                del broken[start : start + length % 30]
            case _:
                broken[start:start] = broken[other : other + length % 40]
    charset = random.choice(["", "; charset=utf-16", "; charset=nope", "; charset=latin1"])
    response = httpx2.Response(
        200,
        headers={"content-type": f"application/xml{charset}"},
        request=httpx2.Request("GET", "http://x.org/feed"),
    )

    try:
        entries = _parse_feed(bytes(broken), response)
    except SourceUnavailable:
        return

    for entry in entries.values():
        assert _find_fault(entry.item) == ""
        assert _is_document(entry.item.path)


@pytest.fixture
async def synced(tmp_path: Path, site: ScriptedSite) -> AsyncIterator[SyncedCollection]:
    options = {"url": f"{site.address}/feed"}
    async with opened_collection(tmp_path, kind="feed", options=options) as collection:
        yield collection


@pytest.mark.slow
async def test_what_has_left_a_feed_stays_until_it_is_said_to_be_gone(
    site: ScriptedSite, synced: SyncedCollection
) -> None:
    put_feed(site)
    first = await synced.sync()
    before, _, after = RSS.partition("<item>")
    put_feed(site, before + after[after.index("<item>") :])
    second = await synced.sync()
    documents = await synced.documents()
    third = await synced.sync(accept_removals=True)

    assert (first.state, first.added, first.error) == ("done", 3, "")
    assert (second.unchanged, second.removed) == (2, 0)
    assert second.notes == ("A feed names its newest entries alone. Nothing was removed.",)
    assert len(documents) == 3
    assert {document.source for document in documents.values()} >= {f"{site.address}/soup"}
    assert third.removed == 1
