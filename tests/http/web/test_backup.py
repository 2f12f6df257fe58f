"""A backup written and restored in the web app, by the server's operator alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import copied
from tests.e2e.processes import run, serving
from tests.http.web.app import WebApp

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server(
    started: WebApp, tmp_path_factory: pytest.TempPathFactory, indexed_documents: Path
) -> Iterator[WebApp]:
    """A server of its own, as all that it holds is replaced."""
    data = copied(indexed_documents, tmp_path_factory.mktemp("backed-up") / "data")
    with serving(data) as url:
        yield WebApp(started.chrome, url, data, started.model)


@pytest.fixture
def app(server: WebApp) -> WebApp:
    server.chrome.get(f"{server.url}/health")
    server.run("sessionStorage.clear(); localStorage.clear()")
    server.open("#/admin/overview")
    return server


def card(title: str) -> str:
    """A selector of the part of the page that has this title, by its place."""
    return f"//section[h2[normalize-space()='{title}']]"


def type_into(app: WebApp, title: str, text: str) -> None:
    path = card(title) + "//input"
    app.until(lambda: app.chrome.find_element("xpath", path).send_keys(text) or True)


def paths(app: WebApp) -> list[str]:
    listed = app.call("documents", collection="default", limit=100, principal={})
    return sorted(item["path"] for item in listed)


def test_what_was_deleted_after_a_backup_is_back_once_it_is_restored(
    app: WebApp, tmp_path: Path
) -> None:
    before = paths(app)
    app.says("Write a backup")
    type_into(app, "Backup", str(tmp_path / "monday.ragstone"))
    app.click("Write a backup")
    app.says("The backup is written.")
    app.call("delete", collection="default", paths=before[:1], principal={})
    assert paths(app) == before[1:]

    type_into(app, "Restore a backup", str(tmp_path / "monday.ragstone"))
    app.click("Restore")
    app.says("Replace everything by this backup?")
    assert paths(app) == before[1:]
    app.click("Replace everything")
    app.says("The backup is restored.")

    assert paths(app) == before
    app.go("#/documents")
    app.says(before[0])


def test_a_restore_that_is_not_confirmed_or_damaged_changes_nothing(
    app: WebApp, tmp_path: Path
) -> None:
    before = paths(app)
    broken = tmp_path / "broken.ragstone"
    broken.write_bytes(b"no backup")
    app.says("Restore a backup")
    type_into(app, "Restore a backup", str(broken))
    app.click("Restore")
    app.click("Cancel")
    app.click("Restore")
    app.click("Replace everything")
    app.until(lambda: app.all(".notice.bad") or None)

    assert "broken.ragstone" in app.find(".notice.bad").text
    assert paths(app) == before


def test_an_administrator_who_is_not_the_operator_is_offered_no_restore(app: WebApp) -> None:
    made = run(app.data, "keys", "create", "administrator", "--role", "admin")
    assert made.returncode == 0, made.stderr
    app.chrome.get("about:blank")
    app.chrome.get(f"{app.url}/#key={made.stdout.split()[0]}")
    app.find("nav")
    app.go("#/admin/overview")
    app.says("Health")

    assert "Restore a backup" not in app.run("return document.body.textContent")
