"""Takes a picture of every page, light and dark, on a desktop and on a phone, to be looked at:
`python -m tests.http.web.every_page DOCUMENTS QUESTION`, into docs/web/pages."""

import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.browser import chromium
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp
from tests.http.web.pictures import DESKTOP, PHONE, TARGET
from tests.model_server import ModelServer

PAGES = {
    "begin": "ask",
    "answer": "",
    "documents": "documents",
    "document": "",
    "graph": "graph",
    "why": "",
    "evaluate": "evaluate",
    "question-set": "evaluate/set/new",
    "overview": "admin/overview",
    "statistics": "admin/statistics",
    "settings": "admin/settings",
    "prompts": "admin/prompts",
    "topics": "admin/topics",
    "keys": "admin/keys",
    "sources": "admin/sources",
    "jobs": "admin/jobs",
    "feedback": "admin/feedback",
}
"""Each page's address below `#/`; empty where it is reached by what was done before."""
VIEWS = [(theme, size) for size in (DESKTOP, PHONE) for theme in ("light", "dark")]
FOREIGN = ("answer", "settings")
"""The pages that are taken in a language other than English."""
HEIGHT = 420
"""Pixels of each view's height in a picture; its views stand beside each other."""


def main(documents: str, question: str, language: str = "en") -> None:
    """Write one picture for each page, with its four views."""
    with tempfile.TemporaryDirectory() as folder, chromium() as chrome:
        data = Path(folder) / "data"
        option = f"path={Path(documents).resolve()}"
        for command in (
            ("ingest", documents),
            ("source", "add", "archive", "folder", "-o", option, "-c", "archive", "--every", "6h"),
            ("source", "sync", "archive"),
        ):
            done = run(data, *command)
            assert done.returncode == 0, done.stderr
        with serving(data) as url:
            app = WebApp(chrome, url, data, ModelServer())
            names = PAGES if language == "en" else FOREIGN
            views: dict[str, list[Image.Image]] = {name: [] for name in names}
            for theme, size in VIEWS:
                wear(app, theme, size, language)
                for name, some in views.items():
                    some.append(view(app, name, PAGES[name], question))
    target = TARGET / "pages"
    target.mkdir(exist_ok=True)
    for name, some in views.items():
        kept = name if language == "en" else f"{name}-{language}"
        beside(some).save(target / f"{kept}.webp", quality=50, method=6)


def wear(app: WebApp, theme: str, size: tuple[int, int], language: str) -> None:
    app.open(width=size[0], height=size[1])
    for name, value in (("theme", theme), ("language", language)):
        app.run(f"localStorage.setItem('ragstone.{name}', JSON.stringify(arguments[0]))", value)
    app.open(width=size[0], height=size[1])


def view(app: WebApp, name: str, place: str, question: str) -> Image.Image:
    """How a page looks."""
    if name == "answer":
        app.ask(question)
        for button in app.all(".standing button"):
            button.click()
        if cites := app.all(".markdown .cite"):
            cites[0].click()
            app.find(".panel .body, .panel mark.evidence, .paper canvas")
    elif name == "document":
        app.go("#/documents")
        app.press("table.list td a")
    elif name == "why":
        app.go("#/why")
        app.press("tbody a, .list a")
    else:
        app.go(f"#/{place}")
    time.sleep(1.5)
    return Image.open(io.BytesIO(app.chrome.get_screenshot_as_png())).convert("RGB")


def beside(some: list[Image.Image]) -> Image.Image:
    """The views in one picture, all of one height."""
    scaled = [item.resize((item.width * HEIGHT // item.height, HEIGHT)) for item in some]
    gap = 8
    whole = Image.new("RGB", (sum(item.width + gap for item in scaled) - gap, HEIGHT), "#888888")
    left = 0
    for item in scaled:
        whole.paste(item, (left, 0))
        left += item.width + gap
    return whole


if __name__ == "__main__":
    main(*sys.argv[1:])
