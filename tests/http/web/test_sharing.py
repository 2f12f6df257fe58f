"""Conversations shared by a link, and notes, in the browser."""

import json
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.e2e.processes import run, serving
from tests.http.web.app import HOSTILE, WebApp
from tests.http.web.test_pages import flaws

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"


def share(app: WebApp) -> str:
    """Share the newest conversation; the link."""
    app.press(".conversations li.current details summary")
    app.click("Share by link")
    link = str(app.find("dialog input").get_attribute("value"))
    app.press("dialog .primary")
    app.says("Copied")
    return link


def sign_in(app: WebApp, secret: str, place: str = "") -> None:
    app.chrome.get("about:blank")
    app.chrome.get(f"{app.url}/#key={secret}")
    app.find("nav")
    app.go(place)


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1024), ("light", 390)])
def test_a_shared_conversation_is_read_with_its_evidence(
    app: WebApp, theme: str, width: int
) -> None:
    app.ask(BATTERY)
    link = share(app)
    app.run("localStorage.setItem('ragstone.theme', JSON.stringify(arguments[0]))", theme)
    app.open(link[link.index("#") :], width)

    app.says("31 days")
    app.says("Shared by")
    assert not app.all("[aria-label='Edit the question'], .composer, .thumbs")
    assert flaws(app) == []
    app.press(".markdown .cite")
    app.find(".panel mark.evidence")
    assert app.run("return document.documentElement.scrollWidth") <= width


def test_a_reader_sees_what_their_rights_allow_now_and_no_link_after_it_ended(
    app: WebApp, tmp_path: Path, indexed_documents: Path
) -> None:
    from tests.documents import copied

    data = copied(indexed_documents, tmp_path / "data")
    made = {
        user: json.loads(run(data, "keys", "create", user, "--user", user, "--json").stdout)[
            "secret"
        ]
        for user in ("ada", "bob")
    }
    with serving(data) as url:
        house = WebApp(app.chrome, url, data, app.model)
        sign_in(house, made["ada"])
        house.ask(BATTERY)
        link = share(house)
        place = link[link.index("#") :]
        sign_in(house, made["bob"], place)
        house.says("31 days")

        house.call(
            "readers.give",
            principal={},
            collection="default",
            readers=["user:ada"],
            below="/documents",
        )
        house.go("#/ask")
        house.go(place)
        house.says("Withheld, as you may not read every document that supports them: 1")
        assert "31 days" not in house.find("main").text

        sign_in(house, made["ada"])
        house.press(".conversations li details summary")
        house.click("Stop sharing")
        house.says("The link no longer works.")
        sign_in(house, made["bob"], place)
        house.says("There is no shared conversation at this link any more.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_answer_is_kept_with_its_evidence_commented_and_removed(app: WebApp, theme: str) -> None:
    app.ask(BATTERY)
    app.click("Keep as a note")
    app.says("Saved under Notes.")
    app.run("localStorage.setItem('ragstone.theme', JSON.stringify(arguments[0]))", theme)
    app.open("#/notes")
    app.says("31 days")
    app.write(".note-kept textarea", f"For Monday {HOSTILE}")
    app.click("Save")
    app.says("Saved")
    assert flaws(app) == []

    app.open("#/notes")
    app.until(
        lambda: "For Monday" in str(app.find(".note-kept textarea").get_attribute("value")) or None
    )
    app.press(".markdown .cite")
    app.find(".panel mark.evidence")
    assert not app.run("return window.pwned")
    app.click("Remove this note")
    app.press("dialog .danger")
    app.says("There are no notes yet.")


def test_a_note_is_kept_and_written_with_the_keyboard_alone(app: WebApp) -> None:
    app.ask(BATTERY)
    keep = app.button("Keep as a note")
    app.run("arguments[0].focus()", keep)
    keep.send_keys(Keys.ENTER)
    app.says("Saved under Notes.")
    app.run("document.querySelector(\"nav a[href='#/notes']\").focus()")
    app.chrome.switch_to.active_element.send_keys(Keys.ENTER)
    app.write(".note-kept textarea", "Mine", Keys.TAB, Keys.ENTER)
    app.says("Saved")
    app.click("Remove this note")
    app.press("dialog .danger")
    app.says("There are no notes yet.")


@pytest.mark.parametrize(
    ("language", "notes"), [("de", "Notizen"), ("zh", "笔记"), ("ko", "메모"), ("ar", "ملاحظات")]
)
def test_notes_speak_other_languages(app: WebApp, language: str, notes: str) -> None:
    app.run("localStorage.setItem('ragstone.language', JSON.stringify(arguments[0]))", language)
    app.open("#/notes")
    app.until(lambda: notes in app.find("h1").text or None, notes)
    assert flaws(app) == []
