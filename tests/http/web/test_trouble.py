"""What goes wrong before an open page, each with a clear message and a way on; and what is written
from right to left or without spaces."""

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.documents import copied
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp
from tests.http.web.cutting import cutting

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"
FILES = Path(__file__).parents[3] / "src" / "ragstone" / "http" / "web" / "static"


@pytest.fixture
def house(app: WebApp, tmp_path: Path, indexed_documents: Path) -> WebApp:
    """A data directory of its own, without a server yet."""
    return replace(app, data=copied(indexed_documents, tmp_path / "data"))


def model_of(app: WebApp) -> dict[str, str]:
    return {"LLM__MODEL": "some", "LLM__BASE_URL": app.model.url, "LLM__RETRIES": "0"}


def test_a_server_that_is_started_anew_under_an_open_page_is_gone_on_with(house: WebApp) -> None:
    with ExitStack() as stack:
        with serving(house.data, **model_of(house)) as first:
            way = stack.enter_context(cutting(first))
            here = replace(house, url=way.url)
            here.open()
            here.ask(BATTERY)
        here.write("#question", "And in winter?" + Keys.ENTER)
        here.says("The server does not answer. Is it running?")
        second = stack.enter_context(serving(house.data, **model_of(house)))
        way.lead_to(int(second.rpartition(":")[2]))
        here.click("Try again")
        signs_in = "input[type=password]"
        here.until(lambda: here.all(signs_in) or len(here.all(".standing")) > 1 or None)
        if fields := here.all(signs_in):
            fields[0].send_keys(here.token + Keys.ENTER)
            here.find("#question")
        assert BATTERY in here.find(".turn").text, "what was asked before is still there"


def test_a_key_that_ends_in_the_midst_of_an_answer_asks_for_another(house: WebApp) -> None:
    with serving(house.data, **model_of(house)) as url:
        here = replace(house, url=url)
        made = run(here.data, "keys", "create", "eva", "--json")
        assert made.returncode == 0, made.stderr
        issued = json.loads(made.stdout)
        secret, name = issued["secret"], issued["key"]["id"]
        here.chrome.get("about:blank")
        here.chrome.get(f"{url}/#key={secret}")
        here.model.says = tuple(f"word{number} " for number in range(60))
        here.model.pause = 0.1
        here.write("#question", BATTERY + Keys.ENTER)
        here.says("word3")
        assert run(here.data, "keys", "revoke", name).returncode == 0
        here.says("word59")
        here.write("#question", "And in winter?" + Keys.ENTER)
        field = here.find("input[type=password]")
        field.send_keys(here.token + Keys.ENTER)
        here.find("nav")
        assert "word59" in here.find(".turn").text, "what was answered is still there"


def test_two_browsers_at_once_each_have_their_own_answer(app: WebApp) -> None:
    app.model.says = tuple(f"word{number} " for number in range(40))
    app.model.pause = 0.1
    with chromium() as other:
        second = replace(app, chrome=other)
        second.open()
        app.write("#question", BATTERY + Keys.ENTER)
        second.write("#question", "What does the heating jacket cost?" + Keys.ENTER)
        for item, own, others in (
            (app, BATTERY, "heating jacket"),
            (second, "heating jacket", BATTERY),
        ):
            item.says("word39")
            item.find(".turn .actions")
            [turn] = item.all(".turn")
            assert own in turn.text
            assert others not in turn.text


@pytest.mark.parametrize(
    ("name", "text", "question", "said", "way"),
    [
        (
            "منارة.md",
            "# المنارة\n\nيبلغ ارتفاع المنارة في أوست 41 متراً. بنيت المنارة في سنة 1871.\n",
            "كم يبلغ ارتفاع المنارة في أوست؟",
            "يبلغ ارتفاع المنارة في أوست 41 متراً [1].",
            "rtl",
        ),
        (
            "灯塔.md",
            "# 灯塔\n\n奥斯特的灯塔高41米。灯塔建于1871年。\n",
            "奥斯特的灯塔有多高？",
            "奥斯特的灯塔高41米[1]。",
            "ltr",
        ),
    ],
)
def test_other_scripts_run_their_way_and_are_cited_and_coloured(
    app: WebApp, tmp_path: Path, name: str, text: str, question: str, said: str, way: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    app.go("#/documents")
    app.write("#files", str(file))
    app.says("1 added, 0 failed, 0 skipped")
    app.go("#/ask")
    app.model.says = (said,)
    turn = app.ask(question)
    direction = "return getComputedStyle(document.querySelector('.turn .markdown')).direction"
    assert app.run(direction) == way
    app.click("Check every sentence")
    app.find(".markdown mark.supported")
    turn.find_element("css selector", ".markdown .cite").click()
    app.find(".panel mark.evidence")
    assert "41" in app.find(".panel mark.evidence").text
    assert app.run("return document.documentElement.scrollWidth <= innerWidth")


def test_a_file_given_twice_or_too_large_says_so(house: WebApp, tmp_path: Path) -> None:
    limits = {"INGEST__MAX_FILE_MB": "1"}
    same, large = tmp_path / "same.md", tmp_path / "large.txt"
    same.write_text("# Same\n\nThe same file has one sentence.\n")
    large.write_text("A line of a very long list of words.\n" * 40_000)
    with serving(house.data, **model_of(house), **limits) as url:
        here = replace(house, url=url)
        here.open("#/documents")
        here.write("#files", str(same))
        here.says("1 added, 0 failed, 0 skipped")
        here.write("#files", f"{same}\n{large}")
        here.until(lambda: "large.txt" in here.find(".queue").text or None)
        here.until(lambda: here.all(".queue .failed, .queue .skipped") or None)
        assert "1 MB" in here.find(".queue").text


def test_a_browser_without_modules_is_told_what_to_use(app: WebApp) -> None:
    page = (FILES / "index.html").read_text(encoding="utf-8")
    assert '<script nomodule src="web/old.js"></script>' in page
    app.run("document.body.innerHTML = '<div id=app></div>'")
    app.run((FILES / "old.js").read_text(encoding="utf-8"))
    assert "too old for this page. Use a current Firefox" in app.find("#app").text
