"""What people with accounts do in the web app, in a real Chromium before a real server."""

from pathlib import Path
from urllib.parse import urlsplit

import pyotp
import pytest
from selenium.webdriver.common.keys import Keys

from tests.e2e.processes import serving
from tests.http.web.app import WebApp
from tests.http.web.test_pages import unharmed

pytestmark = pytest.mark.real

PASSWORD, OTHER = "a horse in the hallway", "two horses in the hallway"


def fill(app: WebApp, *texts: str, form: str = "form") -> None:
    """Type into the fields of a form that are empty, in order, and send it."""

    def write() -> bool:
        fields = [
            item
            for item in app.all(f"{form} input:not([type=checkbox]):not(.unseen)")
            if item.is_displayed() and not item.get_attribute("value")
        ]
        for field, text in zip(fields, texts, strict=False):
            field.send_keys(text)
        return True

    app.find(form)
    app.until(write, form)
    app.press(f"{form} button:not([type])")


def open_invitation(app: WebApp, address: str) -> None:
    app.chrome.get("about:blank")
    app.chrome.get(f"{app.url}/#{urlsplit(address).fragment}")
    app.says("Welcome")


def test_from_the_first_invitation_to_a_second_factor_and_the_end_of_a_session(
    tmp_path: Path, app: WebApp
) -> None:
    with serving(tmp_path / "data", AUDIT__FOLDER=str(tmp_path / "trail")) as url:
        page = WebApp(app.chrome, url, tmp_path / "data", app.model)
        page.open("#/admin/people")
        page.says("Make the first account an administrator's.")
        fill(page, "boss", "Grace Hopper")
        address = page.find(".secret").text

        open_invitation(page, address)
        assert page.run("return location.hash") == "#/ask"
        fill(page, PASSWORD, OTHER)
        page.says("The two passwords are not the same.")
        page.run("document.querySelectorAll('input[type=password]')[1].select()")
        page.all("input[type=password]")[1].send_keys(PASSWORD)
        page.click("Save and sign in")
        page.find("nav")
        assert page.button("boss").get_attribute("href").endswith("#/account")
        assert page.run("return document.cookie") == ""
        page.chrome.refresh()
        page.button("boss")

        page.go("#/admin/people")
        fill(page, "ada", "Ada Lovelace")
        address = page.find(".secret").text
        page.click("boss")
        page.click("Sign out")
        page.says("Sign in with a key")
        fill(page, "boss", OTHER)
        page.says("Name, password or code is not right.")

        open_invitation(page, address)
        fill(page, PASSWORD, PASSWORD)
        page.click("ada")
        page.says("With an authenticator on your phone")
        fill(page, PASSWORD, form="section:last-of-type form")
        secret = page.find(".secret").text
        assert page.find("main img").get_attribute("src").startswith("data:image/svg+xml")
        fill(page, pyotp.TOTP(secret).now(), form="section:last-of-type form")
        page.says("each of these lets you in once")
        codes = page.texts(".callout code")
        assert len(codes) == 10
        unharmed(page)

        page.click("Sign out everywhere")
        page.says("Sign in with a key")
        fill(page, "ada", PASSWORD)
        page.says("Code of your authenticator")
        page.write("input[autocomplete=one-time-code]", codes[0] + Keys.ENTER)
        page.find("nav")
        assert page.texts("nav a") == [
            "Ask",
            "Documents",
            "Notes",
            "Graph",
            "Why",
        ]

        page.chrome.delete_all_cookies()
        page.go("#/ask")
        page.chrome.refresh()
        fill(page, "boss", PASSWORD)
        page.find("nav")
        page.go("#/admin/people/ada")
        page.says("Authenticator")
        page.click("Turn the authenticator off")
        page.click("End this session")
        page.says("Not signed in")
        page.click("Remove the account")
        page.press("dialog .danger")
        page.until(lambda: page.run("return location.hash") == "#/admin/people" or None)
        page.until(lambda: not page.all("a[href$='people/ada']") or None)

        page.go("#/admin/audit")
        page.says("people.remove User ada")
        page.write("form input", "ada" + Keys.ENTER)
        page.says("people.set_second_factor")
        assert not page.run("return document.body.innerText.includes('people.remove')")
        unharmed(page)
