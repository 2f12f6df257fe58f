"""A real Chromium without a window, steered over WebDriver."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
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
    with TemporaryDirectory(prefix="ragstone-chromium-", ignore_cleanup_errors=True) as folder:
        chrome = _started(browser, driver, Path(folder))
        try:
            chrome.set_script_timeout(SECONDS)
            yield chrome
        finally:
            chrome.quit()


def _started(browser: str, driver: str, folder: Path) -> Chrome:
    for number in range(TRIES):
        options = ChromeOptions()
        options.binary_location = browser
        for flag in (*FLAGS, f"--user-data-dir={folder / str(number)}"):
            options.add_argument(flag)
        try:
            return Chrome(options, ChromeService(driver))
        except WebDriverException as error:
            failed = error
    raise failed
