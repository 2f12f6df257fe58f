"""The token of the local user in a real browser: who its cookie is for."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver import Chrome

from ragstone.http.app import create_app
from ragstone.settings import AuthSettings, Settings
from tests.browser import chromium
from tests.fake_service import FakeService
from tests.http.page_server import Site
from tests.http_server import running

TOKEN = "a-token-of-the-data-directory-with-43-letters"
CLOSED = Settings(auth=AuthSettings(guests="nothing"))
ASK = "/v1/chat/completions"
BODY = {"model": "ragstone", "messages": [{"role": "user", "content": "q"}]}
REQUEST = """
const [url, body, mode, end] = arguments;
fetch(url, {method: "POST", body, mode, credentials: "include",
  headers: mode === "no-cors" ? {} : {"content-type": "application/json"}})
  .then((answer) => end(answer.status), (error) => end(error.name));
"""


@pytest.fixture
def browser() -> Iterator[Chrome]:
    with chromium() as chrome:
        yield chrome


def sent(chrome: Chrome, url: str, mode: str = "same-origin") -> Any:
    """The status that a page sees, or the name of what it throws."""
    return chrome.execute_async_script(REQUEST, url, json.dumps(BODY), mode)


def test_given_the_address_with_the_token_then_pages_of_the_server_may_ask_and_no_others(
    browser: Chrome,
) -> None:
    service = FakeService()
    app = create_app(service, CLOSED, "operators-token", local_token=TOKEN)
    with (
        running(Site(app)) as ours,
        running(Site(create_app(FakeService(), Settings(), "t"))) as port,
    ):
        browser.get(f"{ours}/page/index.html")
        assert sent(browser, f"{ours}{ASK}") == 401
        browser.get(f"{ours}/login?token={TOKEN}")
        assert browser.current_url == f"{ours}/"
        assert browser.execute_script("return document.cookie") == ""
        browser.get(f"{ours}/v1/models")
        assert '"ragstone"' in browser.page_source
        browser.get(f"{ours}/page/index.html")
        assert sent(browser, f"{ours}{ASK}") == 200
        asked = len(service.asked)
        browser.get(f"{port}/page/index.html")
        for mode in ("cors", "no-cors"):
            assert sent(browser, f"{ours}{ASK}", mode) == "TypeError"
        assert len(service.asked) == asked == 1
