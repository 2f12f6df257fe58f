"""The web app of a server without keys: for guests, and for who signs in and out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from selenium.webdriver.common.keys import Keys

from ragstone.access.gate import COOKIE
from ragstone.service.server_file import local_token, login_address
from tests.documents import copied
from tests.e2e.processes import serving
from tests.http.web.app import WebApp
from tests.patience import PATIENCE

BATTERY = "How long does a full battery charge last without sun?"


@pytest.fixture(scope="module")
def guests(
    started: WebApp, tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path
) -> Iterator[WebApp]:
    """The page of a server at which whoever has not shown the token is a guest."""
    data = copied(indexed_documents, tmp_path_factory.mktemp("guests") / "data")
    with serving(data, AUTH__GUESTS="ask") as url:
        yield replace(started, url=url, data=data)


@pytest.fixture
def app(guests: WebApp) -> WebApp:
    """The page of somebody who has never been here."""
    guests.resize(1280, 900)
    guests.chrome.get(f"{guests.url}/health")
    guests.run("sessionStorage.clear(); localStorage.clear()")
    guests.chrome.delete_all_cookies()
    guests.chrome.get("about:blank")
    guests.chrome.get(f"{guests.url}/")
    guests.chrome.get_log("browser")
    guests.find("#question")
    return guests


def errors(app: WebApp) -> list[str]:
    return [item["message"] for item in app.chrome.get_log("browser") if item["level"] == "SEVERE"]


def sign_in(app: WebApp) -> str:
    """Open the address that signs in; what a thief could copy afterwards."""
    app.chrome.get(login_address(app.url, local_token(app.data)))
    app.says("Administrator")
    return str(app.chrome.get_cookie(COOKIE)["value"])


def reads(app: WebApp, cookie: str) -> bool:
    """Whether a cookie opens what guests may not see."""
    headers = {"cookie": f"{COOKIE}={cookie}", "sec-fetch-site": "same-origin"}
    answer = httpx2.get(f"{app.url}/api/v1/collections", headers=headers, timeout=PATIENCE)
    assert answer.status_code in (200, 401)
    return answer.status_code == 200


def test_a_guest_asks_and_opens_the_evidence_and_is_shown_nothing_else(app: WebApp) -> None:
    turn = app.ask(BATTERY)
    assert "31 days" in turn.text

    app.press(".evidence-list .passage")

    assert "31 days" in app.find(".panel mark.evidence").text
    body = app.find("body").text
    for hidden in ("Documents", "Open the document", "Conversations", "Administration"):
        assert hidden not in body
    assert not errors(app)
    app.chrome.refresh()
    assert app.find("#question").is_displayed()
    app.says("Guest · read only")
    assert not errors(app)


def test_a_guest_is_offered_to_sign_in(app: WebApp) -> None:
    app.says("Sign in to see and add documents.")
    app.press(".welcome button")
    app.says("Enter the key")


def test_a_guest_names_the_collection_to_ask(app: WebApp) -> None:
    field = app.find(".composer input[maxlength='255']")
    assert field.get_attribute("value") == "default"
    field.send_keys(Keys.CONTROL + "a", Keys.NULL, "none", Keys.TAB)
    app.write("#question", BATTERY + Keys.ENTER)
    app.says("There is no such collection, or you may not read it. Choose another one.")


def test_who_signs_out_is_a_guest_after_a_reload_and_a_copied_cookie_too(app: WebApp) -> None:
    stolen = sign_in(app)
    assert reads(app, stolen)

    app.click("Sign out")

    app.says("Enter the key")
    assert app.chrome.get_cookie(COOKIE) is None
    assert not reads(app, stolen)
    app.chrome.refresh()
    app.says("Guest · read only")
    assert "Administrator" not in app.find("body").text
    sign_in(app)


def test_a_wrong_key_says_what_is_wrong(app: WebApp) -> None:
    for begin in ("Sign in", "Sign out"):
        if begin == "Sign out":
            sign_in(app)
        app.click(begin)
        app.write("input[type=password][autocomplete]", "wrong" + Keys.ENTER)
        said = app.find("[role=alert]").text
        assert said.startswith("This key is unknown here. Check it, or ask")
        app.chrome.refresh()
        app.find("#question")


def test_given_an_address_that_signed_in_once_then_a_page_says_what_to_do(app: WebApp) -> None:
    stale = login_address(app.url, "x" * 43)
    app.chrome.get(stale)
    app.says("This sign-in link has expired")
    app.find("input[type=password]")
    assert "login-ended" not in app.chrome.current_url
    assert httpx2.get(stale, timeout=PATIENCE).json()["error"]["code"] == "unauthorized"


def test_given_a_session_then_an_old_address_leaves_it_as_it_is(app: WebApp) -> None:
    sign_in(app)
    app.chrome.get(login_address(app.url, "x" * 43))
    app.says("Administrator")
