"""The widget on a page of another origin, in a real Chromium before a real server."""

import json
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.documents import copied
from tests.e2e.processes import run, serving
from tests.http.web.app import HOSTILE, WebApp
from tests.http.web.site import site

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"
AXE = Path(__file__).parents[3] / ".venv" / "axe.min.js"

SPY = """
window.heard = [];
addEventListener("message", (event) => heard.push([event.origin, JSON.stringify(event.data)]));
const cookie = Object.getOwnPropertyDescriptor(Document.prototype, "cookie");
window.cookiesRead = 0;
const read = () => { window.cookiesRead += 1; return cookie.get.call(document); };
Object.defineProperty(document, "cookie", { get: read });
"""
"""A script of the site, which watches what the widget does to its page."""


@dataclass(frozen=True)
class Shop:
    """A server with documents and a widget's key, and a site that has the widget."""

    app: WebApp
    url: str
    id: str
    pages: dict[str, str]

    def open(self, attributes: str = "", inside: str = "", path: str = "/") -> None:
        """A page of the site with the widget's tag."""
        tag = f'<script src="{self.app.url}/web/widget.js" data-widget="{self.id}" {attributes}>'
        self.pages[path] = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>'
            '<meta name="viewport" content="width=device-width">'
            f'<script src="/spy.js"></script></head><body><main><h1>The shop</h1>{inside}</main>'
            f"{tag}</script></body></html>"
        )
        self.app.chrome.get(self.url + path)

    def enter(self) -> None:
        """Into the frame of the widget."""
        self.app.chrome.switch_to.default_content()
        self.app.chrome.switch_to.frame(self.app.find("iframe"))

    def leave(self) -> None:
        """Back to the site's page."""
        self.app.chrome.switch_to.default_content()

    def ask(self, question: str) -> None:
        """Ask in the widget, which is open."""
        self.app.write("#q", question + Keys.ENTER)
        self.app.find("article:last-of-type .sources, article:last-of-type .refused")


@pytest.fixture(scope="module")
def shop(
    started: WebApp, tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path
) -> Iterator[Shop]:
    data = copied(indexed_documents, tmp_path_factory.mktemp("shop") / "data")
    pages = {"/spy.js": SPY}
    with serving(data) as url, site(pages, url) as address:
        made = run(data, "keys", "create", "the shop", "--site", address, "--json")
        key = json.loads(made.stdout)["key"]
        assert key["sites"] == [address]
        app = WebApp(started.chrome, url, data, started.model)
        started.chrome.get_log("browser")
        yield Shop(app, address, key["id"], pages)


@pytest.fixture(autouse=True)
def outside(shop: Shop) -> Iterator[None]:
    shop.app.resize(1280, 900)
    yield
    shop.leave()


def sent(shop: Shop, path: str, **headers: str) -> tuple[int, Any]:
    """The status and text of a request that no browser makes."""
    body = json.dumps({"question": BATTERY}).encode()
    request = urllib.request.Request(
        shop.app.url + path, body, {"content-type": "application/json", **headers}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def session(shop: Shop) -> str:
    """What the page of the widget asks with."""
    status, text = sent(shop, f"/widget/{shop.id}/session", **{"sec-fetch-site": "same-origin"})
    assert status == 200
    return str(json.loads(text)["session"])


def test_one_tag_answers_questions_with_sources_under_a_strict_policy(shop: Shop) -> None:
    shop.open()
    frame = shop.app.find("iframe")
    assert frame.size == {"width": 64, "height": 64}
    shop.enter()
    shop.app.press(".launcher")
    shop.leave()
    shop.app.until(lambda: shop.app.find("iframe").size["width"] == 400 or None)
    shop.enter()
    shop.ask(BATTERY)
    assert "31 days" in shop.app.find(".markdown").text
    shop.app.press(".markdown .cite")
    assert "31 days" in shop.app.find("blockquote").text
    assert "Lantern 3 field manual" in shop.app.find(".sources").text
    shop.app.write("#q", Keys.ESCAPE)
    shop.app.find(".launcher")
    shop.leave()
    shop.app.until(lambda: shop.app.find("iframe").size["width"] == 64 or None)
    said = [item["message"] for item in shop.app.chrome.get_log("browser")]
    assert not [item for item in said if "Content Security Policy" in item], said


def test_neither_sees_what_the_other_has(shop: Shop) -> None:
    shop.open('data-place="main"')
    shop.enter()
    shop.ask(BATTERY)
    for reach in ("parent.document", "parent.document.cookie", "top.location.href", "parent.heard"):
        with pytest.raises(Exception, match="cross-origin frame"):
            shop.app.run(f"return {reach}")
    assert shop.app.run("return document.cookie") == ""
    kept = shop.app.run("return JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "ragstone_w_" not in kept, "what it asks with is nowhere but in its memory"
    shop.leave()
    assert "basket" in shop.app.run("return document.cookie")
    assert shop.app.run("return window.cookiesRead") == 1, "only the test itself read it"
    assert shop.app.run("return document.querySelector('iframe').contentDocument") is None
    heard = shop.app.run("return JSON.stringify(heard)")
    assert "ragstone_" not in heard
    asked = shop.app.chrome.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "fetch(arguments[0], {method: 'POST'}).then((one) => one.text()).then(done,"
        " (error) => done('refused: ' + error))",
        f"{shop.app.url}/widget/{shop.id}/session",
    )
    assert asked.startswith("refused"), asked
    assert shop.id in shop.app.chrome.page_source
    assert "ragstone_" not in shop.app.chrome.page_source, "the page has no secret at all"


def test_its_session_only_asks(shop: Shop) -> None:
    bearer = {"authorization": f"Bearer {session(shop)}"}
    status, text = sent(shop, f"/widget/{shop.id}/ask", **bearer)
    assert status == 200
    assert '"type":"answer"' in text
    for path in ("/v1/chat/completions", "/local/call/ask", "/local/upload", "/api/v1/keys"):
        status, text = sent(shop, path, **bearer)
        assert (status, "only asks" in text) == (403, True), path
    request = urllib.request.Request(f"{shop.app.url}/local/operations", headers=bearer)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=60)


def test_who_has_no_session_asks_nothing(shop: Shop) -> None:
    path = f"/widget/{shop.id}/ask"
    assert sent(shop, path)[0] == 401
    assert sent(shop, path, authorization=f"Bearer {shop.app.token}")[0] == 403
    good = session(shop)
    for wrong in (good[:-1] + ("0" if good[-1] != "0" else "1"), good.replace("_w_", "_"), "x"):
        assert sent(shop, path, authorization=f"Bearer {wrong}")[0] == 401
    ended = f"ragstone_w_{shop.id}_1_{'0' * 64}"
    assert sent(shop, path, authorization=f"Bearer {ended}")[0] == 401
    for where in ("cross-site", "same-site", "none"):
        status, _ = sent(shop, f"/widget/{shop.id}/session", **{"sec-fetch-site": where})
        assert status == 403
    assert sent(shop, f"/widget/{shop.id}/session")[0] == 403
    assert (
        sent(shop, "/widget/0123456789abcdef/session", **{"sec-fetch-site": "same-origin"})[0]
        == 404
    )


def test_a_site_that_is_not_named_cannot_frame_it(shop: Shop) -> None:
    with site({"/": shop.pages["/"], "/spy.js": SPY}, shop.app.url) as other:
        shop.app.chrome.get(other.replace("shop.example", "thief.example"))
        frame = shop.app.find("iframe")
        shop.app.chrome.switch_to.frame(frame)
        time.sleep(1)
        assert not shop.app.all(".launcher, #q")


def test_it_wears_what_the_site_says_and_markup_stays_text(shop: Shop) -> None:
    shop.open(
        'data-place="#here" data-theme="dark" data-colour="#b45309" data-language="ar" '
        'data-title="<b>اسأل</b>"',
        '<div id="here"></div>',
    )
    shop.enter()
    shop.app.find(".panel")
    assert shop.app.find("h1").text == "<b>اسأل</b>"
    assert shop.app.run("return document.documentElement.dir") == "rtl"
    colour = "return getComputedStyle(document.querySelector('header')).backgroundColor"
    assert shop.app.run(colour) == "rgb(180, 83, 9)"
    shop.ask(f"Who is {HOSTILE}?")
    assert HOSTILE in shop.app.find(".question").text
    assert shop.app.run("return window.pwned === undefined")
    shop.leave()
    shop.open('data-place="main" data-colour="red;} body{display:none}" data-title="Ask"')
    shop.enter()
    shop.app.find(".panel")
    assert shop.app.run(colour) == "rgb(15, 118, 110)"


def test_a_follow_up_is_understood_and_a_refusal_looks_like_one(shop: Shop) -> None:
    shop.open('data-place="main"')
    shop.enter()
    shop.ask("Who was the first king of France?")
    assert shop.app.find(".refused")
    shop.ask(BATTERY)
    shop.ask("And at minus 20 degrees?")
    assert len(shop.app.all("article")) == 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_from_using_it(shop: Shop, theme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there: make axe")
    shop.open(f'data-place="main" data-theme="{theme}"')
    shop.enter()
    shop.ask(BATTERY)
    shop.app.press(".markdown .cite")
    shop.app.chrome.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    shop.app.run(AXE.read_text(encoding="utf-8"))
    found = shop.app.chrome.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
    )
    shop.app.chrome.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    serious = [
        (item["id"], [node["html"][:150] for node in item["nodes"]][:3])
        for item in found["violations"]
        if item["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_revoked_key_ends_the_widget(shop: Shop) -> None:
    made = run(shop.app.data, "keys", "create", "brief", "--site", shop.url, "--json")
    id = json.loads(made.stdout)["key"]["id"]
    brief = Shop(shop.app, shop.url, id, shop.pages)
    bearer = {"authorization": f"Bearer {session(brief)}"}
    assert run(shop.app.data, "keys", "revoke", id).returncode == 0
    deadline = time.monotonic() + 30
    while sent(brief, f"/widget/{id}/ask", **bearer)[0] != 401:
        assert time.monotonic() < deadline, "the session still holds"
        time.sleep(0.2)
    status, _ = sent(brief, f"/widget/{id}/session", **{"sec-fetch-site": "same-origin"})
    assert status == 404
