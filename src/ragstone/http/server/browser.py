"""The web app in the browser of who started `ragstone serve`, signed in."""

import html
import os
import sys
from pathlib import Path
from urllib.parse import quote

PAGE = "open.html"


def is_at_desktop() -> bool:
    """Whether somebody started this in a terminal of a desktop, whose browser can be opened."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    has_windows = sys.platform in ("darwin", "win32")
    return has_windows or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def open_page(data: Path, url: str, token: str) -> Path:
    """Open the web app by a page of the data directory that leads there, and return that page.

    The token is in a file that only its user can read: a command line, on which a browser gets an
    address, can be read by everyone on the machine. Behind `#` it is never sent to a server.
    """
    page = data / PAGE
    page.unlink(missing_ok=True)
    target = html.escape(f"{url}/#key={quote(token, safe='')}")
    handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Ragstone</title>'
            f'<meta http-equiv="refresh" content="0;url={target}">'
            f'<a href="{target}">Ragstone</a>\n'
        )
    import webbrowser  # Only here: every start would load it.

    webbrowser.open(page.as_uri())
    return page
