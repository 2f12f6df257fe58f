"""How long the page itself takes where there is much in it: `python -m tests.http.web.load`.

The server is real, and small. What it would answer of 5,000 documents and 500 turns is put into the
page in its place, so that a run takes a minute. Of each interaction it prints the milliseconds of
the processor, above 200 of which it fails, and those until the next frame by Chromium's Event
Timing, which other work on the machine lengthens.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.documents import DOCUMENTS
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp
from tests.http.web.large_pdf import ledger
from tests.model_server import ModelServer

MAX_MS = 200.0
FILES, LISTED, TURNS, CHARACTERS, PAGES = 500, 5_000, 500, 100_000, 2_000

ANSWERS = Path(__file__).with_suffix(".js")


def main() -> None:
    """Print the figures of every interaction; exit with 1 where one is too slow."""
    with tempfile.TemporaryDirectory() as folder, chromium() as chrome:
        data = Path(folder) / "data"
        long = Path(folder) / "ledger.pdf"
        long.write_bytes(ledger(PAGES))
        assert run(data, "ingest", str(DOCUMENTS), str(long)).returncode == 0
        with serving(data) as url:
            app = WebApp(chrome, url, data, ModelServer())
            numbers = {"LISTED": LISTED, "TURNS": TURNS, "CHARACTERS": CHARACTERS}
            known = "".join(f"const {name} = {value};" for name, value in numbers.items())
            source = known + ANSWERS.read_text(encoding="utf-8")
            chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
            chrome.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            sys.exit(int(max(interact(app)) > MAX_MS))


def interact(app: WebApp) -> Iterator[float]:
    """Do what people do where there is much; the longest time of each, in milliseconds."""
    app.open(f"#/documents/default/{app.document('ledger.pdf')}")
    app.says(f"Page 1 of {PAGES:,}")
    app.find(".page canvas")
    turning = [lambda: app.click("Next page")] * 8
    yield measure(app, f"turning a page of {PAGES:,}", turning)
    numbers = [partial(turn_to, app, page) for page in (PAGES - 1, 9, PAGES // 2)]
    yield measure(app, "opening a page by its number", numbers)
    buttons = ("Zoom in", "Zoom out", "Fit width", "Small pictures of the pages")
    steps = [partial(app.click, label) for label in buttons]
    yield measure(app, "zooming, and showing small pictures", steps)
    keys = typing(app, ".finding input", "A-1777" + Keys.ENTER)
    yield measure(app, "finding words in them", keys)
    app.open("#/documents")
    app.until(lambda: len(app.all("table.list tbody tr")) == 200 or None)
    for _ in range(LISTED // 1_000 - 1):
        app.click("Load more documents")
        time.sleep(1)
    keys = typing(app, ".filters input", "note 49")
    yield measure(app, f"a key in the filter of {LISTED:,} documents", keys)
    app.write(".filters input", "\b" * len(keys))
    ticked = app.all("table.list input")[1:4]
    yield measure(app, "ticking one of them", [box.click for box in ticked])
    yield measure(app, "showing 200 more rows", [lambda: app.click("Show more")])
    app.run(
        "return import('/web/adding.js').then(({ pause, add }) => { pause(true);"
        " const file = (number) => new File(['a'], `n${number}.md`);"
        " add(Array.from({ length: arguments[0] }, (_, number) =>"
        " ({ file: file(number), path: `n${number}.md` })), 'default'); })",
        FILES,
    )
    app.says(f"Paused: {FILES} files wait")
    keys = typing(app, ".filters input", "note 1")
    yield measure(app, f"a key with {FILES} files in the list", keys)
    app.run("return import('/web/adding.js').then(({ queue }) => { queue.files = []; })")
    app.go("#/ask/many")
    app.says("Question 0?")
    keys = typing(app, "#question", "typed at once")
    yield measure(app, f"a key below an answer of {CHARACTERS:,} characters", keys)
    while len(app.all(".turn")) < TURNS:
        app.click("Show earlier questions")
        time.sleep(0.3)
    yield measure(app, f"a key below {TURNS} turns", typing(app, "#question", "and here"))


def turn_to(app: WebApp, page: int) -> None:
    """Write a number over that of the page."""
    field = app.find(".page-field input")
    app.run("arguments[0].select()", field)
    field.send_keys(f"{page}{Keys.ENTER}")


def typing(app: WebApp, selector: str, text: str) -> list[Callable[[], None]]:
    """A step for each key that is typed into a field."""
    field = app.find(selector)
    return [partial(field.send_keys, key) for key in text]


def measure(app: WebApp, what: str, steps: Sequence[Callable[[], None]]) -> float:
    """Take the steps, print how long the slowest took, and return its processor time."""
    time.sleep(1)  # What came before is drawn.
    app.run("window.slow = []")
    used = []
    for step in steps:
        before = ticks(app)
        step()
        time.sleep(0.4)
        used.append(1000 * (ticks(app) - before))
    events = app.run("return window.slow") or [0]
    print(f"{what}: {max(used):.0f} ms, {max(events):.0f} to the next frame", flush=True)
    return max(used)


def ticks(app: WebApp) -> float:
    """Seconds of processor time that the page has used."""
    told = app.chrome.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(item["value"] for item in told if item["name"] == "TaskDuration"))


if __name__ == "__main__":
    main()
