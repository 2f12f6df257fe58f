"""Verified answers and quotas in the web app, in a real Chromium before a real server."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By

from tests.http.web.app import HOSTILE, WebApp

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"


@pytest.fixture(autouse=True)
def nothing_kept(app: WebApp) -> Iterator[None]:
    """Without what a test has left, for the other tests of this server."""
    yield
    for answer in app.call("verified.list_all", collection="default", principal={}):
        app.call("verified.remove", collection="default", id=answer["id"], principal={})
    for quota in app.call("quotas.list_all", tenant="default"):
        app.call("quotas.remove", tenant="default", subject=quota["subject"])


def test_an_answer_is_verified_and_then_given_with_a_badge(app: WebApp) -> None:
    app.ask(BATTERY)
    app.click("Verify")
    app.find("#verify textarea")
    wordings, text, sources = app.all("#verify textarea")
    assert wordings.get_attribute("value") == BATTERY
    assert "[1]" in (text.get_attribute("value") or "")
    assert "#" in (sources.get_attribute("value") or "")
    wordings.send_keys("\nBattery life in the dark")
    text.clear()
    text.send_keys("A month. [1]")
    app.write("#verify .options label:nth-of-type(2) input", f"Ada {HOSTILE}")
    app.click("Save")
    app.says("Given first")

    app.go("#/ask")
    turn = app.ask("Battery life in the dark?")

    badge = turn.find_element(By.CSS_SELECTOR, ".standing .badge.high")
    assert badge.text == f"Verified by Ada {HOSTILE}"
    assert turn.find_element(By.CSS_SELECTOR, ".markdown").text.startswith("A month.")
    assert turn.find_elements(By.CSS_SELECTOR, ".evidence-list .passage")
    assert app.run("return window.pwned === undefined")


def test_an_answer_is_written_from_questions_whose_answers_were_disliked(app: WebApp) -> None:
    for number, question in enumerate(
        ("What does the lantern weigh?", "How heavy is the lantern?")
    ):
        given = {"question": question, "comment": HOSTILE, "collection": "default"}
        whose = {"tenant": "default", "user": "eva"}
        app.call("feedback.give", answer_id=f"v{number}", thumb="down", principal=whose, **given)
    app.go("#/admin/verified")
    app.says("Questions without a good answer")
    app.says("How heavy is the lantern?")

    app.click("Write an answer")

    wordings = app.find("#verify textarea")
    assert set((wordings.get_attribute("value") or "").split("\n")) >= {
        "What does the lantern weigh?",
        "How heavy is the lantern?",
    }
    assert app.run("return window.pwned === undefined")


def test_a_quota_is_set_shown_and_then_refuses(app: WebApp) -> None:
    app.go("#/admin/quotas")
    app.write(".options input", "tenant")
    app.write(".options input[type=number]", "100")
    app.click("Set")
    app.says("of 100 tokens")
    app.go("#/ask")
    app.ask(BATTERY)
    app.says("of this month's quota is used")

    app.forget()
    app.write("#question", "How heavy is it?\n")

    app.says("of 100 tokens of tenant are used this month")
    app.go("#/admin/quotas")
    app.click("Remove the quota of tenant")
    app.says("There are no quotas.")
