"""The browser that `ragstone serve` opens: when, and what it is given."""

import subprocess
import sys
from pathlib import Path

import pytest

from ragstone.http.server import is_at_desktop
from tests.patience import PATIENCE


@pytest.mark.parametrize(
    ("terminal", "environment", "opens"),
    [
        (True, {"DISPLAY": ":0"}, True),
        (True, {"WAYLAND_DISPLAY": "wayland-0"}, True),
        (True, {}, False),
        (True, {"DISPLAY": ":0", "SSH_CONNECTION": "1.2.3.4 1 1.2.3.4 22"}, False),
        (False, {"DISPLAY": ":0"}, False),
    ],
)
def test_the_page_opens_by_itself_in_a_terminal_of_a_desktop_alone(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], opens: bool
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_at_desktop() is opens


def test_the_browser_gets_a_private_page_that_leads_in_and_no_key(tmp_path: Path) -> None:
    told = tmp_path / "told"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {told}\n')
    browser.chmod(0o700)
    program = (
        "import sys; from pathlib import Path; "
        "from ragstone.http.server import open_page; "
        "open_page(Path(sys.argv[1]), 'http://127.0.0.1:8006', 'a/secret')"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={"BROWSER": f"{browser} %s", "PYTHONPATH": ":".join(sys.path)},
        check=True,
        timeout=PATIENCE,
    )
    page = tmp_path / "open.html"
    assert told.read_text() == page.as_uri()
    assert page.stat().st_mode & 0o777 == 0o600
    assert 'content="0;url=http://127.0.0.1:8006/#key=a%2Fsecret"' in page.read_text()
