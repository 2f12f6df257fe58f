"""The web app in a real browser, before a real server."""

import json
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selenium.common import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from ragstone.service.contract import operations
from ragstone.service.wire import OPERATION_HEADER
from tests.model_server import ModelServer

SECONDS = 60.0
"""How long the page may take to show anything, on a busy machine."""

NOT_READY = (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
"""What a page that is still being drawn answers to a click or a key."""

HOSTILE = '<img src=x onerror="window.pwned=1"><b>bold</b>'
"""Markup that would run if it were taken for such."""


@dataclass(frozen=True)
class WebApp:
    """A browser, the server's address and data directory, and the chat model that it asks."""

    chrome: Chrome
    url: str
    data: Path
    model: ModelServer

    @property
    def token(self) -> str:
        """The operator's."""
        return str(json.loads((self.data / "server.json").read_text())["token"])

    def open(self, place: str = "#/ask", width: int = 1280, height: int = 900) -> None:
        """The page as the operator, signed in, with its program loaded anew."""
        self.resize(width, height)
        self.chrome.get("about:blank")
        self.chrome.get(f"{self.url}/#key={self.token}")
        self.find("nav")
        if place != "#/ask":
            self.go(place)

    def go(self, place: str) -> None:
        """To another part of the page, which keeps its program."""
        self.chrome.execute_script("location.hash = arguments[0]", place)

    def resize(self, width: int, height: int) -> None:
        """The window, or what a phone shows."""
        shown = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shown)

    def ask(self, question: str) -> WebElement:
        """Ask, and wait for the whole answer; the part of the page that shows it."""
        before = len(self.all(".turn"))
        self.write("#question", question + Keys.ENTER)
        self.until(lambda: len(self.all(".turn")) > before or None)
        turns = self.until(lambda: self.all(".turn:last-of-type .actions") or None)
        assert turns
        return self.all(".turn")[-1]

    def all(self, selector: str) -> list[WebElement]:
        """What there is of it now."""
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """What each of it says now; read again if it is drawn anew meanwhile."""
        texts: list[str] = self.until(lambda: [item.text for item in self.all(selector)], selector)
        return texts

    def find(self, selector: str) -> WebElement:
        """The first of it, once it is there."""
        found: WebElement = self.until(lambda: next(iter(self.all(selector)), None), selector)
        return found

    def press(self, selector: str) -> None:
        """Click the first of it, once it can be clicked."""
        self.until(lambda: self._click(self.find(selector)), selector)

    def write(self, selector: str, *keys: str) -> None:
        """Send keys to the first of it, once it takes them."""
        self.until(lambda: self.find(selector).send_keys(*keys) or True, selector)

    def button(self, label: str) -> WebElement:
        """The button, link or tab that says this, once it is there."""
        said = json.dumps(label, ensure_ascii=False)
        path = (
            "//*[self::button or self::a or self::summary]"
            f"[normalize-space()={said} or @aria-label={said}]"
        )

        def shown() -> WebElement | None:
            found = self.chrome.find_elements(By.XPATH, path)
            return next((item for item in found if item.is_displayed()), None)

        button: WebElement = self.until(shown, label)
        return button

    def click(self, label: str) -> None:
        """Click the button that says this, once it can be clicked."""
        self.until(lambda: self._click(self.button(label)), label)

    def _click(self, item: WebElement) -> bool | None:
        """Whether the click reached it: what is drawn above it meanwhile moves it away."""
        self.run(
            "window.reached = false;"
            "arguments[0].addEventListener('click', () => { window.reached = true; },"
            " { capture: true, once: true });",
            item,
        )
        item.click()
        # A page that the click opened has no such variable.
        return self.run("return window.reached !== false") or None

    def document(self, name: str) -> str:
        """The id of the document whose path ends so."""
        listed = self.call("documents", collection="default", limit=1000, principal={})
        return next(str(item["id"]) for item in listed if item["path"].endswith(name))

    def forget(self) -> None:
        """Empty the cache: an equal question is asked of the model again."""
        self.call("clear_cache")

    def call(self, name: str, **arguments: Any) -> Any:
        """The result of an operation, as the operator."""
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            OPERATION_HEADER: operations()[name].fingerprint,
        }
        body = json.dumps(arguments).encode()
        request = urllib.request.Request(f"{self.url}/local/call/{name}", body, headers)
        with urllib.request.urlopen(request, timeout=300) as response:
            return json.load(response)

    def says(self, text: str) -> None:
        """Wait until the page shows this."""
        self.until(lambda: text in self.chrome.find_element(By.TAG_NAME, "body").text or None, text)

    def until(self, found: Any, what: str = "") -> Any:
        """What `found` returns, once it is something; the page may be drawn anew meanwhile."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with suppress(*NOT_READY):
                if (value := found()) is not None:
                    return value
            time.sleep(0.05)
        shown = self.chrome.find_element(By.TAG_NAME, "body").text[:2000]
        raise AssertionError(f"never there: {what}\n{shown}\n{self.chrome.get_log('browser')}")

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page returns."""
        return self.chrome.execute_script(script, *arguments)
