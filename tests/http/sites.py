"""A browser, and the servers that its pages ask."""

from dataclasses import dataclass
from typing import Any

from selenium.webdriver import Chrome

from tests.fake_service import FakeService


@dataclass
class Sites:
    """The same service behind three servers, and a browser that has none of their pages open."""

    chrome: Chrome
    service: FakeService
    plain: str
    cut: str
    shared: str
    """The server that a page of `shop.example` may use."""

    def page(self, site: str = "") -> None:
        url = f"{site or self.plain}/page/index.html"
        if self.chrome.current_url != url:
            self.chrome.get(url)

    def named(self, host: str) -> str:
        """The plain site under another name, which makes it another origin."""
        return self.plain.replace("127.0.0.1", host)

    def run(self, script: str, *given: Any) -> Any:
        """What a script of the page ends with; `broke` holds the name of what it throws."""
        return self.chrome.execute_async_script(
            "const [...given] = arguments, end = given.pop();"
            f"(async () => {script})().then(end, (error) => end({{ broke: error.name }}));",
            *given,
        )

    def fetched(self, url: str, request: Any, most: int | None = None) -> Any:
        return self.run("fetched(given[0], given[1], given[2] ?? Infinity)", url, request, most)

    def sourced(self, url: str, request: Any = None, most: int | None = None) -> Any:
        """What an EventSource reads, by way of the page's worker unless it is a plain GET."""
        if request is None or request.get("method") == "GET":
            return self.run("sourced(given[0], given[1] ?? Infinity)", url, most)
        self.run("answering()")
        script = "sourcedFor(given[0], given[1], given[2] ?? Infinity)"
        return self.run(script, url, request, most)
