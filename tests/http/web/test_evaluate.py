"""Evaluation in the web app, in a real Chromium before a real server."""

import json
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.e2e.processes import run
from tests.http.web.app import HOSTILE, WebApp

pytestmark = pytest.mark.real

AXE = Path(__file__).parents[3] / ".venv" / "axe.min.js"
BATTERY = "How long does a full battery charge last without sun?"


@pytest.fixture(autouse=True)
def judged_by_the_same_answer(app: WebApp) -> None:
    """The model answers the question about the battery, whatever is asked."""
    app.model.says = ("A full charge lasts 31 days without sun at 20 degrees ", "[1].")


def begun(app: WebApp) -> None:
    """Press "Start", and wait for the figures."""
    app.click("Start")
    app.says("Measures")
    app.find(".outcomes, .sheet .dim")


def write(app: WebApp, *questions: tuple[str, str]) -> None:
    """A new set of these questions, each with an accepted answer."""
    app.go("#/evaluate")
    app.click("Write questions")
    for number, (question, answer) in enumerate(questions):
        if number:
            app.click("Another question")
        card = app.until(
            lambda number=number: dict(enumerate(app.all(".questions .card"))).get(number)
        )
        card.find_element("css selector", "input[dir=auto]").send_keys(question)
        card.find_element("css selector", "textarea").send_keys(answer)


def test_written_questions_are_asked_and_what_is_wrong_opens_in_why(app: WebApp) -> None:
    write(app, (BATTERY, "31 days"), (f"{BATTERY} {HOSTILE}", "9 kilograms"))
    app.write(".options input", f"Lantern {HOSTILE}")
    begun(app)
    row = app.until(
        lambda: next((item for item in app.all("tbody tr") if item.text.startswith("Right")), None)
    )
    assert "50%" in row.text
    wrong = app.find(".outcomes .is-wrong")
    assert "It contains none of the accepted answers." in wrong.text
    assert len(app.all(".outcomes .card")) == 1
    wrong.find_element("css selector", "a").click()
    app.says("Passages, as they were found")
    assert "Accepted answers\n9 kilograms" in app.find(".figures").text
    assert len(app.all(".timeline li")) > 10
    app.click("Ask it now")
    app.find(".tab")
    app.click("Passages")
    app.find("table.list tbody tr")
    app.click("Prompt")
    app.says("Answer the question from the numbered sources")
    app.click("Back to the evaluation")
    app.says("Measures")
    assert app.run("return window.pwned === undefined")
    assert not [
        item
        for item in app.chrome.get_log("browser")
        if "Content Security Policy" in item["message"]
    ]


def test_two_settings_are_compared_and_the_next_run_with_the_one_before(app: WebApp) -> None:
    write(app, (BATTERY, "31 days"))
    app.write(".options input", "Two settings")
    app.write("section.options input", "planned")
    app.click("Another setting to compare")
    second = app.until(lambda: dict(enumerate(app.all("section.options"))).get(1))
    second.find_element("css selector", "input").send_keys("words alone")
    Select(second.find_elements("css selector", "select")[1]).select_by_visible_text("bm25")
    begun(app)
    heads = app.texts("thead th[scope=col]")
    assert {"planned", "words alone"} <= set(heads)
    assert len(app.find(".bars").find_elements("css selector", "li")) == 2
    app.all("p a")[1].click()
    app.write(".questions textarea", Keys.CONTROL + "a")
    app.write(".questions textarea", "60 days")
    app.write("section.options input", "planned")
    begun(app)
    app.says("Different from before")
    app.says("right → wrong")
    assert app.all(".down")
    app.find(".chart polyline")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_from_using_a_run(app: WebApp, theme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there: make axe")
    write(app, (BATTERY, "31 days"), (f"{BATTERY} Really?", "9 kilograms"))
    app.write(".options input", f"Looked at {theme}")
    begun(app)
    app.run("document.documentElement.dataset.theme = arguments[0]", theme)
    for place in ("the run", "why"):
        app.run(AXE.read_text(encoding="utf-8"))
        found = app.chrome.execute_async_script(
            "axe.run({resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
        )
        serious = [
            (place, item["id"], [node["html"][:150] for node in item["nodes"]][:4])
            for item in found["violations"]
            if item["impact"] in ("serious", "critical")
        ]
        assert serious == []
        if place == "the run":
            app.press(".outcomes .is-wrong a")
            app.find(".timeline li")


def test_a_file_is_read_and_one_that_is_none_says_why(app: WebApp, tmp_path: Path) -> None:
    app.go("#/evaluate")
    app.find("#question-file")
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"question": "A?"}\n{"answers": []}\n')
    app.write("#question-file", str(wrong))
    app.says("Row 2 has no text in the field 'question'.")
    right = tmp_path / "battery.csv"
    right.write_text(f"question,answers,answerable\n{BATTERY},31 days,\nWho was king?,,no\n")
    app.write("#question-file", str(right))
    app.says("New set of questions")
    assert app.find(".options input").get_attribute("value") == "battery"
    assert len(app.all(".questions .card")) == 2
    app.click("Save")
    app.says("The questions are saved.")
    app.go("#/evaluate")
    app.says("battery")


def test_feedback_becomes_questions(app: WebApp) -> None:
    app.ask(BATTERY)
    app.click("Good answer")
    app.write(".thumbs input", "Exactly right" + Keys.ENTER)
    app.says("Saved. Thank you.")
    app.go("#/evaluate")
    app.click("From feedback")
    app.find(".questions .judged")
    card = next(item for item in app.all(".questions .card") if "Exactly right" in item.text)
    assert "A full charge lasts 31 days" in card.text
    begun(app)
    app.until(
        lambda: [item for item in app.all("tbody tr") if item.text.startswith("Right")] or None
    )


def test_the_command_line_makes_the_same(app: WebApp, tmp_path: Path) -> None:
    file = tmp_path / "from the shell.csv"
    file.write_text(f"question,answers\n{BATTERY},31 days\nWho was king?,Ludwig\n")
    done = run(app.data, "eval", "run", str(file), "--json", "--html", str(tmp_path / "r.html"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    app.go("#/evaluate")
    app.until(lambda: [item for item in app.all("td a") if "from the shell" in item.text] or None)
    app.go(f"#/evaluate/run/{told['id']}")
    app.says("50%")
    shown = run(app.data, "eval", "run", str(file))
    assert "Right" in shown.stdout
    assert "50.0 %" in shown.stdout
    assert "wrong (standard): Who was king?" in shown.stdout
    page = (tmp_path / "r.html").as_uri()
    app.chrome.get(page)
    assert "50.0 %" in app.find("table").text
    assert app.all("svg rect")
    app.press("details summary")
    app.says("Ludwig")
