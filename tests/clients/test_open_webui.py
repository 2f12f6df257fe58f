"""Open WebUI as people run it, in a browser: the citations that it shows are the right ones."""

import contextlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.common import WebDriverException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser import chromium
from tests.clients.conftest import Clients, other_server, program
from tests.ports import free_port

pytestmark = pytest.mark.real

QUESTION = "How long does a full charge last, and how far may the wind sensor stand?"


@contextmanager
def open_webui(clients: Clients, folder: Path) -> Iterator[str]:
    """Its address. Its own retrieval is never asked, so its models are not installed."""
    port = free_port()
    own = {
        "DATA_DIR": str(folder),
        "ENABLE_OLLAMA_API": "False",
        "ENABLE_VERSION_UPDATE_CHECK": "False",
        "HF_HUB_OFFLINE": "1",
        "OFFLINE_MODE": "True",
        "OPENAI_API_BASE_URL": f"{clients.url}/v1",
        "OPENAI_API_KEY": "x",
        "DEFAULT_MODELS": "ragstone",
        "RAG_EMBEDDING_ENGINE": "openai",
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "of a test",
    }
    command = [str(program(".nox/open_webui", "open-webui")), "serve"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with other_server(command, port, "/health", folder, **own) as url:
        yield url


def there(chrome: Chrome, selector: str, least: int = 1) -> list[str]:
    """The texts of the elements, once there are so many."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = [element.text for element in chrome.find_elements(By.CSS_SELECTOR, selector)]
        if len(found) >= least:
            return found
        time.sleep(0.2)
    raise AssertionError(f"{selector}: {chrome.find_element(By.TAG_NAME, 'body').text[:2000]}")


def ready(chrome: Chrome) -> WebElement:
    """The box for questions, once nothing lies over it: a picture, then what is new."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for button in chrome.find_elements(By.CSS_SELECTOR, "button"):
            with contextlib.suppress(WebDriverException):
                if "Let's Go" in button.text:
                    button.click()
        with contextlib.suppress(WebDriverException):
            box = chrome.find_element(By.CSS_SELECTOR, "#chat-input")
            box.click()
            return box
        time.sleep(0.2)
    raise AssertionError(chrome.find_element(By.TAG_NAME, "body").text[:2000])


def test_a_marker_shows_the_document_that_it_cites(clients: Clients, tmp_path: Path) -> None:
    # Of what was found, the model cites the last first and leaves others out.
    clients.model.says = ("It may stand 40 m away [3]. ", "A full charge lasts 31 days [1].")
    with open_webui(clients, tmp_path) as url, chromium() as chrome:
        chrome.set_window_size(1280, 1000)
        chrome.get(url)
        box = ready(chrome)
        box.send_keys(QUESTION)
        box.send_keys(Keys.ENTER)
        there(chrome, "[aria-label^='View source']", 2)
        there(chrome, "[aria-label^='Toggle 2 source']")
        chrome.find_element(By.CSS_SELECTOR, "[aria-label^='Toggle 2 source']").click()
        urls = listed(chrome)
        if picture := os.environ.get("RAGSTONE_PICTURES"):
            chrome.save_screenshot(str(Path(picture) / "open-webui.png"))
        # The first address of its list is the one of [1], which the model had called [3].
        told = (str(call["messages"][0]["content"]) for call in clients.model.calls)
        prompt = next(item for item in told if "[Source 3]" in item)
        for url, number in zip(urls, (3, 1), strict=True):
            chrome.get("about:blank")
            chrome.get(url)
            (marked, *_) = there(chrome, "mark.evidence")
            passage = prompt.split(f"[Source {number}]")[1].split("</source>")[0]
            assert words(marked) in words(passage)


def listed(chrome: Chrome) -> list[str]:
    """The addresses in the list of sources, once both are there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shown = chrome.find_element(By.TAG_NAME, "body").text
        urls = list(dict.fromkeys(re.findall(r"http://\S+/#/documents/\S+", shown)))
        if len(urls) == 2:
            return urls
        time.sleep(0.2)
    raise AssertionError(shown[:2000])


def words(text: str) -> str:
    """The letters and digits of a text, which is laid out otherwise elsewhere."""
    return "".join(item for item in text if item.isalnum())
