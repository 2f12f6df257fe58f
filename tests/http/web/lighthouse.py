"""What Lighthouse says of the web app, on a desktop and on a phone: `nox -s lighthouse`.

It fails where a score is below the least one."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.browser import programs
from tests.documents import DOCUMENTS
from tests.e2e.processes import run, run_json, serving

CATEGORIES = ("performance", "accessibility", "best-practices")
LEAST = 95
GUESTS_PAGES = {"asking, a guest": "#/ask", "signing in": "#login-ended"}
PAGES = {
    "asking": "#/ask",
    "documents": "#/documents",
    "a document": "#/documents/default/{document}",
    "why": "#/why",
    "evaluation": "#/evaluate",
    "administration": "#/admin/overview",
    "settings": "#/admin/settings",
}
"""The address of each page for who is signed in, below the server's."""
DEVICES = ("desktop", "phone")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage"


def main(lighthouse: str) -> None:
    """Print every score; exits with 1 where one is too low."""
    low = False
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        done = run(data, "ingest", str(DOCUMENTS))
        assert done.returncode == 0, done.stderr
        with serving(data) as url:
            token = json.loads((data / "server.json").read_text())["token"]
            listed = run_json(data, "documents")["documents"]
            document = next(item["id"] for item in listed if item["path"].endswith(".pdf"))
            for page, place in {**GUESTS_PAGES, **PAGES}.items():
                for device in DEVICES:
                    address = f"{url}/{place.format(document=document)}"
                    credential = token if page in PAGES else ""
                    scores = measure(lighthouse, address, device, credential)
                    said = ", ".join(f"{name} {score}" for name, score in scores.items())
                    print(f"{page}, {device}: {said}", flush=True)
                    low |= min(scores.values()) < LEAST
    sys.exit(1 if low else 0)


def measure(lighthouse: str, address: str, device: str, token: str) -> dict[str, int]:
    """The scores of a page by category, of 100; what keeps it from 100 goes to the error output."""
    browser, _ = programs()
    options = ["--preset=desktop"] if device == "desktop" else []
    if token:
        headers = json.dumps({"Authorization": f"Bearer {token}"})
        options.append(f"--extra-headers={headers}")
    said = subprocess.run(
        [
            *(lighthouse, address, "--quiet", "--output=json", "--output-path=stdout"),
            *(f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={FLAGS}", *options),
        ],
        env={**os.environ, "CHROME_PATH": browser},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    report = json.loads(said.stdout)
    for name in CATEGORIES:
        for item in report["categories"][name]["auditRefs"]:
            audit = report["audits"][item["id"]]
            if item["weight"] and audit["score"] not in (None, 1):
                shown = f"  {device}: {audit['title']} {audit.get('displayValue', '')}"
                print(shown.rstrip(), file=sys.stderr)
    return {name: round(100 * report["categories"][name]["score"]) for name in CATEGORIES}


if __name__ == "__main__":
    main(sys.argv[1])
