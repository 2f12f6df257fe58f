"""A real Chromium without a window, steered over WebDriver."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from selenium.common import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)
SECONDS = 30
TRIES = 3
"""To start it: on a busy machine its first start may take longer than its driver waits."""


def programs() -> tuple[str, str]:
    """Chromium and its driver; skips when they are absent, but fails in CI."""
    browsers = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, browsers)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        reason = "chromium and chromedriver are not installed (make test installs them as root)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return browser, driver


@contextmanager
def chromium() -> Iterator[Chrome]:
    """A browser that knows nothing yet. To it, all names below .example are this machine."""
    browser, driver = programs()
    with TemporaryDirectory(prefix="ragstone-chromium-", ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = browser
        for flag in (*FLAGS, f"--user-data-dir={Path(profile) / 'new'}"):
            options.add_argument(flag)
        chrome = _started(options, driver)
        try:
            chrome.set_script_timeout(SECONDS)
            yield chrome
        finally:
            chrome.quit()


def _started(options: ChromeOptions, driver: str) -> Chrome:
    for _ in range(TRIES - 1):
        with suppress(WebDriverException):
            return Chrome(options, ChromeService(driver))
    return Chrome(options, ChromeService(driver))
