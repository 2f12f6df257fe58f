"""`ragstone serve --open`: the web app in the browser, signed in as who started the server."""

import html
import os
from pathlib import Path
from urllib.parse import quote

PAGE = "open.html"


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
