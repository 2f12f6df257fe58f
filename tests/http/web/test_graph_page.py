"""The entity graph in a real Chromium: looked up, drawn, and leading to passages."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.e2e.processes import run, serving
from tests.http.web.app import HOSTILE, WebApp
from tests.http.web.test_pages import AXE, PHONE, unharmed
from tests.model_server import ModelServer
from tests.patience import PATIENCE

pytestmark = pytest.mark.real

SHIPS = {
    "meridian.md": "# Meridian\n\nThe ship Meridian was led by Ada Thornbury. It left Bergen.\n",
    "thornbury.md": "# Ada Thornbury\n\nThen Ada Thornbury of Bergen was born on the Meridian.\n",
    "bergen.md": "# Bergen\n\nThe harbour of Bergen has seen the Meridian and Ada Thornbury.\n",
    "hostile.md": f"# Niels Holm {HOSTILE}\n\nThen Niels Holm “{HOSTILE}” met Ada Thornbury.\n",
}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebApp]:
    folder = tmp_path_factory.mktemp("graph")
    files = folder / "ships"
    files.mkdir()
    for name, text in SHIPS.items():
        (files / name).write_text(text, encoding="utf-8")
    data = folder / "data"
    graph = {"RAG__KNOWLEDGE_GRAPH_ENABLED": "true"}
    assert run(data, "ingest", str(files), **graph).returncode == 0
    with chromium() as chrome, serving(data, **graph) as url:
        yield WebApp(chrome, url, data, ModelServer())


@pytest.fixture
def app(started: WebApp) -> WebApp:
    started.chrome.get(f"{started.url}/health")
    started.run("sessionStorage.clear(); localStorage.clear()")
    started.until(lambda: is_read(started) or None)
    started.open("#/graph")
    started.find(".names a")
    return started


def is_read(app: WebApp) -> bool:
    """Whether what was indexed is read for the graph, which happens in the background."""
    request = urllib.request.Request(
        f"{app.url}/api/v1/collections/default/graph",
        headers={"authorization": f"Bearer {app.token}"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        view = json.load(response)
    return not view["waiting"] and bool(view["themes"])


def test_a_name_is_looked_up_drawn_and_leads_to_its_passages(app: WebApp) -> None:
    app.write(".finder input", "ada thornbury" + Keys.ENTER)
    app.until(lambda: app.find("h2.entity").text == "Ada Thornbury" or None)
    drawn = app.texts(".drawing text")
    assert {"Ada Thornbury", "Bergen", "Meridian"} <= set(drawn)
    assert app.all(".sources mark")
    app.press(".sources a.passage")
    app.find("mark.evidence")
    unharmed(app)


def test_a_name_in_the_drawing_and_in_the_list_leads_on(app: WebApp) -> None:
    app.click("Bergen")
    app.until(lambda: app.find("h2.entity").text == "Bergen" or None)
    node = next(item for item in app.all(".drawing .node") if "Meridian" in item.text)
    # The middle of a node may lie between its circle and its name.
    node.find_element(By.TAG_NAME, "text").click()
    app.until(lambda: app.find("h2.entity").text == "Meridian" or None)
    app.click("All names")
    app.until(lambda: not app.all("h2.entity") or None)


def test_a_name_that_nothing_has_is_said_and_markup_stays_text(app: WebApp) -> None:
    app.write(".finder input", "Nobody At All" + Keys.ENTER)
    app.says("No document that you may read names this.")
    app.go("#/graph/default/Niels%20Holm")
    app.find("h2.entity")
    app.find(".sources a.passage")
    unharmed(app)


def test_a_theme_has_its_summary_and_its_passages(app: WebApp) -> None:
    app.press(".theme summary")
    app.says("Sentences of the documents")
    app.press(".theme[open] .told a")
    app.find("mark.evidence")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_from_using_it_and_a_phone_is_wide_enough(
    app: WebApp, theme: str, tmp_path: Path
) -> None:
    app.run("document.documentElement.dataset.theme = arguments[0]", theme)
    app.go("#/graph/default/Bergen")
    app.find(".drawing")
    app.resize(*PHONE)
    assert app.run("return document.documentElement.scrollWidth") <= PHONE[0]
    if not AXE.exists():
        pytest.skip("axe-core is not there: make axe")
    app.run(AXE.read_text(encoding="utf-8"))
    found = app.chrome.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
    )
    serious = [
        item["id"] for item in found["violations"] if item["impact"] in ("serious", "critical")
    ]
    assert serious == []
