"""Takes the pictures of docs/web.md from a real server with the sample documents:
`python -m tests.http.web.pictures`."""

import io
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.documents import DOCUMENTS
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp
from tests.http.web.site import site
from tests.model_server import ModelServer

TARGET = Path(__file__).parents[3] / "docs" / "web"
DESKTOP, PHONE = (1280, 800), (390, 800)
QUESTIONS = """question,answers,sources,answerable
How long does a full battery charge last without sun?,31 days,lantern-3-manual.md,
What was the revenue in 2024?,48.6 million,annual-report-2024.pdf,
Which fault code means a cold battery?,E14,lantern-3-manual.md,
What is the kilometre rate for a private car?,0.38,travel-policy.html,
Who became chief executive in 2024?,Peter Marsh,annual-report-2024.pdf,
Who was the first king of France?,,,no
"""
SHOP = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Northmoor Instruments</title>
<body><h1>Northmoor Instruments</h1><p>Weather stations that last.</p>
<ul><li>Lantern 3</li><li>Spare parts</li><li>Support</li></ul>TAG"""
GRAPH = {"RAG__KNOWLEDGE_GRAPH_ENABLED": "true"}
BATTERY = "How long does a full battery charge last without sun?"


def main() -> None:
    """Write every picture."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as chrome:
        data = Path(folder) / "data"
        done = run(data, "ingest", str(DOCUMENTS), **GRAPH)
        assert done.returncode == 0, done.stderr
        with serving(data, **GRAPH) as url:
            take(WebApp(chrome, url, data, ModelServer()))
            # The last one: with its key, everybody needs one.
            widget(WebApp(chrome, url, data, ModelServer()))


def take(app: WebApp) -> None:
    """Use the app as people do, and keep how it looks."""
    dress(app, "light", DESKTOP)
    app.ask(BATTERY)
    app.click("Check every sentence")
    app.press(".markdown .cite")
    app.find(".panel mark.evidence")
    keep(app, "ask")
    dress(app, "dark", DESKTOP)
    app.ask("What was the revenue in 2024?")
    app.press(".markdown .cite")
    app.find(".paper .box")
    keep(app, "page-dark")
    app.click("Why this answer?")
    app.find(".timeline li")
    app.click("Passages")
    keep(app, "why-dark")
    dress(app, "light", DESKTOP)
    app.go("#/documents")
    app.write(".finder input", "wind sensor")
    app.find(".found mark")
    keep(app, "documents")
    app.go("#/graph/default/Northmoor%20Instruments")
    app.find(".drawing")
    keep(app, "graph")
    app.go("#/admin/settings")
    app.write(".filters input", "cache")
    keep(app, "settings")
    evaluated(app)
    keep(app, "evaluate")
    dress(app, "dark", PHONE)
    app.ask("Who was the first king of France?")
    keep(app, "phone-dark")


def evaluated(app: WebApp) -> None:
    """Two runs of a set, the second with two settings."""
    dress(app, "light", (1280, 1100))
    file = app.data.parent / "Lantern.csv"
    file.write_text(QUESTIONS)
    for settings in ((), ("--with", "name=as planned", "--with", "name=words,strategy=bm25")):
        done = run(app.data, "eval", "run", str(file), *settings)
        assert done.returncode == 0, done.stderr
    app.go("#/evaluate")
    app.press("tbody a[href*='/run/']")
    app.find(".outcomes .card, .plots")


def widget(app: WebApp) -> None:
    """The widget on a page of another site."""
    pages: dict[str, str] = {}
    with site(pages, app.url) as shop:
        done = run(app.data, "keys", "create", "the shop", "--site", shop)
        assert done.returncode == 0, done.stderr
        tag = done.stdout.replace("http://127.0.0.1:8006", app.url)
        titled = tag.replace(" async", ' data-title="Ask our handbook" async')
        pages["/"] = SHOP.replace("TAG", titled)
        app.resize(*DESKTOP)
        app.chrome.get(shop)
        app.chrome.switch_to.frame(app.find("iframe"))
        app.press(".launcher")
        app.write("#q", BATTERY + Keys.ENTER)
        app.find(".sources")
        app.press(".markdown .cite")
        app.find("blockquote")
        app.chrome.switch_to.default_content()
        keep(app, "widget")


def dress(app: WebApp, theme: str, size: tuple[int, int]) -> None:
    app.open(width=size[0], height=size[1])
    app.run("localStorage.setItem('ragstone.theme', JSON.stringify(arguments[0]))", theme)
    app.open(width=size[0], height=size[1])
    app.find(".suggestion")


def keep(app: WebApp, name: str) -> None:
    time.sleep(1)  # For what moves.
    picture = Image.open(io.BytesIO(app.chrome.get_screenshot_as_png()))
    picture.convert("RGB").save(TARGET / f"{name}.webp", quality=80, method=6)


if __name__ == "__main__":
    main()
