"""A conversation in the web app: files of its own, formulas, and a connection that breaks."""

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.http.web.app import HOSTILE, WebApp
from tests.http.web.cutting import cutting

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"
NOT_RUN = "return window.pwned === undefined"


def test_an_answer_goes_on_when_the_connection_broke_in_its_middle(app: WebApp) -> None:
    words = tuple(f"word{number} " for number in range(60))
    app.model.says = (*words, "[1].")
    app.model.pause = 0.1
    with cutting(app.url) as way:
        here = replace(app, url=way.url)
        here.open()
        calls = app.model.streamed
        here.write("#question", BATTERY + Keys.ENTER)
        here.says("word12")
        way.away = True
        way.cut()
        here.says("The connection was lost. The answer goes on as soon as it is back.")
        time.sleep(1)
        way.away = False
        here.says("word59")
        here.find(".turn .actions")
        shown = re.findall(r"word\d+", here.find(".markdown").text)
        assert shown == [word.strip() for word in words], "nothing is lost, nothing comes twice"
        assert app.model.streamed == calls + 1, "it was not asked anew"
        assert "The connection was lost" not in here.find(".turn").text


def test_stop_ends_the_answer_on_the_server_too(app: WebApp) -> None:
    app.model.says = tuple(f"word{number} " for number in range(600))
    app.model.pause = 0.1
    ended = app.model.ended
    app.write("#question", BATTERY + Keys.ENTER)
    app.says("word3")
    app.click("Stop")
    app.says("Stopped.")
    app.until(lambda: app.model.ended > ended or None, "the model is still asked")


LEFT = """const box = document.querySelector(".talk");
return box.scrollHeight - box.clientHeight - box.scrollTop;"""
IN_VIEW = """const box = document.querySelector(".talk").getBoundingClientRect();
const [turn] = [...document.querySelectorAll(".turn")].slice(-1);
return [...turn.querySelectorAll("h2, .markdown")].every((item) => {
  const place = item.getBoundingClientRect();
  return place.top >= box.top && place.bottom <= box.bottom; });"""


def test_a_new_answer_is_in_view_below_its_question(app: WebApp) -> None:
    app.model.says = ("It lasts 31 days without sun ", "[1].")
    for question in (BATTERY, "How heavy is it?", BATTERY):
        app.ask(question)
        app.find(".turn:last-of-type .actions")
        app.until(lambda: app.run(IN_VIEW) or None, "question and answer are in view")


def test_a_long_answer_is_followed_until_its_reader_scrolls_up(app: WebApp) -> None:
    app.model.says = tuple(f"word{number} \n\n" for number in range(400))
    app.model.pause = 0.05
    app.write("#question", BATTERY + Keys.ENTER)
    app.says("word60")
    app.until(lambda: app.run(LEFT) < 60 or None, "the end is in view")
    app.run("document.querySelector('.talk').scrollTop -= 400")
    app.says("word120")
    assert app.run(LEFT) > 400, "who has scrolled up stays there"
    app.click("Jump to the latest")
    app.says("word160")
    app.until(lambda: app.run(LEFT) < 60 or None, "it is followed again")
    app.click("Stop")


def test_what_to_ask_next_is_suggested_from_the_documents_and_asked_by_a_click(
    app: WebApp,
) -> None:
    before = len(app.call("statistics.traces", tenant="default", limit=1000))
    calls = len(app.model.calls)
    app.ask(BATTERY)
    asked = len(app.model.calls) - calls
    app.says("Ask next")
    assert len(app.model.calls) - calls == asked, "what is suggested was tried without the model"
    first = app.find(".suggested .suggestion").text
    assert first.startswith("What do the documents say about “")

    app.press(".suggested .suggestion")

    app.until(lambda: len(app.all(".turn .actions")) == 2 or None)
    assert app.all(".turn h2")[-1].text == first
    following = app.until(lambda: app.all(".suggested .suggestion") or None)
    assert first not in [item.text for item in following]
    app.chrome.refresh()
    app.find(".suggested .suggestion")
    traces = app.call("statistics.traces", tenant="default", limit=1000)
    assert len(traces) == before + 2, "what is suggested was not asked"


def test_a_server_that_does_not_come_back_is_said_with_a_way_on(app: WebApp) -> None:
    app.model.says = tuple(f"word{number} " for number in range(100))
    app.model.pause = 0.1
    with cutting(app.url) as way:
        here = replace(app, url=way.url)
        here.open()
        here.write("#question", BATTERY + Keys.ENTER)
        here.says("word3")
        way.away = True
        way.cut()
        here.says("The server does not answer. Is it running?")
        assert "word3" in here.find(".markdown").text, "what was said stays"
        way.away = False
        app.model.says = ("It lasts 31 days without sun ", "[1].")
        app.model.pause = 0.0
        here.click("Try again")
        here.find(".turn:last-of-type .standing")


def test_formulas_are_drawn_and_prices_and_markup_stay_text(app: WebApp) -> None:
    app.model.says = (
        "It lasts 31 days without sun [1], as $E = mc^2$ and \\(a_1\\) say:\n\n",
        "$$\n\\sum_{i=1}^{n} \\frac{1}{i}\n$$\n\nIt costs $5 or $10. `$x$` is code. ",
        "$\\href{javascript:window.pwned=1}{x}$ $\\text{<img src=x onerror=window.pwned=1>}$ ",
        f"$\\nonsense{{$ {HOSTILE}\n",
    )
    turn = app.ask(BATTERY)
    app.until(lambda: len(app.all(".markdown math")) >= 3 or None)
    assert turn.find_elements("css selector", "math mfrac")
    assert turn.find_elements("css selector", "math[display=block] munderover")
    text = turn.find_element("css selector", ".markdown").text
    assert "It costs $5 or $10." in text
    assert "$x$" in text
    assert "\\nonsense" in text
    assert not turn.find_elements("css selector", ".markdown img, .markdown b, math a, math [href]")
    assert app.run(NOT_RUN)
    log = [item["message"] for item in app.chrome.get_log("browser")]
    assert not [item for item in log if "Content Security Policy" in item], log


def test_sentences_with_formulas_are_coloured_whole(app: WebApp) -> None:
    app.model.says = (
        "A full charge lasts 31 days without sun, so $t = 31 \\cdot 24$ hours [1]. ",
        "With \\(\\sqrt[3]{a_1}\\) = $c$ the moon is a blue cheese of Norway. ",
        "The yearly sum is then:\n\n$$\n\\sum_{i=1}^{n} x_i.\n= 44\n$$\n\nAsk again.\n",
    )
    turn = app.ask(BATTERY)
    app.until(lambda: len(app.all(".markdown math")) == 4 or None)
    app.click("Check every sentence")

    def coloured() -> list[tuple[str, str]]:
        """Of each mark its verdict's number, and its text; a formula as its source."""
        return [
            (item[0], item[1])
            for item in app.run(
                "return [...document.querySelectorAll('.markdown mark')].map((mark) => "
                "[mark.dataset.verdict, mark.querySelector('math') ? "
                "mark.querySelector('.formula').dataset.tex.trim() : mark.textContent.trim()])"
            )
        ]

    app.until(lambda: coloured() or None)
    whole: dict[str, list[str]] = {}
    for number, said in coloured():
        whole.setdefault(number, []).append(said)
    assert list(whole.values())[:4] == [
        ["A full charge lasts 31 days without sun, so", "t = 31 \\cdot 24", "hours"],
        ["With", "\\sqrt[3]{a_1}", "=", "c", "the moon is a blue cheese of Norway."],
        ["The yearly sum is then"],
        ["\\sum_{i=1}^{n} x_i.\n= 44"],
    ]
    marks = turn.find_elements("css selector", ".markdown mark[data-verdict='1']")
    assert len({mark.get_attribute("class") for mark in marks}) == 1
    assert "unsupported" in str(marks[0].get_attribute("class"))
    assert len([mark for mark in marks if mark.get_attribute("tabindex") == "0"]) == 1
    assert len(app.all(".markdown math")) == 4, "the formulas are still drawn"
    app.click("Hide the check")
    app.until(lambda: not app.all(".markdown mark") or None)
    assert len(app.all(".markdown math")) == 4
    app.click("Check every sentence")
    assert len(coloured()) == sum(map(len, whole.values()))


def test_files_of_a_conversation_are_answered_from_and_go_with_it(
    app: WebApp, tmp_path: Path
) -> None:
    app.model.says = ("The harbour of Sundby has 14 cranes ", "[1].")
    note = tmp_path / "harbour.md"
    note.write_text("# Sundby\n\nThe harbour of Sundby has 14 cranes and one slipway.\n")
    wrong = tmp_path / "picture.xyz"
    wrong.write_bytes(b"\x00\x01")
    app.write("#attach", f"{note}\n{wrong}")
    app.until(lambda: app.all(".attached li.done") or None)
    app.until(lambda: app.all(".attached li.skipped, .attached li.failed") or None)
    turn = app.ask("How many cranes does the harbour have?")
    assert "14 cranes" in turn.text
    sources = [element.text for element in turn.find_elements("css selector", ".sources strong")]
    assert set(sources) == {"Sundby"}, "only the files of the conversation were read"
    app.go("#/documents")
    app.says("/conversations/")
    link = next(item for item in app.all("table.list td a") if item.text == "Sundby")
    link.click()
    app.click("Metadata")
    app.says("user:")
    assert "Everyone" not in app.find(".card").text
    app.chrome.back()
    app.chrome.back()
    app.press(".conversations li.current summary")
    app.click("Delete")
    app.press("dialog .danger")
    app.until(lambda: not app.all(".turn") or None)
    app.go("#/documents")
    app.find("table.list")
    app.until(lambda: "/conversations/" not in app.find("main").text or None)
