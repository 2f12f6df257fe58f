"""The widget on the pages of a real classic Plone site, put there as its administrator would."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp
from tests.model_server import model_server
from tests.plone.inside import PASSWORD, word
from tests.plone.site import PloneSite

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1200)]


@dataclass(frozen=True)
class Port:
    """A browser before a Plone site that has the widget of a server that reads the site."""

    app: WebApp
    plone: PloneSite
    url: str
    tag: str

    def log_in(self, user: str) -> None:
        self.app.chrome.delete_all_cookies()
        self.app.chrome.get(f"{self.url}/login")
        self.app.write("#__ac_name", user)
        self.app.write("#__ac_password", PASSWORD + Keys.ENTER)
        self.app.find("#personaltools-logout, #portal-logout, [href$='/logout']")

    def log_out(self) -> None:
        self.app.chrome.get(self.url)
        self.app.chrome.delete_all_cookies()

    def ask(self, question: str) -> str:
        """What the widget of this page answers, with its sources."""
        self.app.chrome.switch_to.default_content()
        self.app.chrome.switch_to.frame(self.app.find("iframe[src*='/widget/']"))
        if self.app.all(".launcher"):
            self.app.press(".launcher")
        self.app.write("#q", question + Keys.ENTER)
        self.app.find("article:last-of-type .sources, article:last-of-type .refused")
        return self.app.find("article:last-of-type").text


@pytest.fixture(scope="module")
def port(plone: PloneSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    """The manager puts the tag into the form for such things of the site's control panel."""
    data = tmp_path_factory.mktemp("port") / "data"
    url = plone.url.replace("127.0.0.1", "harbour.example")
    address = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    site = {
        "PLONE__URL": plone.url,
        "PLONE__TOKEN": f"sync:{PASSWORD}",
        "PLONE__CONTENT_TYPES": '["Document", "News Item", "File"]',
    }
    with (
        model_server() as model,
        serving(data, **site) as server,
        chromium() as chrome,
    ):
        done = run(data, "plone", "sync", **site)
        assert done.returncode == 0, done.stderr
        named = ("--collection", "plone", "--site", address, "--json")
        key = json.loads(run(data, "keys", "create", "the port", *named).stdout)["key"]
        tag = f'<script src="{server}/web/widget.js" data-widget="{key["id"]}" async></script>'
        made = Port(WebApp(chrome, server, data, model), plone, url, tag)
        made.app.resize(1280, 900)
        made.log_in("sync")
        chrome.get(f"{url}/@@site-controlpanel")
        made.app.write("#form-widgets-webstats_js", tag)
        made.app.write("#form-buttons-save", Keys.ENTER)
        made.app.find(".portalMessage, .alert")
        made.log_out()
        yield made
        chrome.switch_to.default_content()


@pytest.fixture(autouse=True)
def visitor(port: Port) -> Iterator[None]:
    """Nobody is logged in, and the browser looks at no frame."""
    port.app.chrome.switch_to.default_content()
    port.log_out()
    port.app.chrome.get_log("browser")
    yield
    port.app.chrome.switch_to.default_content()


def test_given_the_tag_in_the_control_panel_then_each_page_answers_with_its_sources(
    port: Port,
) -> None:
    for place in (
        "",
        "/en/page-3",
        "/en/downloads",
        "/en/news-1",
        "/@@search?SearchableText=crane",
    ):
        port.app.chrome.get(f"{port.url}{place}")
        text = port.ask("How many cranes has pier 3?")
        assert "6 cranes" in text, place
        assert "Page 3" in text
        said = [item["message"] for item in port.app.chrome.get_log("browser")]
        assert not [item for item in said if "Content Security" in item or "widget" in item], said
    port.app.press("article:last-of-type .source")
    link = port.app.find("article:last-of-type .sources a").get_attribute("href")
    assert link == f"{port.plone.url}/en/page-3"


@pytest.mark.parametrize("user", ["", "ann", "sync"])
def test_given_anyone_then_only_what_visitors_view_is_told(port: Port, user: str) -> None:
    """Whoever is logged in at the site is a visitor to the widget."""
    if user:
        port.log_in(user)
    port.app.chrome.get(f"{port.url}/en/page-1")
    closed = f"What does the code word {word('plan-2')} open?"
    assert "Plan 2" not in port.ask(closed).replace(closed, "")


def test_given_an_editor_then_the_forms_of_the_site_work_beside_it(port: Port) -> None:
    port.log_in("sync")
    port.app.chrome.get(f"{port.url}/en/page-5/edit")
    title = port.app.find("#form-widgets-IDublinCore-title")
    title.clear()
    title.send_keys("Page 5 anew")
    assert port.app.find("iframe[src*='/widget/']").is_displayed()
    port.app.write("#form-buttons-save", Keys.ENTER)
    port.app.until(
        lambda: port.app.find("h1").text == "Page 5 anew" or None, "the title that was written"
    )


def test_given_the_tag_in_the_text_of_a_page_then_plone_takes_it_out(port: Port) -> None:
    """So nobody who may only write pages can put it there, but the control panel can."""
    port.plone.add("/en", "Document", "with-tag")
    port.plone.change("/en/with-tag", text={"data": f"<p>Here.</p>{port.tag}"})
    port.plone.transition("/en/with-tag", "publish")
    port.app.chrome.get(f"{port.url}/en/with-tag")
    port.app.find("iframe[src*='/widget/']")
    assert len(port.app.all("script[data-widget]")) == 1
    port.plone.delete("/en/with-tag")
